"""What changed places: numbers, names, directions, roles and the order of two events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from grouse_adapters.lexical.evidence import Clause, Stretch
from grouse_adapters.lexical.facts import Quantity, is_supported
from grouse_adapters.lexical.languages import word_set
from grouse_adapters.lexical.names import TITLES
from grouse_adapters.lexical.text import Token

_NEAR: Final = 7  # words on either side that a number or name is read with
_MOST_SLOTS: Final = 12  # of one statement
_FROM_TO: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "en": (word_set("from"), word_set("to into towards toward")),
    "fr": (word_set("de du des d depuis"), word_set("a au aux vers jusqu")),
    "de": (word_set("von vom aus"), word_set("nach zu zum zur bis")),
}
_WORDED: Final = frozenset({"share", "times", "clock"})  # said in other numbers as well
_APART: Final = word_set("and or but while whereas against versus et ou mais contre und oder aber")
_BOUNDARY: Final = re.compile(r"[,;:.!?()\n–—|]")
_BY: Final = word_set("by par von vom durch por da dal dalla pelo pela door")
_BEFORE: Final[dict[str, frozenset[str]]] = {"en": word_set("before"), "fr": word_set("avant")}
_AFTER: Final[dict[str, frozenset[str]]] = {
    "en": word_set("after once"),
    "fr": word_set("apres"),
}
_THEN: Final = word_set("then afterwards subsequently thereafter puis ensuite dann danach")
_AUXILIARY: Final = word_set("is are was were does did do has have had can may est sont ist sind")


class _Slot(NamedTuple):
    key: str
    shown: str
    context: frozenset[str]


def exchanged(claim: Stretch, told: Stretch, evidence: Sequence[Stretch]) -> str:
    """What the claim has the other way round than the statement it retells, or its source.

    Args:
        claim: what is said.
        told: the expected statement nearest to it, or the segment of its source.
        evidence: all that it may rest on; what it also has the claim's way round is let pass.
    """
    for slots in (_number_slots, _name_slots):
        problem = _crossed(list(slots(claim)), list(slots(told)))
        if problem:
            return problem
    directions, ways = set(_ways(claim)), {w for e in (told, *evidence) for w in _ways(e)}
    for start, end in sorted(directions):
        if (end, start) in ways and (start, end) not in ways:
            return f"which goes from '{end}' to '{start}', not the other way"
    mine = {role for clause in claim.clauses for role in roles(clause)}
    theirs = {role for e in (told, *evidence) for clause in e.clauses for role in roles(clause)}
    for first, verb, second in sorted(mine):
        if (second, verb, first) in theirs and (first, verb, second) not in theirs:
            return f"which has '{first}' and '{second}' the other way round"
    return _reordered(claim, (told,))


def replaced(claim: Stretch, told: Stretch) -> tuple[Quantity, Quantity] | None:
    """A number of the claim that stands in place of another of the statement it retells."""
    own = [q for q in claim.quantities if not q.implied]
    stated = [q for q in told.quantities if not q.implied]
    if len(own) > _MOST_SLOTS or len(stated) > _MOST_SLOTS:
        return None
    new = [q for q in own if not is_supported(q, stated)]
    lost = [q for q in stated if not is_supported(q, own)]
    if len(new) != 1 or len(lost) != 1 or new[0].ordinal or len(own) > len(stated):
        return None
    mine, theirs = new[0], lost[0]
    if mine.hedged or theirs.hedged or theirs.ordinal or mine.dimension != theirs.dimension:
        return None
    if mine.dimension:
        return None if mine.dimension in _WORDED else (mine, theirs)
    alike = (mine.bare >= 1000) == (theirs.bare >= 1000) and min(mine.bare, theirs.bare) > 12
    same_noun = bool(mine.noun) and mine.noun == theirs.noun
    return (mine, theirs) if alike or same_noun else None


def _number_slots(stretch: Stretch) -> Iterator[_Slot]:
    found = [q for q in stretch.quantities if not q.implied][:_MOST_SLOTS]
    ends = [q.start for q in found]
    stops = {q.start + len(q.shown) + 1 for q in found}
    counted = {w.stem for w in stretch.words if w.start in stops}  # "florins" goes with every sum
    for quantity in found:
        key = f"{quantity.dimension}{quantity.value:.4g}"
        inside = (quantity.start, quantity.start + len(quantity.shown))
        yield _Slot(key, quantity.shown, _context(stretch, inside, ends) - counted)


def _name_slots(stretch: Stretch) -> Iterator[_Slot]:
    runs = stretch.names[:_MOST_SLOTS]
    ends = [run[0].start for run in runs]
    for run in runs:
        inside = (run[0].start, run[-1].end)
        yield _Slot(run[-1].plain, run[-1].text, _context(stretch, inside, ends))


def _context(stretch: Stretch, inside: tuple[int, int], others: Sequence[int]) -> frozenset[str]:
    """Content stems around a place, up to inner punctuation or the next place of its kind."""
    before = [w for w in stretch.words if w.end <= inside[0]][-_NEAR:]
    after = [w for w in stretch.words if w.start >= inside[1]][:_NEAR]
    found: set[str] = set()
    found.update(_until(stretch.text, reversed(before), inside[0], others, forward=False))
    found.update(_until(stretch.text, iter(after), inside[1], others, forward=True))
    return frozenset(found)


def _until(
    text: str, words: Iterator[Token], edge: int, others: Sequence[int], *, forward: bool
) -> Iterator[str]:
    for word in words:
        gap = text[edge : word.start] if forward else text[word.end : edge]
        if (
            _BOUNDARY.search(gap)
            or word.plain in _APART
            or any(word.start <= o < word.end for o in others)
        ):
            return
        edge = word.end if forward else word.start
        if word.content:
            yield word.stem


def _crossed(mine: Sequence[_Slot], theirs: Sequence[_Slot]) -> str:
    """Two numbers or names whose surroundings changed places."""
    stated = {slot.key: slot.context for slot in theirs}
    shared = [slot for slot in mine if slot.key in stated]
    for one, other in combinations(shared, 2):
        if one.key == other.key:
            continue
        first, second = one.context - other.context, other.context - one.context
        there = stated[one.key], stated[other.key]
        own, opposite = there[0] - there[1], there[1] - there[0]
        crossed = len(first & opposite), len(second & own)
        if all(crossed) and sum(crossed) > len(first & own) + len(second & opposite):
            return f"which has '{one.shown}' and '{other.shown}' the other way round"
    return ""


def _ways(stretch: Stretch) -> Iterator[tuple[str, str]]:
    """Start and end of each "from X to Y"."""
    pair = _FROM_TO.get(stretch.code)
    if pair is None:
        return
    start = ""
    waiting = 0
    previous: Token | None = None
    for word in stretch.words:
        if previous is not None and _BOUNDARY.search(stretch.text[previous.end : word.start]):
            start = ""
        if word.plain in pair[0]:
            waiting, start = 1, ""
        elif word.plain in pair[1] and start:
            waiting = 2
        elif word.content and waiting == 1:
            start, waiting = word.stem, 0
        elif word.content and waiting == 2:
            if word.stem != start:
                yield start, word.stem
            start, waiting = "", 0
        previous = word


def roles(clause: Clause) -> set[tuple[str, str, str]]:
    """Doer, deed, done to: two names and the first word between them, active or passive."""
    runs: list[tuple[int, int]] = []
    for index, word in enumerate(clause.words):
        if not word.text[:1].isupper() or not word.content or word.plain in TITLES:
            continue
        if runs and runs[-1][1] == index:
            runs[-1] = (runs[-1][0], index + 1)
        else:
            runs.append((index, index + 1))
    found: set[tuple[str, str, str]] = set()
    for (_, end), (start, stop) in pairwise(runs):
        between = clause.words[end:start]
        deed = next((w.stem for w in between if w.content and w.plain not in TITLES), "")
        first, second = clause.words[end - 1].plain, clause.words[stop - 1].plain
        if not deed or len(between) > 7 or first == second:
            continue
        passive = any(w.plain in _BY for w in between[-3:])
        found.add((second, deed, first) if passive else (first, deed, second))
    return found


def _reordered(claim: Stretch, evidence: Sequence[Stretch]) -> str:
    """Two events in the opposite order."""
    sequences = [pair for e in evidence for pair in _sequence(e)]
    for first, second in _sequence(claim):
        against = agree = False
        for earlier, later in sequences:
            straight = len(first & earlier) + len(second & later)
            turned = min(len(first & later), len(second & earlier))
            against |= turned >= 1 and not straight
            agree |= straight >= 2
        if against and not agree:
            return "which has the order of events the other way round"
    return ""


def _sequence(stretch: Stretch) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """What comes first and what second, of each sentence part that says so."""
    before = _BEFORE.get(stretch.code, frozenset())
    after = _AFTER.get(stretch.code, frozenset())
    words = stretch.words[:80]
    for index, word in enumerate(words):
        if word.plain not in before | after | _THEN:
            continue
        left = frozenset(w.stem for w in words[max(0, index - 8) : index] if w.content)
        following = words[index + 1 : index + 9]
        if word.plain in _THEN:  # of a row of steps, the two around it
            steps = [w.stem for w in words[max(0, index - 8) : index] if w.content][-1:]
            steps += [w.stem for w in following if w.content][:1]
            if len(set(steps)) == 2:
                yield frozenset(steps[:1]), frozenset(steps[1:])
            continue
        if left:
            right = frozenset(w.stem for w in following if w.content)
            first, second = (right, left) if word.plain in after else (left, right)
        else:
            stop = next(
                (
                    i
                    for i, w in enumerate(following)
                    if w.plain in _AUXILIARY
                    or (i and "," in stretch.text[following[i - 1].end : w.start])
                ),
                0,
            )
            inner = frozenset(w.stem for w in following[:stop] if w.content)
            outer = frozenset(w.stem for w in following[stop:] if w.content)
            first, second = (inner, outer) if word.plain in after else (outer, inner)
        if first and second:
            yield first - second, second - first
