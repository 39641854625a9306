"""Prompt packs: folders of templates that turn a sample into the text a judge model reads.

A pack is data. Its templates run in Jinja's sandbox, sample text is only ever
a value, and the fingerprint names exactly what a judgement was asked with.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, get_args

from jinja2 import Template

from grouse_adapters.core.errors import ConfigurationError, GrouseError
from grouse_adapters.core.metrics import (
    JUDGED_METRICS,
    METRICS,
    Citations,
    JsonSchema,
    Metric,
    MetricName,
    SampleField,
    reply_schema,
    single_call_schema,
)
from grouse_adapters.core.pack_config import PackConfig, read_config
from grouse_adapters.core.pack_templates import TemplateFolder
from grouse_adapters.core.reply import ReplyForm
from grouse_adapters.core.sample import Sample

SINGLE_CALL_TEMPLATE: Final = "all_metrics.txt.jinja"

# Part of every fingerprint: raise it when code, not a template, changes what a prompt says.
_RENDERING: Final = 1
_PLACEHOLDER: Final = re.compile(r"reference_([1-9][0-9]{0,3})")
_NAMES: Final = tuple(metric.name for metric in JUDGED_METRICS)
_ALL_FIELDS: Final[tuple[SampleField, ...]] = get_args(SampleField)


class MissingInputError(GrouseError):
    """The prompt needs an input that the sample does not have; other samples may be fine."""


class TooManyReferencesError(MissingInputError):
    """The prompt has fewer numbered placeholders than the sample has references."""


@dataclass(frozen=True, slots=True)
class Switches:
    """What a prompt asks for; the ablations of the paper's table 6 are combinations of these.

    Attributes:
        expected_answer: show the expected answer as the first of two answers, where there is one.
        justification: ask for the reason of each grade.
        reasoning: ask for the checks and the sentence-by-sentence analysis before the grade.
        citations: ``required``, or ``ignored``: a statement is faithful when any reference
            supports it.

    Raises:
        ConfigurationError: ``citations`` is neither of the two.
    """

    expected_answer: bool = True
    justification: bool = True
    reasoning: bool = True
    citations: Citations = "required"

    def __post_init__(self) -> None:
        if self.citations not in get_args(Citations):
            raise ConfigurationError(f"citations must be one of {', '.join(get_args(Citations))}.")


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """What is sent to the model.

    Attributes:
        text: the prompt, one user message.
        answers: how many answers it shows and asks about; the last one is the actual answer.
        schema: strict JSON schema of the reply, None for replies that are not JSON. It is shared
            between prompts: do not change it.
    """

    text: str
    answers: int
    schema: JsonSchema | None


@dataclass(frozen=True, slots=True)
class _Prompt:
    """One renderable template with what its files read, taken together.

    ``answers`` is None when the template adapts to the sample by reading ``answers``.
    """

    file: str
    template: Template
    variables: frozenset[str]
    placeholders: frozenset[int]
    answers: int | None

    @property
    def needs_expected_output(self) -> bool:
        return self.answers is not None and "expected_output" in self.variables


class PromptPack:
    """A folder of prompt templates, read once; safe to use from many threads.

    Attributes:
        name: from ``pack.toml``, else the folder's name.
        version: from ``pack.toml``, else empty.
        form: how replies to its prompts look.
        refusals: sentences that show the judge how a refusal may be worded.
    """

    def __init__(self, folder: Path) -> None:
        folder = folder.expanduser().resolve()
        self._config: PackConfig = read_config(folder / "pack.toml")
        self.name: str = self._config.name or folder.name
        self.version: str = self._config.version
        self.form: ReplyForm = self._config.reply.reply_form()
        self.refusals: tuple[str, ...] = tuple(self._config.refusals)
        self._templates = TemplateFolder(folder)
        self._prompts: dict[str, _Prompt] = {}
        for file in (*(METRICS[name].template for name in _NAMES), SINGLE_CALL_TEMPLATE):
            if (folder / file).is_file():
                self._prompts[file] = self._prompt(file)
        if not self._prompts:
            raise ConfigurationError(
                f"The prompt pack {folder} holds no templates: add at least one of "
                f"{', '.join(METRICS[name].template for name in _NAMES)} or {SINGLE_CALL_TEMPLATE}."
            )

    @classmethod
    def load(cls, name_or_path: str | Path = "grouse") -> PromptPack:
        """The shipped pack of that name, else the pack in that folder.

        A folder needs no ``pack.toml``: reference-style folders work as they are.

        Raises:
            ConfigurationError: there is no such pack, its ``pack.toml`` is wrong, or a template
                is missing or broken (the message names file and line).
        """
        shipped = _shipped_packs()
        if isinstance(name_or_path, str) and name_or_path in shipped:
            return cls(shipped[name_or_path])
        folder = Path(name_or_path)
        if not str(name_or_path) or not folder.expanduser().is_dir():
            raise ConfigurationError(
                f"There is no prompt pack {str(name_or_path)!r}: choose {' or '.join(shipped)}, "
                "or give the path of a folder with templates."
            )
        return cls(folder)

    def __repr__(self) -> str:
        return f"<PromptPack {self.name!r} version {self.version!r}>"

    def supports(self, metric: MetricName) -> bool:
        """Whether the pack can ask for ``metric`` on its own (a derived one: for its sources)."""
        asked = METRICS[metric].derived_from or (metric,)
        return all(METRICS[name].template in self._prompts for name in asked)

    @property
    def supports_single_call(self) -> bool:
        """Whether one prompt can ask for all metrics; a lone ``[RESULT]`` cannot answer it."""
        return SINGLE_CALL_TEMPLATE in self._prompts and self.form.kind == "json"

    def fingerprint(self, switches: Switches) -> str:
        """SHA-256 (hex) of everything that decides a prompt but the sample.

        Covers the templates in use, the settings and the switches; the folder's place, its name
        and its line endings do not matter.

        Raises:
            ConfigurationError: the pack cannot follow ``switches``.
        """
        for prompt in self._prompts.values():
            self._check(prompt, switches)
        content = {
            "rendering": _RENDERING,
            "templates": dict(self._templates.texts),
            "settings": self._config.model_dump(mode="json"),
            "switches": asdict(switches),
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def try_out(self, switches: Switches, *, single_call: bool) -> None:
        """Renders each prompt once, so that a template that cannot work is told before a call.

        Raises:
            ConfigurationError: a template asks for what does not exist.
        """
        probe = Sample(input="?", references=("?",), expected_output="?", actual_output="?")
        prompts = [None] if single_call else [m for m in JUDGED_METRICS if self.supports(m.name)]
        for metric in prompts:
            with suppress(MissingInputError):  # it may want another number of references
                if metric is None:
                    self.render_single_call(probe, switches)
                else:
                    self.render(metric, probe, switches)

    def render(self, metric: Metric, sample: Sample, switches: Switches) -> RenderedPrompt:
        """The prompt that asks for one metric.

        Raises:
            MissingInputError: the sample lacks what the template shows.
            ConfigurationError: the template is absent, fails, or cannot follow ``switches``.
        """
        return self._render(metric.template, metric, sample, switches)

    def render_single_call(self, sample: Sample, switches: Switches) -> RenderedPrompt:
        """The prompt that asks for all judged metrics at once; raises as ``render`` does."""
        return self._render(SINGLE_CALL_TEMPLATE, None, sample, switches)

    def _render(
        self, file: str, metric: Metric | None, sample: Sample, switches: Switches
    ) -> RenderedPrompt:
        prompt = self._prompts.get(file)
        if prompt is None:
            raise ConfigurationError(
                f"The prompt pack {self.name!r} has no {file}: add it to {self._templates.folder}, "
                f"or leave {metric.name if metric else 'the single call'} out."
            )
        self._check(prompt, switches)
        answers = prompt.answers
        if answers is None:
            answers = 2 if switches.expected_answer and sample.expected_output is not None else 1
        references = list(sample.references)
        values: dict[str, Any] = {
            "input": sample.input,
            "actual_output": sample.actual_output,
            "references": references,
            "contexts": references,
            "answers": answers,
            "justification": switches.justification,
            "reasoning": switches.reasoning,
            "citations": switches.citations,
            "refusals": self.refusals,
            "metrics": (metric.name,) if metric else _NAMES,
            "shows": metric.shows if metric else _ALL_FIELDS,
        }
        if prompt.needs_expected_output:
            values["expected_output"] = self._expected_output(prompt, sample)
        elif answers == 2:
            values["expected_output"] = sample.expected_output
        if prompt.placeholders:
            values.update(self._numbered(prompt, references))
        schema = None
        if self.form.kind == "json":
            schema, values["reply"] = _reply(metric.name if metric else None, switches, answers)
        return RenderedPrompt(self._templates.render(prompt.template, values), answers, schema)

    def _prompt(self, file: str) -> _Prompt:
        template, variables = self._templates.open(file)
        answers = self._config.reply.fixed_answers
        if answers is None and "answers" not in variables:
            answers = 2 if "expected_output" in variables else 1
        return _Prompt(
            file=file,
            template=template,
            variables=variables,
            placeholders=frozenset(
                int(match[1]) for name in variables if (match := _PLACEHOLDER.fullmatch(name))
            ),
            answers=answers,
        )

    def _check(self, prompt: _Prompt, switches: Switches) -> None:
        """Refuses switches that the wording would not follow while the results claim it did."""
        if not switches.expected_answer and prompt.needs_expected_output:
            raise ConfigurationError(
                f"{prompt.file} of the prompt pack {self.name!r} always shows the expected answer: "
                "leave the switch on, or use a pack whose templates read the variable 'answers'."
            )
        cites = prompt.file in (METRICS["faithfulness"].template, SINGLE_CALL_TEMPLATE)
        if switches.citations == "ignored" and cites and "citations" not in prompt.variables:
            raise ConfigurationError(
                f"{prompt.file} of the prompt pack {self.name!r} has no wording for ignored "
                "citations: require them, or use a pack whose templates read the variable "
                "'citations'."
            )

    def _expected_output(self, prompt: _Prompt, sample: Sample) -> str:
        if sample.expected_output is None:
            raise MissingInputError(
                f"{prompt.file} of the prompt pack {self.name!r} needs an expected answer, which "
                "the sample does not have: add expected_output, or use the pack grouse."
            )
        return sample.expected_output

    def _numbered(self, prompt: _Prompt, references: list[str]) -> Iterator[tuple[str, str]]:
        shown_otherwise = not prompt.variables.isdisjoint(("references", "contexts"))
        for number in range(1, len(references) + 1):
            if number not in prompt.placeholders and not shown_otherwise:
                raise TooManyReferencesError(
                    f"{prompt.file} of the prompt pack {self.name!r} has no placeholder "
                    f"{{{{reference_{number}}}}}, but the sample has {len(references)} references: "
                    "give it fewer references, or add placeholders."
                )
        for number in prompt.placeholders:
            text = references[number - 1] if number <= len(references) else ""
            yield f"reference_{number}", text


def _shipped_packs() -> dict[str, Path]:
    """Folders of the packs that come with the library, by name."""
    package = Path(__file__).resolve().parents[1]
    inside_wheel = package / "prompts"
    root = inside_wheel if inside_wheel.is_dir() else package.parent / "prompts"
    return {path.parent.name: path.parent for path in sorted(root.glob("*/pack.toml"))}


@lru_cache(maxsize=256)
def _reply(name: MetricName | None, switches: Switches, answers: int) -> tuple[JsonSchema, str]:
    """The schema of a reply and the shape that the prompt shows; one is made from the other."""
    options: dict[str, Any] = {
        "answers": answers,
        "reasoning": switches.reasoning,
        "justification": switches.justification,
        "citations": switches.citations,
    }
    schema = (
        single_call_schema(**options) if name is None else reply_schema(METRICS[name], **options)
    )
    return schema, _shape(schema)


def _shape(schema: JsonSchema, indent: str | None = "") -> str:
    """``schema`` as people write JSON shapes; on one line when ``indent`` is None."""
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if schema["type"] == "array":
        return f"[{_shape(schema['items'], None)}]"
    if schema["type"] == "object":
        properties: dict[str, JsonSchema] = schema["properties"]
        if indent is None:
            return "{" + ", ".join(f'"{key}": {_shape(s)}' for key, s in properties.items()) + "}"
        inner = f"{indent}  "
        lines = (f'{inner}"{key}": {_shape(s, inner)}' for key, s in properties.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "true | false" if schema["type"] == "boolean" else '"..."'
