"""An answer as sentences, and each sentence as claims: the words up to their citation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

import pysbd  # type: ignore[import-untyped]  # ships no types

from grouse_adapters.lexical.languages import LANGUAGES

SentenceKind = Literal["statement", "lead_in"]

_INSIDE: Final = (
    r"(?:(?:doc(?:ument)?|ref(?:erence|érence)?|source|passage|quelle|fuente|fonte|bron)s?\.?\s?)?"
    r"#?\d{1,3}(?:\s?[-–—]\s?\d{1,3})?"
)
CITATION: Final = re.compile(
    rf"(?:\[|【)\s?{_INSIDE}(?:\s?(?:,|;|&|and|et|und|y|e|en)\s?{_INSIDE}){{0,50}}\s?(?:\]|】)",
    re.IGNORECASE,
)
_RANGE: Final = re.compile(r"(\d{1,3})(?:\s?[-–—]\s?(\d{1,3}))?")
_GROUP: Final = re.compile(rf"(?:{CITATION.pattern})(?:[\s,;]*(?:{CITATION.pattern}))*", re.I)
_LEADING_CITATIONS: Final = re.compile(rf"^[\s.]*(?:{_GROUP.pattern})[\s.]*", re.I)
_BULLET: Final = re.compile(r"^\s*(?:[-*+•–—·▪◦‣]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
_TABLE_RULE: Final = re.compile(r"^[\s|:+=-]*$")
_HEADING: Final = re.compile(
    r"^\s*(?:#{1,6}\s+.{0,200}|\*\*[^*]{1,120}\*\*:?|__[^_]{1,120}__:?)\s*$"
)
_INNER_STOP: Final = re.compile(r"[.!?。！？…][\"'”’»)\]]*(?:\s|\[|【)\s*\S|[。！？]\s*\S|\.\.\s")
_ENDED: Final = re.compile(r"[.!?。！？…:;][\s\"'”’»)\]*_]*$|[\]】][\s.]*$")
_CUT: Final = re.compile(r"[^\W\d_]{2}[.!?。！？](?=\s)|[。！？]")
_FALLBACK_STOP: Final = re.compile(r"(?<=[.!?。！？…])\s+")
_WIDEST_RANGE: Final = 50  # of [1-50]; of a wider one only the ends are read
_PIECE: Final = 800  # characters given to pysbd at once; its time grows faster than the text
_ORDINAL_END: Final = re.compile(r"\b\d{1,2}\.\s*$")
_SHORT_FORM_END: Final = re.compile(
    r"(?:\b(?:z|d|u|p|s|o|b|v|i|e|c|n|t)|\b(?:ca|bzw|vgl|art|no|nr|env|approx|resp|evtl|ggf|dhr|"
    r"mevr|sig|sra?|págs?|ex|etc|cf|vs|fig|tab|vol|ed))\.\s*$",
    re.IGNORECASE,
)
_NAMING: Final = re.compile(
    r"^\W*(?:according\s+to|as\s+(?:stated|described|shown|reported)\s+(?:in|by)|per|in|from|see|"
    r"selon|d['’]après|dans|laut|gemäß|nach|según|secondo|conforme|volgens|the)?\s*"
    r"(?:the\s+|le\s+|la\s+|les\s+|das\s+|el\s+|il\s+|o\s+|het\s+)?"
    r"(?:documents?|references?|références?|sources?|passages?|dokument\w*|quelle\w*|documentos?|"
    r"fuentes?|documenti|fonti|fonte|bronn?e?n?)?\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A stretch of a sentence with the citations that follow it.

    Attributes:
        text: its words, without citations.
        citations: the numbers it cites, in order, whether such references exist or not.
        inherited: the citations stand elsewhere in the sentence or in its lead-in.
    """

    text: str
    citations: tuple[int, ...]
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or table row of an answer.

    Attributes:
        number: its place in the answer, from 1.
        text: as written.
        kind: whether it states something.
        claims: of a statement.
        line: of the answer, from 1.
        is_item: the line is a list item.
    """

    number: int
    text: str
    kind: SentenceKind
    claims: tuple[Claim, ...] = field(default=())
    line: int = 0
    is_item: bool = False

    @property
    def citations(self) -> tuple[int, ...]:
        """All numbers that the sentence cites itself."""
        return tuple(c for claim in self.claims if not claim.inherited for c in claim.citations)


def without_citations(text: str) -> str:
    """``text`` with every citation replaced by a space."""
    return CITATION.sub(" ", text)


def split_answer(text: str, code: str) -> tuple[Sentence, ...]:
    """The sentences of an answer.

    A citation after the full stop belongs to the sentence before it; headings, table heads and
    lead-ins that end in a colon carry no claim of their own and need no citation.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    sentences: list[Sentence] = []
    passed_on: tuple[int, ...] = ()
    for index, line in enumerate(lines):
        if _TABLE_RULE.match(line):
            continue
        following = lines[index + 1] if index + 1 < len(lines) else ""
        is_item = bool(_BULLET.match(line))
        if not is_item:
            passed_on = ()
        parts = split_sentences(_BULLET.sub("", line), code)
        for position, part in enumerate(parts):
            is_last = position == len(parts) - 1
            number = len(sentences) + 1
            if _is_lead_in(part, line, following, is_last=is_last):
                sentences.append(Sentence(number, part, "lead_in", line=index + 1))
                if following and _BULLET.match(following):
                    passed_on = cited_numbers(part)
                continue
            claims = tuple(claims_of(part))
            if is_item and passed_on and not any(claim.citations for claim in claims):
                claims = tuple(Claim(claim.text, passed_on, True) for claim in claims)
            sentences.append(Sentence(number, part, "statement", claims, index + 1, is_item))
    return tuple(sentences)


def _is_lead_in(part: str, line: str, following: str, *, is_last: bool) -> bool:
    if not re.search(r"\w", without_citations(part)):
        return True
    if _HEADING.match(line):
        return True
    if line.lstrip().startswith("|"):
        return bool(following and _TABLE_RULE.match(following) and "-" in following)
    bare = without_citations(part).strip().rstrip("*_ ")
    return is_last and bare.endswith((":", "：")) and bool(following)


def split_sentences(line: str, code: str) -> list[str]:
    """The sentences of one line, each with the citations that belong to it."""
    pieces: list[str] = []
    for chunk in _chunks(line):
        pieces.extend(_split_chunk(chunk, code))
    sentences: list[str] = []
    for piece in pieces:
        leading = _LEADING_CITATIONS.match(piece)
        if sentences and leading:
            sentences[-1] = f"{sentences[-1].rstrip()} {leading.group().strip()}"
            piece = piece[leading.end() :]
        if not piece.strip():
            continue
        if sentences and _continues(sentences[-1], piece, code):
            sentences[-1] = f"{sentences[-1].rstrip()} {piece.strip()}"
        else:
            sentences.append(piece.strip())
    return sentences


def _continues(before: str, piece: str, code: str) -> bool:
    start = piece.lstrip()[:1]
    if not re.search(r"\w", piece) or not _ENDED.search(before):
        return True  # a splitter may take "'s" for a quote and cut in mid-sentence
    if start.islower() or _SHORT_FORM_END.search(before):
        return True
    return code in ("de", "nl") and bool(_ORDINAL_END.search(before))


def _chunks(line: str) -> Iterator[str]:
    start = 0
    while len(line) - start > _PIECE:
        stops = [m.end() for m in _CUT.finditer(line, start + 1, start + _PIECE)]
        space = line.rfind(" ", start + 1, start + _PIECE)
        cut = stops[-1] if stops else space if space > start else start + _PIECE
        yield line[start:cut]
        start = cut
    yield line[start:]


def _split_chunk(chunk: str, code: str) -> list[str]:
    if not _INNER_STOP.search(chunk):
        return [chunk]
    language = LANGUAGES.get(code)
    pieces: list[str] = _segmenter(language.splitter if language else "en").segment(chunk)
    if _letters("".join(pieces)) != _letters(chunk):  # pysbd loses text around some quotes
        return _FALLBACK_STOP.split(chunk)
    return pieces


def _letters(text: str) -> str:
    return "".join(text.split())


@lru_cache(maxsize=16)
def _segmenter(code: str) -> pysbd.Segmenter:
    return pysbd.Segmenter(language=code, clean=False)


def cited_numbers(text: str) -> tuple[int, ...]:
    """The numbers cited anywhere in ``text``, in order, each once; ``[1-3]`` is 1, 2 and 3."""
    numbers: dict[int, None] = {}
    for citation in CITATION.finditer(text):
        for first, last in _RANGE.findall(citation.group()):
            low, high = int(first), int(last or first)
            is_range = 0 <= high - low <= _WIDEST_RANGE
            numbers.update(dict.fromkeys(range(low, high + 1) if is_range else (low, high)))
    return tuple(numbers)


def claims_of(sentence: str) -> Iterator[Claim]:
    """Claims of a sentence; words after the last citation inherit it."""
    start = 0
    pending: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    for group in _GROUP.finditer(sentence):
        words = sentence[start : group.start()]
        start = group.end()
        cited = cited_numbers(group.group())
        if _NAMING.match(words) and not last:  # "According to [2], ..." cites for what follows
            pending += cited
            continue
        if not re.search(r"\w", words):
            pending += cited
            continue
        last = tuple(dict.fromkeys(pending + cited))
        pending = ()
        yield Claim(_trim(words), last)
    rest = sentence[start:]
    if re.search(r"\w", rest):
        if pending:
            yield Claim(_trim(rest), pending)
        else:
            yield Claim(_trim(rest), last, inherited=bool(last))


def _trim(words: str) -> str:
    return words.strip(" \t,;.:|*")
