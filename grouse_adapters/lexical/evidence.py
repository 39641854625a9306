"""What a statement is compared with: the references in segments, found by the words they share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Final

from grouse_adapters.lexical.facts import Quantity, quantities
from grouse_adapters.lexical.languages import LANGUAGES, word_set
from grouse_adapters.lexical.names import proper_names
from grouse_adapters.lexical.text import Token, tokens

_SEGMENT_END: Final = re.compile(r"(?<=[.!?;。！？])\s+|\n+|(?<=[。！？])")
_CLAUSE_END: Final = re.compile(r"[,;:.!?()\n–—|\"“”«»]")
_CONJUNCTIONS: Final = word_set(
    "and but while whereas although though et mais tandis und aber wahrend y pero mientras ma "
    "mentre mas enquanto maar terwijl"
)
_ALMOST: Final = word_set("almost virtually practically next presque fast casi quasi quase bijna")
_ONLY_COMPARED: Final = word_set(
    "yet encore ancora todavia later earlier sooner more less fewer longer only unless until than "
    "exceed exceeds before after plus moins avant seulement que mehr weniger spater nur mas menos "
    "solo piu meno meer minder later mais"
)
_DENIALS_CANCEL: Final = frozenset({"en", "de", "nl"})
_REACH: Final = 8  # words that a negation may reach
_LONGEST_SEGMENT: Final = 800  # characters
_MOST_SEGMENTS: Final = 3000  # in all references of a sample; beyond, neighbours are joined
_TOP: Final = 3  # a statement may sum up this many segments of a passage
_COMMON_SHARE: Final = 0.6  # of the references: such words name the topic of all of them
_COMMON_WEIGHT: Final = 0.4
_MOST_PLACES: Final = 1000  # a word in more segments than this says nothing about any of them


@dataclass(frozen=True)
class Clause:
    """A stretch without inner punctuation: where a negation or a degree word ends its reach.

    Attributes:
        words: all its words.
        stems: stems of its content words.
        negated: stems that a negation reaches.
        is_negative: it is denied; two negations cancel out.
        is_compared: a negation in it only compares: "no later than".
        degree: 1 for a large degree, -1 for a small one, 0 for none.
        quantities: the numbers in it.
    """

    words: tuple[Token, ...]
    stems: frozenset[str]
    negated: frozenset[str]
    is_negative: bool
    is_compared: bool
    degree: int
    quantities: tuple[Quantity, ...]


class Stretch:
    """Some text with its words; the rest is worked out when it is asked for."""

    def __init__(self, text: str, code: str) -> None:
        self.text = text
        self.code = code
        self.words: tuple[Token, ...] = tuple(tokens(text, code))
        self.stems: frozenset[str] = frozenset(w.stem for w in self.words if w.content)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return quantities(self.text, self.words, self.code)

    @cached_property
    def features(self) -> frozenset[str]:
        """Content stems, quantities and small degrees, which are worded in many ways."""
        found = set(self.stems)
        found.update(f"#{q.dimension}{q.value:.4g}" for q in self.quantities if not q.implied)
        if any(clause.degree < 0 for clause in self.clauses):
            found.add("#small")
        return frozenset(found)

    @cached_property
    def names(self) -> tuple[tuple[Token, ...], ...]:
        return proper_names(self.text, self.words, self.code)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        groups: list[list[Token]] = [[]]
        end = 0
        for word in self.words:
            if groups[-1] and (
                word.plain in _CONJUNCTIONS or _CLAUSE_END.search(self.text, end, word.start)
            ):
                groups.append([])
            groups[-1].append(word)
            end = word.end
        rest = list(self.quantities)[::-1]
        found: list[Clause] = []
        for group in filter(None, groups):
            own: list[Quantity] = []
            while rest and rest[-1].start < group[-1].end:
                own.append(rest.pop())
            found.append(_clause(self.text, group, self.code, tuple(own)))
        return tuple(found)


def _clause(text: str, words: Sequence[Token], code: str, found: tuple[Quantity, ...]) -> Clause:
    language = LANGUAGES.get(code)
    stems = frozenset(word.stem for word in words if word.content)
    if language is None:
        return Clause(tuple(words), stems, frozenset(), False, False, 0, found)
    negated: set[str] = set()
    is_negative = is_small = is_compared = False
    for index, word in enumerate(words):
        if word.plain not in language.negations:
            continue
        around = [w.plain for w in words[max(0, index - 3) : index + 3]]
        if any(w.plain in _ALMOST for w in words[max(0, index - 2) : index]):
            is_small = True  # "almost no", "next to nothing"
            continue
        later = words[index + 1].plain[:1] if index + 1 < len(words) else ""
        unreal = around[: min(index, 3)][-2:] == ["were", "it"]  # "were it not for"
        if later.isdigit() or unreal or not _ONLY_COMPARED.isdisjoint(around):
            is_compared = True  # "no later than", "not more than"
            continue
        # "nobody who had not passed" denies twice; "ne ... pas", "no ... nunca" deny once.
        is_negative = not is_negative if code in _DENIALS_CANCEL else True
        reached = [w.stem for w in words[index + 1 : index + _REACH] if w.content][:2]
        if language.negates_backwards:
            reached += [w.stem for w in words[max(0, index - _REACH) : index] if w.content][-2:]
        negated.update(reached)
    if any(w.plain == "free" and text[w.start - 1 : w.start] == "-" for w in words):
        is_negative = not is_negative  # "error-free" denies errors, "not error-free" states them
        negated.clear()
    plains = {word.plain for word in words}
    degree = -1 if is_small or plains & language.low else 1 if plains & language.high else 0
    if degree == 1 and is_negative:
        degree = -1
    return Clause(tuple(words), stems, frozenset(negated), is_negative, is_compared, degree, found)


@dataclass(frozen=True, slots=True)
class Match:
    """How much of a statement one reference holds: ``score`` 0-1, and where."""

    score: float
    segments: tuple[int, ...] = ()


_NO_MATCH: Final = Match(0.0)


class Evidence:
    """The references of one sample; reference numbers count from 1."""

    def __init__(self, references: Sequence[str], code: str) -> None:
        self.count = len(references)
        self.segments: list[Stretch] = []
        self.owner: list[int] = []
        share = max(1, _MOST_SEGMENTS // max(1, len(references)))
        for number, reference in enumerate(references, start=1):
            for part in _segments(reference, share):
                self.segments.append(Stretch(part, code))
                self.owner.append(number)
        self._places: dict[str, list[int]] = defaultdict(list)
        spread: dict[str, set[int]] = defaultdict(set)
        for index, segment in enumerate(self.segments):
            for stem in segment.stems:
                self._places[stem].append(index)
            for feature in segment.features:
                spread[feature].add(self.owner[index])
        self._spread = {feature: len(owners) for feature, owners in spread.items()}
        limit = _COMMON_SHARE * self.count
        self._common = {
            stem for stem, owners in spread.items() if self.count >= 3 and len(owners) > limit
        }
        self._quantities: dict[int, tuple[Quantity, ...]] = {}
        self._rarity: dict[str, float] = {}

    def weight(self, stem: str) -> float:
        """How much a shared word says: less when most references have it."""
        return _COMMON_WEIGHT if stem in self._common else 1.0

    def rarity(self, feature: str) -> float:
        """How much a word or number tells references apart: 1 in one of them, near 0 in all."""
        if self.count < 2:
            return 1.0
        known = self._rarity.get(feature)
        if known is None:
            spread = self._spread.get(feature, 1)
            known = log((self.count + 1) / (spread + 0.5)) / log((self.count + 1) / 1.5)
            self._rarity[feature] = known
        return known

    def mass(self, features: Iterable[str]) -> float:
        """The rarity of some features together: about the number of telling words."""
        return sum(map(self.rarity, sorted(features)))

    def overlap(self, stems: frozenset[str], others: Iterable[frozenset[str]]) -> float:
        """Weighted share (0-1) of ``stems`` found in any of ``others``."""
        total = sum(map(self.weight, stems))
        if not total:
            return 0.0
        found = stems & frozenset().union(*others)
        return sum(map(self.weight, found)) / total

    def matches(self, stems: frozenset[str]) -> Mapping[int, Match]:
        """Per reference that shares a word: the share of ``stems`` in its best segments."""
        shared: dict[int, float] = defaultdict(float)
        for stem in sorted(stems):
            places = self._places.get(stem, ())
            if len(places) <= _MOST_PLACES:
                for place in places:
                    shared[place] += self.weight(stem)
        per_reference: dict[int, list[int]] = defaultdict(list)
        for place in sorted(shared, key=lambda index: (-shared[index], index)):
            best = per_reference[self.owner[place]]
            if len(best) < _TOP:
                best.append(place)
        return {
            number: Match(
                self.overlap(stems, [self.segments[i].stems for i in places]), tuple(places)
            )
            for number, places in per_reference.items()
        }

    def of(self, number: int) -> list[Stretch]:
        """The segments of one reference."""
        return [s for s, owner in zip(self.segments, self.owner, strict=True) if owner == number]

    def quantities(self, number: int) -> tuple[Quantity, ...]:
        """All quantities of one reference."""
        if number not in self._quantities:
            every = (q for s in self.of(number) for q in s.quantities)
            unlike = {(q.value, q.bare, q.dimension, q.noun, q.hedged): q for q in every}
            self._quantities[number] = tuple(unlike.values())
        return self._quantities[number]

    @cached_property
    def vocabulary(self) -> Mapping[int, frozenset[str]]:
        """The words of each reference in plain form, numbers left out."""
        words: dict[int, set[str]] = {number: set() for number in range(1, self.count + 1)}
        for segment, owner in zip(self.segments, self.owner, strict=True):
            words[owner].update(word.plain for word in segment.words)
        return {number: frozenset(found) for number, found in words.items()}

    @cached_property
    def features(self) -> Mapping[int, frozenset[str]]:
        """The words and quantities of each reference."""
        found: dict[int, set[str]] = {number: set() for number in range(1, self.count + 1)}
        for segment, owner in zip(self.segments, self.owner, strict=True):
            found[owner].update(segment.features)
        return {number: frozenset(features) for number, features in found.items()}

    @cached_property
    def every_stem(self) -> Mapping[int, frozenset[str]]:
        """The stems of all words of each reference."""
        stems: dict[int, set[str]] = {number: set() for number in range(1, self.count + 1)}
        for segment, owner in zip(self.segments, self.owner, strict=True):
            stems[owner].update(word.stem for word in segment.words)
        return {number: frozenset(found) for number, found in stems.items()}

    @cached_property
    def topic(self) -> Mapping[int, frozenset[str]]:
        """The content stems of each reference."""
        stems: dict[int, set[str]] = {number: set() for number in range(1, self.count + 1)}
        for segment, owner in zip(self.segments, self.owner, strict=True):
            stems[owner].update(segment.stems)
        return {number: frozenset(found) for number, found in stems.items()}


def best_match(matches: Mapping[int, Match], numbers: Iterable[int]) -> Match:
    """The best of the matches with the given references."""
    return max(
        (matches.get(n, _NO_MATCH) for n in numbers), key=lambda m: m.score, default=_NO_MATCH
    )


def _segments(text: str, most: int) -> list[str]:
    parts: list[str] = []
    for part in _SEGMENT_END.split(text):
        for start in range(0, len(part), _LONGEST_SEGMENT):
            piece = part[start : start + _LONGEST_SEGMENT]
            if piece.strip():
                parts.append(piece)
    if len(parts) <= most:
        return parts
    size = -(-len(parts) // most)
    return [" ".join(parts[i : i + size]) for i in range(0, len(parts), size)]
