"""The four judged metrics (arXiv 2409.06595, section 3), graded on a sample that has been read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from grouse_adapters.core.grades import Failed, Graded, NotApplicable, SentenceCheck
from grouse_adapters.lexical.answers import (
    MOST_STATEMENTS,
    Answer,
    Reading,
    Statement,
    quoted,
    shortened,
)
from grouse_adapters.lexical.coverage import Coverage, cover, is_called_for, related_statements
from grouse_adapters.lexical.facts import Quantity, is_supported, is_year
from grouse_adapters.lexical.languages import word_set
from grouse_adapters.lexical.sentences import Sentence
from grouse_adapters.lexical.support import SupportChecker, Verdict

LOW_CONFIDENCE: Final = "Low confidence: "
"""Opens a justification when the grade rests on a share of common words near its threshold, on the
mere absence of words, or on no expected answer; citations, numbers, names, negations and degrees
are compared exactly and need no such warning."""

_MOSTLY: Final = 0.75  # share of the expected statements for completeness 4
_PARTLY: Final = 0.4  # the same for completeness 3
_BESIDE: Final = 0.2  # share of superfluous statements up to which relevancy is 4
_HALF: Final = 0.5  # the same for relevancy 3
_ANSWERS_SHARE: Final = 0.5  # of the question's words, in an answer without an expected answer

_RELATIVE: Final = word_set(
    "later earlier after before next following previous same since until then suivant suivante "
    "suivants suivantes precedent precedente lendemain apres avant tard tot meme spater fruher "
    "danach folgenden folgende"
)  # with one of them, a date may be told by its distance from another
_WORDED: Final = frozenset({"share", "times", "clock"})  # said without a number as well

_Outcome = Graded | NotApplicable | Failed


def answer_relevancy(reading: Reading) -> _Outcome:
    """1-5, not applicable when the answer refuses; failed where no expected answer decides it."""
    answer = reading.actual
    if answer.refuses:
        return NotApplicable(reason=_refusal_reason(answer))
    if answer.is_empty:
        return Graded(value=1, justification=_nothing(answer))
    if reading.expected is None:
        return _relevancy_alone(reading)
    if reading.answerable is False:
        related = related_statements(reading)
        value = 2 if related else 1
        said = "related information" if related else "nothing on the subject"
        return Graded(
            value=value,
            justification="The expected answer says that no document answers, yet the answer "
            f"presents {said} as an answer.",
        )
    judged = [(s, *is_called_for(reading, s)) for s in answer.statements]
    beside = [(s, sure) for s, called_for, sure in judged if not called_for]
    share = len(beside) / len(judged)
    if not beside:
        weak = sum(not sure for _, _, sure in judged)
        return _graded(
            5,
            "Every statement rests on what the expected answer uses or shares its words.",
            answer,
            sure=weak <= len(judged) / 2,
        )
    sure = any(sure for _, sure in beside)
    value = 4 if share <= _BESIDE else 3 if share <= _HALF else 2 if share < 1 else 1
    if value == 1 and related_statements(reading):
        value = 2
    first = beside[0][0]
    text = (
        f"{_named(first.sentence)} says what neither the question nor the expected answer calls "
        f"for ({len(beside)} of {len(judged)} statements)."
    )
    return _graded(value, text, answer, sure=sure)


def _relevancy_alone(reading: Reading) -> _Outcome:
    answer = reading.actual
    question = reading.question.stems
    said = frozenset().union(*(s.stems for s in answer.statements))
    if not question:
        return _undecidable("the question has no words to compare")
    picked_up = len(question & said) / len(question)
    related = len(related_statements(reading))
    if related == 0:
        text = "No statement, nor what it cites, shares the question's words."
        return _graded(1, text, answer, sure=False)
    if picked_up < _ANSWERS_SHARE:
        return _undecidable("the answer shares few words with the question")
    share = related / len(answer.statements)
    value = 5 if share == 1 else 4 if share >= 1 - _BESIDE else 3 if share >= _HALF else 2
    text = (
        f"{related} of {len(answer.statements)} statements are on the question's subject; without "
        "an expected answer nothing more can be compared."
    )
    return _graded(value, text, answer, sure=False)


def completeness(reading: Reading) -> _Outcome:
    """1-5, not applicable when the expected answer refuses; failed without an expected answer."""
    expected, answer = reading.expected, reading.actual
    if expected is None:
        if not reading.evidence.count:
            return NotApplicable(reason="There are no references, so they hold no answer.")
        return _undecidable("whether the references hold an answer, and which")
    if expected.refuses:
        return NotApplicable(
            reason="The expected answer says that the references hold no answer "
            f"('{shortened(quoted(expected.sentences, expected.refusal))}')."
        )
    if not expected.statements:
        return _undecidable("the expected answer holds no statement")
    if not answer.statements:
        said = "refuses and adds nothing" if answer.refuses else "says nothing"
        return Graded(value=1, justification=f"The question is answerable, but the answer {said}.")
    covered = cover(reading)
    return _completeness_of(reading, covered)


def _completeness_of(reading: Reading, covered: Sequence[Coverage]) -> Graded:
    answer = reading.actual
    missing = [c for c in covered if not c.covered]
    share = 1 - len(missing) / len(covered)
    count = f"{len(covered) - len(missing)} of {len(covered)} expected statements"
    if missing:
        value = 4 if share >= _MOSTLY else 3 if share >= _PARTLY else 2 if share > 0 else 1
        verb = "shows" if len(covered) - len(missing) == 1 else "show"
        text = (
            f"{count} {verb} in the answer; the first one missing is "
            f"'{shortened(missing[0].statement.claim.text, 90)}'."
        )
        return _graded(value, text, answer, sure=any(c.sure for c in missing))
    number = _missing_number(reading)
    if number:
        text = f"All expected statements show, but the detail '{number.shown}' is missing."
        return _graded(4, text, answer, sure=True)
    unsure = sum(not c.sure for c in covered)
    text = f"{count} show in the answer." if len(covered) > 1 else "The expected statement shows."
    return _graded(5, text, answer, sure=unsure <= len(covered) / 3)


def _missing_number(reading: Reading) -> Quantity | None:
    """A quantity with a unit, or a number of three digits, that the answer leaves out.

    A number of its own, in what the answer says from the same sources, may state the missing one in
    another way: "half as much again" for "one and a half times", "two years later" for a year.
    """
    alignment = reading.alignment
    given = [q for s in alignment.given for q in s.stretch.quantities]
    for _, wanted in sorted(alignment.counterparts.items()):
        stated = alignment.wanted[wanted]
        sources = set(stated.claim.citations)
        near = [s for s in alignment.wanted if sources.intersection(s.claim.citations)]
        own = [s for s in alignment.given if sources.intersection(alignment.sources(s))]
        known = [q for s in (*near, stated) for q in s.stretch.quantities]
        other = [
            q
            for s in own
            for q in s.stretch.quantities
            if not is_supported(q, [k for k in known if k.dimension == q.dimension])
        ]
        for quantity in stated.stretch.quantities:
            if any(q.dimension != quantity.dimension for q in other):
                continue
            if is_year(quantity) and any(
                w.plain in _RELATIVE for s in own for w in s.stretch.words
            ):
                continue
            tells = (
                quantity.dimension not in _WORDED and quantity.bare > 1
                if quantity.dimension
                else quantity.bare >= 100
            )
            if tells and not quantity.implied and not is_supported(quantity, given):
                return quantity
    return None


def usefulness(reading: Reading) -> _Outcome:
    """0 or 1, not applicable unless the answer refuses and adds something."""
    answer = reading.actual
    if not answer.refuses:
        return NotApplicable(reason="The answer does not say that no document answers.")
    if not answer.statements:
        return NotApplicable(reason=_refusal_reason(answer, "adds nothing"))
    related = related_statements(reading)
    if related:
        sure = len(related) >= len(answer.statements) / 2
        text = (
            f"{_named(related[0].sentence)} is on the question's subject "
            f"({len(related)} of {len(answer.statements)} additions are)."
        )
        return _graded(1, text, answer, sure=sure)
    text = (
        f"{_named(answer.statements[0].sentence)} is off topic: neither its words nor its sources "
        "touch the question, and nor do the other additions."
    )
    return _graded(0, text, answer, sure=bool(reading.question.stems))


def faithfulness(
    reading: Reading, *, ignore_citations: bool
) -> tuple[_Outcome, tuple[SentenceCheck, ...]]:
    """0 or 1 with the analysis by sentence; not applicable when the answer says nothing more."""
    answer = reading.actual
    checker = SupportChecker(reading, ignore_citations=ignore_citations)
    verdicts = [(s, checker.check(s)) for s in answer.statements]
    sentences = _analysis(answer, verdicts, ignore_citations=ignore_citations)
    if answer.refuses and not answer.statements:
        return NotApplicable(reason=_refusal_reason(answer, "adds nothing")), sentences
    if not answer.statements:
        return NotApplicable(reason=_nothing(answer)), sentences
    broken = [(s, v) for s, v in verdicts if not v.holds]
    if broken:
        broken.sort(key=lambda pair: not pair[1].sure)
        texts = [f"{_named(s.sentence)} {_told(v, ignore_citations)}." for s, v in broken[:2]]
        if len(broken) > len(texts):
            texts.append(f"{len(broken) - len(texts)} more statements fail.")
        grade = _graded(0, " ".join(texts), answer, sure=broken[0][1].sure)
        return grade, sentences
    weakest_statement, weakest = min(verdicts, key=lambda pair: pair[1].overlap)
    if weakest.sure:
        text = "Every statement cites a reference that shares its words and contradicts none."
        if ignore_citations:
            text = "Every statement shares its words with a reference and contradicts none."
        return _graded(1, text, answer, sure=True), sentences
    text = (
        f"nothing contradicts the references, but {_named(weakest_statement.sentence, small=True)} "
        f"shares only {weakest.overlap:.0%} of its words with them."
    )
    return _graded(1, text, answer, sure=False), sentences


def _analysis(
    answer: Answer, verdicts: Sequence[tuple[Statement, Verdict]], *, ignore_citations: bool
) -> tuple[SentenceCheck, ...]:
    by_sentence: dict[int, list[Verdict]] = defaultdict(list)
    for statement, verdict in verdicts:
        by_sentence[statement.sentence.number].append(verdict)
    checks: list[SentenceCheck] = []
    for sentence in answer.sentences:
        found = by_sentence.get(sentence.number)
        if not found:
            checks.append(SentenceCheck(sentence=sentence.text))
            continue
        checks.append(
            SentenceCheck(
                sentence=sentence.text,
                has_citation=None if ignore_citations else all(v.has_citation for v in found),
                citation_is_right=(
                    None if ignore_citations else all(v.citation_is_right for v in found)
                ),
                is_supported=all(v.is_supported for v in found),
            )
        )
    return tuple(checks)


def _told(verdict: Verdict, ignore_citations: bool) -> str:
    if ignore_citations:
        return verdict.problem.replace("cites ", "stands nearest to ", 1)
    return verdict.problem


def _named(sentence: Sentence, *, small: bool = False) -> str:
    word = "sentence" if small else "Sentence"
    return f"{word} {sentence.number} ('{shortened(sentence.text)}')"


def _refusal_reason(answer: Answer, also: str = "") -> str:
    text = shortened(quoted(answer.sentences, answer.refusal))
    end = f" and {also}" if also else ""
    return f"The answer says that no document answers ('{text}'){end}."


def _nothing(answer: Answer) -> str:
    return "The answer makes no statement." if answer.sentences else "The answer is empty."


def _undecidable(what: str) -> Failed:
    return Failed(
        error_kind="undecidable",
        error=f"Words alone cannot tell this ({what}): give an expected answer, or judge with a "
        "model.",
    )


def _graded(value: int, text: str, answer: Answer, *, sure: bool) -> Graded:
    if answer.cut:
        text = f"{text} Only the first {MOST_STATEMENTS} statements were read."
    return Graded(value=value, justification=text if sure else f"{LOW_CONFIDENCE}{text}")
