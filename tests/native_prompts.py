"""What the prompts of RAGAS' and DeepEval's own metrics ask, and the texts that they show.

Read off the prompts of ragas 0.4.3 (collections and legacy) and deepeval 4.3.1.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Literal

Step = Literal[
    "ragas: statements",
    "ragas: verdicts",
    "ragas: question",
    "deepeval: truths",
    "deepeval: claims",
    "deepeval: faithfulness verdicts",
    "deepeval: statements",
    "deepeval: relevancy verdicts",
    "deepeval: reason",
]


@dataclass(frozen=True)
class Asked:
    """One request of a native metric.

    Attributes:
        step: which of the metric's steps it is.
        shown: all that the prompt shows of a test and of earlier replies; equal requests have equal
            texts here.
    """

    step: Step
    shown: tuple[Hashable, ...]


class UnknownPromptError(ValueError):
    """No native metric sends such a prompt."""


def read_prompt(prompt: str) -> Asked:
    """What the prompt asks for.

    Raises:
        UnknownPromptError: it is none of these metrics' prompts, or looks different by now.
    """
    asked = _ragas(prompt) or _deepeval(prompt)
    if asked is None:
        raise UnknownPromptError(
            f"No native metric is known to send a prompt that begins {prompt[:80]!r} and ends "
            f"{prompt[-80:]!r}: tell native_prompts.py about it."
        )
    return asked


_RAGAS_INPUT: Final = "\nNow perform the same with the following input\ninput: "


def _ragas(prompt: str) -> Asked | None:
    # Texts are inside JSON, where a line break is written as two characters: none can hold this.
    _, found, rest = prompt.rpartition(_RAGAS_INPUT)
    if not found:
        return None
    shown: dict[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
    match shown:
        case {"question": question, "answer": answer, **more} if not more:
            return Asked("ragas: statements", (question, answer))
        case {"context": context, "statements": statements, **more} if not more:
            return Asked("ragas: verdicts", (context, tuple(statements)))
        case {"response": response, **more} if not more:
            return Asked("ragas: question", (response,))
    return None


def _deepeval(prompt: str) -> Asked | None:
    head, end = prompt.strip(), "\n\nJSON:"
    if not head.endswith(end):
        return None
    for begin, step, label, read in _DEEPEVAL:
        if head.startswith(begin):
            # What comes before the label is DeepEval's own text: the first one is the right one.
            _, found, shown = head.removesuffix(end).partition(label)
            return Asked(step, read(shown)) if found else None
    return None


def _text(shown: str) -> tuple[Hashable, ...]:
    return (shown,)


def _text_and_list(label: str) -> Callable[[str], tuple[Hashable, ...]]:
    def read(shown: str) -> tuple[Hashable, ...]:
        # A list is shown as Python writes it, on one line: no text in it can hold the label.
        text, found, written = shown.rpartition(label)
        if not found:
            raise UnknownPromptError(f"{label.strip()!r} is missing in {shown[:80]!r}.")
        return text, tuple(ast.literal_eval(written))

    return read


_DEEPEVAL: Final[tuple[tuple[str, Step, str, Callable[[str], tuple[Hashable, ...]]], ...]] = (
    (
        "Based on the given text, please generate a comprehensive list of",
        "deepeval: truths",
        "\n\nText:\n",
        _text,
    ),
    (
        "Based on the given text, please extract a comprehensive list of",
        "deepeval: claims",
        "\n\nAI Output:\n",
        _text,
    ),
    (
        "Based on the given claims, which is a list of strings,",
        "deepeval: faithfulness verdicts",
        "\n\nRetrieval Contexts:\n",
        _text_and_list("\n\nClaims:\n"),
    ),
    (
        "Below is a list of Contradictions.",
        "deepeval: reason",
        "\n\nFaithfulness Score:\n",
        _text_and_list("\n\nContradictions:\n"),
    ),
    (
        "Given the text, breakdown and generate a list of statements presented.",
        "deepeval: statements",
        "\n\nText:\n",
        _text,
    ),
    (
        "For the provided list of statements, determine whether each statement is relevant",
        "deepeval: relevancy verdicts",
        "\n\nInput:\n",
        _text_and_list("\n\nStatements:\n"),
    ),
    (
        "Given the answer relevancy score, the list of reasons of irrelevant statements",
        "deepeval: reason",
        "\n\nAnswer Relevancy Score:\n",
        _text,
    ),
)
"""How a prompt begins, its step, what stands before the texts it shows, and how to read them."""
