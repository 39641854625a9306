"""Every check fires on a broken copy of a good scenario, says where, and says nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenario_copies import GOOD, OUT, changed, good, problems, written

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.scenarios import (
    build_annotations,
    build_tests,
    check_scenario,
    load_scenario,
)

Changes = dict[str, Any]
SHORT = "Flour, water, time and a warm place are all that is needed here."
LONGER = f"{SHORT} {SHORT} {SHORT}"
EXPECTED = good()["answer"]["statements"]

# what is changed: {place: (severity, a part of the message)}
BROKEN: dict[str, tuple[Changes, dict[str, tuple[str, str]]]] = {
    "an answer cites an unknown key": (
        {"answer.statements.place": "It stands in a crock on a shelf [shelv]."},
        {
            "answer.statements.place": ("error", "cites [shelv], which is no reference: did you"),
            "paraphrases.1.statements.place": ("warning", "cites otherwise"),
            "paraphrases.2.statements.place": ("warning", "cites otherwise"),
            "paraphrases.3.statements.place": ("warning", "cites otherwise"),
            "paraphrases.4.statements.place": ("warning", "cites otherwise"),
        },
    ),
    "a statement cites by number": (
        {"superfluous.statements.s1": "It is closed on Tuesdays [4]."},
        {"superfluous.statements.s1": ("error", "cites [4], which is no reference: cite by key")},
    ),
    "a statement cites nothing": (
        {"related.paraphrases.0.statements.r5": "Its staff numbers nine."},
        {"related.paraphrases.1.statements.r5": ("error", "cites nothing: add the key")},
    ),
    "the answer rests on a related reference": (
        {"answer.statements.wake": "The flakes are soaked and fed three times [prices]."},
        {
            "answer.statements.wake": ("error", "cites [prices], which is tagged related: only"),
            "wrong_citation.statement": ("warning", "which cites several references"),
            **{
                f"paraphrases.{n}.statements.wake": ("warning", "cites otherwise")
                for n in (1, 2, 3, 4)
            },
        },
    ),
    "superfluous information from a relevant reference": (
        {"superfluous.statements.s2": "A whisk of wire is never used on it [feeding]."},
        {"superfluous.statements.s2": ("error", "tagged relevant: only related references")},
    ),
    "off-topic information from a related reference": (
        {"off_topic.statements.o2": "Twenty rolls must be ordered by noon [prices]."},
        {"off_topic.statements.o2": ("error", "tagged related: only off-topic references")},
    ),
    "an opening cites": (
        {"related.opening": "However, there is something about prices [prices]."},
        {"related.opening": ("error", "cites a reference: an opening holds no fact")},
    ),
    "a key that cannot be cited": (
        {"references.bad,key": {"tag": "off-topic", "text": LONGER + " It is about tyres."}},
        {
            "references.bad,key": ("error", "cannot be cited"),
            "references.bad,key.text": ("warning", "43 words"),
        },
    ),
    "a reference is too short": (
        {"references.tents.text": SHORT},
        {"references.tents.text": ("error", "has 13 words")},
    ),
    "a reference is rather short": (
        {"references.tents.text": LONGER},
        {"references.tents.text": ("warning", "has only 39 words")},
    ),
    "one text for two references": (
        {"references.tents.text": good()["references"]["parking"]["text"]},
        {"references.parking.text": ("error", "is the text of 'tents' word for word")},
    ),
    "an absurd reference without an absurd claim": (
        {"references.shelf-absurd.text": good()["references"]["shelf"]["text"]},
        {"references.shelf-absurd.text": ("error", "is the text of 'shelf'")},
    ),
    "too few off-topic references": (
        {"references.parking": OUT, "off_topic.statements.o2": "Seams are sealed again [tents]."},
        {"references": ("error", "has 1 tagged off-topic, and the tests need at least 2")},
    ),
    "a relevant reference that no statement cites": (
        {"references.tents.tag": "relevant", "off_topic.statements.o1": "Vans need it [parking]."},
        {
            "references": ("error", "has 1 tagged off-topic"),
            "references.tents": ("warning", "no statement of the answer cites it"),
        },
    ),
    "an absurd reference of nothing": (
        {"references.shelf-absurd.instead_of": OUT},
        {"references.shelf-absurd": ("error", "is absurd without 'instead_of'")},
    ),
    "an absurd reference of an unknown one": (
        {"references.shelf-absurd.instead_of": "shelve"},
        {"references.shelf-absurd.instead_of": ("error", "did you mean 'shelf'?")},
    ),
    "instead_of where nothing is absurd": (
        {"references.tents.instead_of": "shelf"},
        {"references.tents.instead_of": ("error", "is for absurd references")},
    ),
    "an absurd reference of the wrong kind": (
        {"references.family-absurd.instead_of": "feeding"},
        {
            "absurd_related.reference": ("error", "choose one that stands in for a related one"),
        },
    ),
    "an absurd part without an absurd reference": (
        {"absurd.reference": "shelf"},
        {
            "absurd.reference": ("error", "which is not tagged absurd: use shelf-absurd"),
            "absurd": ("error", "has no statement that cites [shelf]"),
            "references.shelf-absurd": ("warning", "is used neither by absurd nor"),
        },
    ),
    "an absurd fact that the answer leaves out": (
        {"absurd.actual": {"cover": "Linen instead of a lid is what lets gas out [shelf]."}},
        {
            "absurd": ("error", "both in 'expected' and in 'actual'"),
            "absurd.actual.statements": ("error", "lacks 'novel'"),
            "absurd.actual.statements.cover": ("error", "is no statement of absurd.expected"),
        },
    ),
    "an absurd related fact that the answer leaves out": (
        {"absurd_related.actual.statements": {"r5": "Its staff numbers nine [family]."}},
        {"absurd_related": ("error", "both in 'expected' and in 'actual'")},
    ),
    "an absurd related fact of an unknown id": (
        {"absurd_related.actual.statements.mouse": "A mouse sells the rolls [family-absurd]."},
        {"absurd_related.actual.statements.mouse": ("error", "did you mean 'moose'?")},
    ),
    "a paraphrase lacks a statement": (
        {"paraphrases.1.statements.wake": OUT},
        {"paraphrases.2.statements": ("error", "lacks 'wake'")},
    ),
    "a paraphrase has one too many": (
        {"paraphrases.3.statements.sleep": "It sleeps in the dark [shelf]."},
        {"paraphrases.4.statements.sleep": ("error", "is no statement of the answer")},
    ),
    "a paraphrase is the expected wording": (
        {"paraphrases.0.statements.cover": EXPECTED["cover"].replace("A linen", "a  linen")},
        {"paraphrases.1.statements.cover": ("error", "is the expected wording itself")},
    ),
    "a paraphrase is nearly the expected wording": (
        {"paraphrases.0.statements.cover": EXPECTED["cover"].replace("because", "since")},
        {"paraphrases.1.statements.cover": ("warning", "shares 88% of its words")},
    ),
    "a related paraphrase is the expected wording": (
        {"related.paraphrases.1.statements.r1": good()["related"]["statements"]["r1"]},
        {"related.paraphrases.2.statements.r1": ("error", "is the expected wording itself")},
    ),
    "a related paraphrase of an unknown id": (
        {"related.paraphrases.1.statements.r9": "Flour comes from the mill [family]."},
        {"related.paraphrases.2.statements.r9": ("error", "is no statement of 'related'")},
    ),
    "the partial answer is the expected wording": (
        {"partial.actual.statements.keep": EXPECTED["keep"]},
        {"partial.actual.statements.keep": ("error", "is the expected wording itself")},
    ),
    "the absurd fact in the expected wording": (
        {"absurd.actual": good()["absurd"]["expected"]},
        {"absurd.actual.statements.novel": ("error", "is the expected wording itself")},
    ),
    "partial answers that differ": (
        {"partial.actual.statements.cover": OUT},
        {"partial.actual.statements": ("error", "lacks 'cover'")},
    ),
    "all relevant references are partial": (
        {"partial.references": ["feeding", "shelf", "holidays"]},
        {
            "partial.references": ("error", "names every relevant reference"),
            "partial.expected.statements": ("warning", "rests on these references alone"),
        },
    ),
    "a partial reference that is not relevant": (
        {"partial.references": ["feeding", "shelf", "prices"]},
        {"partial.references.3": ("error", "is 'prices', which is no relevant reference")},
    ),
    "a partial answer that cites more": (
        {
            "partial.references": ["feeding"],
        },
        {
            f"partial.{part}.statements.{id}": ("error", "which test 4 (Highest marks 4) does not")
            for part in ("expected", "actual")
            for id in ("place", "cover")
        },
    ),
    "a partial answer that leaves something out": (
        {"partial.expected.statements.cover": OUT, "partial.actual.statements.cover": OUT},
        {"partial.expected.statements": ("warning", "lacks 'cover', which rests on these")},
    ),
    "an unknown statement is omitted": (
        {"omitted": ["feed", "covers"]},
        {
            "omitted.2": ("error", "no statement of the answer: did you mean 'cover'?"),
            "omitted": ("warning", "leaves out 1 of 6"),
        },
    ),
    "everything is omitted": (
        {"omitted": list(EXPECTED)},
        {"omitted": ("error", "names every statement")},
    ),
    "the wrong citation is right": (
        {"wrong_citation.cites": "holidays"},
        {"wrong_citation.cites": ("error", "is 'holidays', which 'wake' cites rightly")},
    ),
    "the wrong citation cites nothing": (
        {"wrong_citation.cites": "shelve"},
        {"wrong_citation.cites": ("error", "is 'shelve', no reference: did you mean 'shelf'?")},
    ),
    "the wrong citation cites an absent reference": (
        {"wrong_citation.cites": "shelf-absurd"},
        {"wrong_citation.cites": ("error", "an absurd one, which the test lacks")},
    ),
    "the wrong citation of an unknown statement": (
        {"wrong_citation.statement": "woke"},
        {"wrong_citation.statement": ("error", "did you mean 'wake'?")},
    ),
    "the distorted statement is unknown": (
        {"distorted.statement": "covers"},
        {"distorted.statement": ("error", "did you mean 'cover'?")},
    ),
    "the distorted statement is not distorted": (
        {"distorted.text": good()["paraphrases"][2]["statements"]["cover"]},
        {"distorted.text": ("error", "is what paraphrases says of 'cover' already")},
    ),
    "the distorted statement cites otherwise": (
        {"distorted.text": "Linen covers the crock, because gas must not escape [feeding]."},
        {"distorted.text": ("error", "does not cite what 'cover' cites")},
    ),
    "the unsupported statement is supported": (
        {"unsupported.text": EXPECTED["dry"].replace(" [holidays]", "")},
        {"unsupported.text": ("error", "is the statement 'dry' of answer itself")},
    ),
    "the unsupported statement follows an unknown one": (
        {"unsupported.after": "feeding"},
        {"unsupported.after": ("error", "is 'feeding', which is no statement of the answer")},
    ),
    "the unsupported statement cites a reference that is not there": (
        {"unsupported.text": "Heather honey is stirred in monthly [shelf-absurd]."},
        {"unsupported.text": ("error", "tagged absurd: only relevant or related or off-topic")},
    ),
    "an unsupported statement without text": (
        {"unsupported.text": OUT},
        {"unsupported": ("error", "lacks 'after' and 'text': add what is missing")},
    ),
    "an uncited statement that cites": (
        {"unsupported.kind": "uncited", "unsupported.text": "Bread is sold [prices]."},
        {"unsupported.text": ("error", "and its kind is 'uncited'")},
    ),
    "an uncited statement of an unknown id": (
        {"unsupported": {"kind": "uncited", "statement": "feeds"}},
        {"unsupported.statement": ("error", "did you mean 'feed'?")},
    ),
    "an unsupported statement that replaces": (
        {"unsupported": {"kind": "unsupported", "statement": "feed", "text": "It rains."}},
        {"unsupported.statement": ("error", "is for kind 'uncited'")},
    ),
    "an uncited statement in two places": (
        {"unsupported": {"kind": "uncited", "statement": "feed", "after": "keep"}},
        {"unsupported": ("error", "has 'statement' and 'after'")},
    ),
    "a refusal that cites": (
        {"refusal": "No document answers your question [feeding]."},
        {"refusal": ("error", "a refusal says that none answers")},
    ),
    "a refusal of one's own": (
        {"refusal": "The shelf of knowledge is bare."},
        {"refusal": ("warning", "is no wording that the lexical judge knows")},
    ),
    "a refusal without a full stop": (
        {"refusal": "No document seems to precisely answer your question"},
        {"refusal": ("warning", "does not end with a full stop")},
    ),
    "an opening that refuses": (
        {"superfluous.opening": "None of the documents answers the question."},
        {"superfluous.opening": ("warning", "reads like a refusal")},
    ),
    "a statement that refuses": (
        {"off_topic.statements.o1": "No document answers your question about tents [tents]."},
        {"off_topic.statements.o1": ("warning", "reads like a refusal")},
    ),
    "a citation after the full stop": (
        {"superfluous.statements.s1": "It is closed on Tuesdays. [prices]"},
        {"superfluous.statements.s1": ("warning", "cites after the full stop")},
    ),
    "a statement without a full stop": (
        {"superfluous.statements.s1": "It is closed on Tuesdays [prices]"},
        {"superfluous.statements.s1": ("warning", "does not end with a full stop")},
    ),
    "a sentence without a citation": (
        {"superfluous.statements.s1": "It is closed on Tuesdays. It takes cash [prices]."},
        {"superfluous.statements.s1": ("warning", "('It is closed on Tuesdays.')")},
    ),
    "a capital after a comma": (
        {"superfluous.opening": "In addition,"},
        {"superfluous.opening": ("warning", "ends with a comma, and 'It' follows")},
    ),
    "a poor scenario": (
        {
            "paraphrases": good()["paraphrases"][:1],
            "superfluous.statements.s2": OUT,
            "off_topic.statements.o2": OUT,
            "related.paraphrases.2.statements.r2": OUT,
        },
        {
            "paraphrases": ("warning", "has 1 entry: 4 or more are better"),
            "superfluous.statements": ("warning", "has 1 entry: 2 or more"),
            "off_topic.statements": ("warning", "has 1 entry"),
            "related.paraphrases.3.statements": ("warning", "has 2 entries: 3 or more"),
        },
    ),
    "texts that are still to be written": (
        {"paraphrases.0.statements.keep": "TODO: say it otherwise [feeding].", "domain": "TODO"},
        {
            "domain": ("error", "is still to be written"),
            "paraphrases.1.statements.keep": ("error", "is still to be written: say it otherwise"),
        },
    ),
}


def test_the_good_scenario_has_no_problem() -> None:
    assert check_scenario(load_scenario(GOOD)) == []


@pytest.mark.parametrize(("changes", "expected"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_copy(
    changes: Changes, expected: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    found = problems(tmp_path, changed(changes))
    told = {problem.place: (problem.severity, problem.message) for problem in found}
    assert {place: severity for place, (severity, _) in told.items()} == {
        place: severity for place, (severity, _) in expected.items()
    }
    for place, (_, part) in expected.items():
        assert part in told[place][1]
    assert all(problem.line and problem.message.endswith((".", "?")) for problem in found)
    severities = [problem.severity for problem in found]
    assert severities == sorted(severities)


def test_building_raises_the_first_error(tmp_path: Path) -> None:
    changes = {"omitted": ["nothing"], "domain": "TODO: a domain"}
    scenario = load_scenario(written(tmp_path, changed(changes)))
    for build in (build_tests, build_annotations):
        with pytest.raises(InputError) as raised:
            build(scenario)
        expected = f"{tmp_path / 'copy.yaml'}, line 4: domain is still to be written: a domain"
        assert str(raised.value) == expected


def test_warnings_keep_nothing_from_being_built(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, changed({"refusal": "The shelf is bare."})))
    assert [problem.severity for problem in check_scenario(scenario)] == ["warning"]
    assert len(build_tests(scenario)) == len(build_annotations(scenario)) == 16


def test_problems_name_the_line() -> None:
    lines = GOOD.read_text(encoding="utf-8").splitlines()
    source = load_scenario(GOOD).source
    assert source.line(("answer", "statements", "wake")) == next(
        number for number, line in enumerate(lines, start=1) if line.startswith("    wake: After")
    )
    assert source.line(("answer", "statements", "nothing")) == source.line(("answer", "statements"))
    assert source.line(("nothing",)) is None
