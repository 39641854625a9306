"""Grades and reasons on small cases from several domains."""

from __future__ import annotations

import pytest

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable, SentenceCheck
from grouse_adapters.core.metrics import Citations, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical.grader import LexicalGrader

JUDGED: tuple[MetricName, ...] = (
    "answer_relevancy",
    "completeness",
    "usefulness",
    "faithfulness",
)
MUSEUM = (
    "The Orsay museum opened in December 1986 in a former railway station built by Victor Laloux. "
    "It is closed on Mondays.",
    "Tickets cost 16 euros online and 14 euros at the desk. Visitors under 18 enter free of "
    "charge. A guided tour lasts an hour and a half.",
    "The dog park in Lyon opens at 7:00. Dogs must be kept on a leash.",
)
OPENING = "When did the Orsay museum open and in what building?"
EXPECTED = (
    "The museum opened in December 1986 [1] in a former station designed by Victor Laloux [1]."
)
REFUSAL = "No document seems to precisely answer your question."


def grade(
    actual: str,
    expected: str | None = EXPECTED,
    question: str = OPENING,
    references: tuple[str, ...] = MUSEUM,
    citations: Citations = "required",
) -> tuple[dict[MetricName, Grade], tuple[SentenceCheck, ...]]:
    sample = Sample(
        input=question, references=references, expected_output=expected, actual_output=actual
    )
    return LexicalGrader(citations=citations).grade(sample, JUDGED)


def values(grades: dict[MetricName, Grade]) -> list[int | None]:
    return [g.value if isinstance(g, Graded) else None for g in grades.values()]


def why(grade: Grade) -> str:
    assert isinstance(grade, Graded)
    return grade.justification


def test_right_answer_in_other_words() -> None:
    grades, sentences = grade(
        "The museum opened in December 1986 [1]. It occupies a former railway station by Victor "
        "Laloux [1]."
    )
    assert values(grades) == [5, 5, None, 1]
    assert [(s.has_citation, s.citation_is_right, s.is_supported) for s in sentences] == [
        (True, True, True),
        (True, True, True),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("The museum opened in December 1968 [1].", "does not state '1968'"),
        ("The museum opened in October 1986 [1].", "does not say 'October'"),
        ("It is in a former station by Gustave Eiffel [1].", "does not name 'Gustave Eiffel'"),
        ("It is in a former railway station built by Laloux [7].", "has only 3"),
        ("It is in a former railway station built by Laloux [0].", "cites [0]"),
        ("It is in a former railway station built by Laloux.", "no citation; [1] holds it"),
        ("It is in a former railway station built by Laloux [3].", "[1] does"),
        ("The museum isn't closed on Mondays [1].", "one of the two denies it"),
        ("It is closed on Tuesdays [1].", "does not say 'Tuesdays'"),
        ("Dogs must not be kept on a leash [3].", "one of the two denies it"),
        ("Tickets cost 14 euros online [2].", "'16 euros', not '14 euros'"),
        ("A guided tour lasts 2 hours [2].", "does not state '2 hours'"),
        ("Whales sing complicated melodies underwater [2].", "shares none of its words"),
    ],
)
def test_distorted_or_badly_cited(answer: str, reason: str) -> None:
    grades, sentences = grade(answer)
    assert values(grades)[3] == 0
    assert reason in why(grades["faithfulness"])
    assert "Sentence 1" in why(grades["faithfulness"])
    assert not all((sentences[0].has_citation, sentences[0].citation_is_right)) or (
        sentences[0].is_supported is False
    )


@pytest.mark.parametrize(
    "answer",
    [
        "A guided tour lasts 90 minutes [2]. Visitors under 18 pay nothing [2].",
        "According to [1], the museum opened in December 1986 in a former railway station.",
        "Key facts [1]:\n- opened in December 1986\n- former railway station by Victor Laloux",
        "| fact | value |\n|---|---|\n| opening | December 1986 [1] |\n| closed | Mondays [1] |",
        "## Opening\nThe museum opened in December 1986.[1] It was a railway station.[1]",
        "Online tickets cost 16 euros, at the desk 14 euros [1-3].",
        "Dogs need a leash [3], and V. Laloux built the station [1, 3].",
    ],
)
def test_faithful(answer: str) -> None:
    grades, _ = grade(answer)
    assert values(grades)[3] == 1, grades["faithfulness"]


def test_exchanged_roles() -> None:
    grades, _ = grade(
        "Acme acquired Bolt in 2014 [1].",
        "Bolt acquired Acme [1].",
        "Who acquired whom?",
        ("In 2014 Bolt acquired Acme for 2 million dollars.",),
    )
    assert "the other way round" in why(grades["faithfulness"])


def test_low_degree_against_high_degree() -> None:
    references = ("Price hardly influences the choice of a physician.",)
    question, expected = "What drives the choice?", "Price hardly influences the choice [1]."
    wrong, _ = grade("Price strongly influences the choice [1].", expected, question, references)
    right, _ = grade("Price has next to no influence on the choice [1].", expected, question,
                     references)  # fmt: skip
    assert values(wrong)[3] == 0
    assert values(right)[3] == 1


@pytest.mark.parametrize(
    "opening",
    [
        "The references do say something about the museum, though.",
        "Some details can be given, however.",
        "What they hold concerns its visitors.",
    ],
)
def test_an_announcement_needs_no_citation(opening: str) -> None:
    grades, _ = grade(f"{REFUSAL} {opening} Visitors under 18 enter free of charge [2].", REFUSAL,
                      "Who runs the Orsay museum?")  # fmt: skip
    assert values(grades)[3] == 1
    stated, _ = grade(f"{REFUSAL} The desk is staffed by 12 volunteers. Visitors under 18 enter "
                      "free of charge [2].", REFUSAL, "Who runs the Orsay museum?")  # fmt: skip
    assert values(stated)[3] == 0


def test_sentences_that_tell_one_thing_share_a_citation() -> None:
    expected = (
        "Tickets cost 16 euros online and 14 euros at the desk [2]. The museum opened in 1986 [1]."
    )
    question = "What do tickets cost and when did the museum open?"
    shared = "It costs 16 euros to buy tickets online. At the desk they are 14 euros [2]."
    together, _ = grade(f"{shared} It opened in 1986 [1].", expected, question)
    assert values(together)[3] == 1
    apart, _ = grade(
        "The museum opened in 1986. Tickets cost 16 euros online, 14 euros at the desk [2].",
        expected,
        question,
    )
    assert values(apart)[3] == 0


def test_citations_ignored() -> None:
    answer = "It opened in December 1986 in a former railway station built by Victor Laloux."
    grades, sentences = grade(answer, citations="ignored")
    assert values(grades) == [5, 5, None, 1]
    assert sentences[0].has_citation is None
    wrong, _ = grade(answer.replace("1986", "1931"), citations="ignored")
    assert values(wrong)[3] == 0


@pytest.mark.parametrize("answer", ["", " \n\t", "\u200b"])
def test_empty_answer(answer: str) -> None:
    grades, _ = grade(answer)
    assert values(grades) == [1, 1, None, None]
    unanswerable, _ = grade(answer, REFUSAL)
    assert values(unanswerable) == [1, None, None, None]


def test_superfluous_statement_lowers_relevancy_only() -> None:
    grades, _ = grade(
        "The museum opened in December 1986 [1] in a former railway station built by Victor "
        "Laloux [1]. Dogs must be kept on a leash in Lyon [3]."
    )
    relevancy, completeness, _, faithfulness = values(grades)
    assert relevancy is not None
    assert 2 <= relevancy < 5
    assert (completeness, faithfulness) == (5, 1)
    assert "Sentence 2" in why(grades["answer_relevancy"])


def test_missing_statement_is_named() -> None:
    grades, _ = grade("The museum is closed on Mondays [1].")
    assert (values(grades)[1] or 0) < 4
    partly, _ = grade("The museum opened in December 1986 [1].", EXPECTED + " Tickets cost 16 "
                      "euros online [2] and visitors under 18 enter free [2].")  # fmt: skip
    assert values(partly)[1] in (2, 3)
    assert "former station designed by Victor Laloux" in why(partly["completeness"])


def test_answer_where_none_is_possible() -> None:
    grades, _ = grade("The museum is closed on Mondays [1].", REFUSAL, "Who runs the museum?")
    assert values(grades)[:2] == [2, None]


def test_refusal_with_related_and_with_other_additions() -> None:
    question = "Who runs the Orsay museum?"
    related, _ = grade(f"{REFUSAL} The museum is closed on Mondays [1].", REFUSAL, question)
    assert values(related) == [None, None, 1, 1]
    other, _ = grade(f"{REFUSAL} Dogs must be kept on a leash [3].", REFUSAL, question)
    assert values(other) == [None, None, 0, 1]


def test_wrong_refusal() -> None:
    grades, _ = grade(REFUSAL)
    assert values(grades) == [None, 1, None, None]
    assert isinstance(grades["answer_relevancy"], NotApplicable)


def test_without_expected_answer() -> None:
    grades, _ = grade("The museum opened in December 1986 [1].", None)
    assert why(grades["answer_relevancy"]).startswith("Low confidence")
    completeness = grades["completeness"]
    assert isinstance(completeness, Failed)
    assert completeness.error_kind == "undecidable"
    assert values(grades)[3] == 1
    nothing_found, _ = grade("The museum opened in 1986.", None, references=())
    assert isinstance(nothing_found["completeness"], NotApplicable)


def test_french() -> None:
    references = (
        "Le pont Vasco de Gama, inauguré en mars 1998, mesure 17,2 km de long. Il n'est pas "
        "ouvert aux piétons.",
        "La ville de Lisbonne compte environ 545 000 habitants.",
    )
    question = "Quelle est la longueur du pont Vasco de Gama et qui peut l'emprunter ?"
    expected = "Le pont mesure 17,2 km [1] et il est interdit aux piétons [1]."
    right, _ = grade(
        "Long de 17,2 kilomètres [1], le pont n'est pas ouvert aux piétons [1].",
        expected, question, references,
    )  # fmt: skip
    assert values(right) == [5, 5, None, 1]
    wrong, _ = grade("Le pont est ouvert aux piétons [1].", expected, question, references)
    assert values(wrong)[3] == 0
    refusal, _ = grade(
        "Aucun document ne répond précisément à votre question. Lisbonne compte 545 000 "
        "habitants [2].",
        expected, question, references,
    )  # fmt: skip
    assert values(refusal) == [None, 1, 0, 1]


def test_only_what_is_asked_for() -> None:
    sample = Sample(input=OPENING, references=MUSEUM, expected_output=EXPECTED, actual_output="Yes")
    grades, sentences = LexicalGrader().grade(sample, ("completeness", "positive_acceptance"))
    assert list(grades) == ["completeness"]
    assert sentences == ()


def test_fingerprint_follows_the_settings() -> None:
    prints = {
        LexicalGrader().fingerprint,
        LexicalGrader(citations="ignored").fingerprint,
        LexicalGrader(language="fr").fingerprint,
        LexicalGrader(refusals=["Sin datos"]).fingerprint,
    }
    assert len(prints) == 4
    assert LexicalGrader().fingerprint == LexicalGrader().fingerprint


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="language 'xx'"):
        LexicalGrader(language="xx")
    with pytest.raises(ConfigurationError, match="brackets"):
        LexicalGrader(refusals="I cannot answer.")
    with pytest.raises(ConfigurationError, match="citations setting"):
        LexicalGrader(citations="sometimes")  # type: ignore[arg-type]  # what a user may type
