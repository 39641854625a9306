"""Refusals, sentences, citations and quantities, each on its own."""

from __future__ import annotations

import pytest

from grouse_adapters.lexical.evidence import Stretch
from grouse_adapters.lexical.exchanges import roles
from grouse_adapters.lexical.refusal import RefusalReader
from grouse_adapters.lexical.sentences import cited_numbers, split_answer
from grouse_adapters.lexical.text import detect_language

QUESTION = "How tall is the lighthouse of Ar-Men?"


def refuses(text: str, code: str = "en", wordings: tuple[str, ...] = ()) -> bool:
    sentences = split_answer(text, code)
    return RefusalReader(wordings).read(sentences, question=QUESTION, code=code).refuses


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "No document seems to precisely answer your question."),
        ("en", "NO DOCUMENT SEEMS TO PRECISELY ANSWER YOUR QUESTION - sorry!"),
        ("en", "I cannot answer from the documents."),
        ("en", "I can’t answer this question based on the sources."),
        ("en", "I'm sorry, but the provided context does not contain enough information."),
        ("en", "The documents do not contain the answer. They describe ferries [1]."),
        ("en", "None of the references answers the question."),
        ("en", "The height of the lighthouse is not mentioned in the documents."),
        ("en", "There is not enough information to answer."),
        ("en", "Unfortunately, I could not find any information about this in the references."),
        ("fr", "Aucun document ne semble répondre précisément à votre question."),
        ("fr", "Les documents fournis ne permettent pas de répondre à la question."),
        ("fr", "Je ne peux pas répondre à cette question."),
        ("de", "Kein Dokument scheint Ihre Frage genau zu beantworten."),
        ("de", "Leider enthalten die Dokumente keine Informationen zu Ihrer Frage."),
        ("de", "Ich kann diese Frage nicht beantworten."),
        ("es", "Ningún documento parece responder con precisión a su pregunta."),
        ("es", "Los documentos no contienen la respuesta a la pregunta."),
        ("it", "Nessun documento sembra rispondere con precisione alla domanda."),
        ("it", "Non posso rispondere a questa domanda."),
        ("pt", "Nenhum documento parece responder precisamente à sua pergunta."),
        ("pt", "Os documentos não contêm informações para responder."),
        ("nl", "Geen enkel document lijkt uw vraag precies te beantwoorden."),
        ("nl", "De documenten bevatten geen antwoord op de vraag."),
    ],
)
def test_refusals(code: str, text: str) -> None:
    assert refuses(text, code)


@pytest.mark.parametrize(
    "text",
    [
        "The lighthouse is 37 m tall [1]. The documents do not mention its keeper.",
        "The documents do not mention the year, but the lighthouse is 37 m tall [1].",
        "The documents do not mention who painted it.",
        "The answer is given in the second document: 37 m [2].",
        "No lighthouse in France is more exposed [1].",
        "No, it is 37 m tall [1].",
        "Two documents do answer the question: it is 37 m tall [1][2].",
        "",
    ],
)
def test_answers_are_not_refusals(text: str) -> None:
    assert not refuses(text)


def test_own_wording() -> None:
    own = ("Désolé, je sèche.",)
    assert not refuses("Desole je seche !", "fr")
    assert refuses("Desole je seche !", "fr", own)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a [1][2]", (1, 2)),
        ("a [1, 2; 4]", (1, 2, 4)),
        ("a [1-3] b [2–4]", (1, 2, 3, 4)),
        ("a [Doc 2] b 【3】", (2, 3)),
        ("a [source 1, source 5]", (1, 5)),
        ("a [9-2]", (9, 2)),
        ("a [1-999]", (1, 999)),
        ("a [2014] b [note] c [] d (1)", ()),
    ],
)
def test_citation_forms(text: str, numbers: tuple[int, ...]) -> None:
    assert cited_numbers(text) == numbers


def test_sentences_and_claims() -> None:
    text = (
        "# Origins\n"
        "Dr. Berg built it in 1867 at approx. 3.5 km from land.[1] It is tall [2], white [3].\n"
        "The parts are:\n"
        "- a tower [1]\n"
        "- a lamp\n"
    )
    sentences = split_answer(text, "en")
    assert [(s.kind, len(s.claims)) for s in sentences] == [
        ("lead_in", 0),
        ("statement", 1),
        ("statement", 2),
        ("lead_in", 0),
        ("statement", 1),
        ("statement", 1),
    ]
    assert [c.citations for s in sentences for c in s.claims] == [(1,), (2,), (3,), (1,), ()]


@pytest.mark.parametrize(
    ("code", "text", "dimension", "value"),
    [
        ("en", "two weeks", "time", 14 * 86400),
        ("en", "14 days", "time", 14 * 86400),
        ("en", "half an hour", "time", 1800),
        ("en", "an hour and a half", "time", 5400),
        ("en", "two and a half hours", "time", 9000),
        ("en", "twenty-five km", "length", 25000),
        ("en", "1,250.5 m", "length", 1250.5),
        ("en", "2.5 million dollars", "dollar", 2.5e6),
        ("en", "$40", "dollar", 40),
        ("en", "12 per cent", "share", 12),
        ("en", "50 °F", "temperature", 10),
        ("fr", "17,2 km", "length", 17200),
        ("de", "anderthalb Stunden", "time", 5400),
        ("es", "tres semanas", "time", 21 * 86400),
        ("en", "the 1970s", "", 1970),
        ("en", "threescore jars", "", 60),
        ("en", "five dozen jars", "", 60),
        ("en", "half a dozen", "", 6),
        ("en", "a hundred and twenty-five men", "", 125),
        ("en", "the thirty-first of them", "", 31),
        ("en", "one pane in four", "share", 25),
        ("en", "every fourth pane", "share", 25),
        ("en", "four fifths of it", "share", 80),
        ("en", "three quarters of an hour", "time", 2700),
        ("en", "a minute and thirty seconds", "time", 90),
        ("en", "one and a half times the rate", "times", 1.5),
        ("en", "half past five in the afternoon", "clock", 17.3),
        ("fr", "quatre-vingt-dix-sept ans", "time", 97 * 31557600),
        ("fr", "une vingtaine de moines", "", 20),
        ("fr", "545 000 habitants", "", 545000),
        ("fr", "une vitre sur quatre", "share", 25),
    ],
)
def test_quantities(code: str, text: str, dimension: str, value: float) -> None:
    (quantity,) = Stretch(f"x {text} y", code).quantities
    assert quantity.dimension == dimension
    assert quantity.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The lighthouse was built on a rock in the sea."),
        ("fr", "Le phare est construit sur un rocher dans la mer."),
        ("de", "Der Leuchtturm wurde auf einem Felsen im Meer gebaut."),
        ("es", "El faro fue construido sobre una roca en el mar."),
        ("it", "Il faro è stato costruito su una roccia nel mare."),
        ("pt", "O farol foi construído sobre uma rocha no meio do mar."),
        ("nl", "De vuurtoren werd op een rots in de zee gebouwd."),
        ("en", ""),
    ],
)
def test_language(code: str, text: str) -> None:
    assert detect_language(text) == code


@pytest.mark.parametrize(
    ("code", "text", "bound"),
    [
        ("en", "at least 5 days", 1),
        ("en", "5 days or more", 1),
        ("en", "no fewer than 5 days", 1),
        ("en", "at most 5 days", -1),
        ("en", "up to 5 days", -1),
        ("en", "below the age of 5", -1),
        ("en", "must not exceed 5 days", -1),
        ("en", "no later than 5 days before", 0),
        ("en", "some 5 days", 0),
        ("fr", "au moins 5 jours", 1),
        ("fr", "moins de 5 jours", -1),
        ("fr", "au plus 5 jours", -1),
    ],
)
def test_limits(code: str, text: str, bound: int) -> None:
    (quantity,) = Stretch(f"x {text} y", code).quantities
    assert quantity.bound == bound


@pytest.mark.parametrize(
    ("text", "doer"),
    [
        ("In 1634 Ines Calder taught Aldo Rens", "calder"),
        ("In 1634 Aldo Rens was taught by Ines Calder", "calder"),
        ("In 1634 Aldo Rens taught Ines Calder", "rens"),
    ],
)
def test_roles(text: str, doer: str) -> None:
    (clause,) = Stretch(text, "en").clauses
    assert [role[0] for role in roles(clause)] == [doer]
