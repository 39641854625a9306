"""How two wordings of one thing contradict each other: denial, degree, opposites, roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grouse_adapters.lexical.evidence import Clause, Stretch
from grouse_adapters.lexical.facts import Quantity, is_supported
from grouse_adapters.lexical.languages import LANGUAGES, word_set
from grouse_adapters.lexical.opposites import excluded

_ALIGNED: Final = 0.4  # share of a clause's words that makes it say something about the same thing
_LIKE: Final = 0.6  # the same where a negation or a number is compared

_MOST_LIMITS: Final = 20  # of one statement
_MOST_CLAUSES: Final = 60  # of one statement; beyond, it is a text without full stops
_SAID_OF: Final = 2  # of them
_AROUND: Final = 4  # words on either side of an opposite, one of which both statements share

# Words that deny without a negation, or that a negation stands in for: with one of them on either
# side, "no charge" and "free of charge" may agree, so nothing is concluded from a negation.
_DENYING: Final = word_set(
    "free fail fails failed lack lacks lacking except unless only refuse refuses refused "
    "forbid forbids forbidden ban bans banned prohibit prohibited prevent prevents prevented "
    "avoid avoids avoided stop stops stopped cease ceases ceased instead rather deny denies "
    "denied exclude excludes excluded miss misses missing reject rejects rejected absent absence "
    "whether otherwise until before spare spared spares exempt exempts exempted waive waived "
    "less least few fewer little hardly barely rarely seldom scarcely would could "
    "unable impossible lest even longer still yet just merely anyone anything any "
    "sauf seulement seul seule seuls seules interdit interdite "
    "interdits defendu empeche empechent evite eviter evitent manque manquent refuse refusent "
    "cesse cessent plutot lieu avant jusqu si faute absence exempt dispense gratuit "
    "gratuite ausser nur verboten verhindert statt bevor bis salvo excepto solo "
    "prohibido evita impide tranne soltanto vietato exceto apenas proibido "
    "behalve alleen verboden"
)
_PREFIXES: Final = ("un", "in", "im", "ir", "il", "dis")


def clash(claim: Stretch, evidence: Sequence[Stretch], told: Stretch | None = None) -> str:
    """A negation, degree, opposite or exchange of roles that sets the claim against the evidence.

    The clauses nearest in wording decide, and all of them must disagree: a passage that says a
    thing both ways supports either.

    Args:
        claim: what is said.
        evidence: the stretches it may rest on.
        told: the expected statement that it retells, if one does.
    """
    said = frozenset(word.plain for word in claim.words)
    for own in claim.clauses[:_MOST_CLAUSES]:
        if len(own.stems) < 2:
            continue
        near = _nearest(own, evidence)
        stated = _exchanged_quantity(claim, own, near, told)
        if stated:
            return stated
        problems = [_clash(own, other, claim.code, said) for other in near]
        if problems and all(problems):
            return problems[0]
    return ""


def other_bound(claim: Sequence[Quantity], evidence: Sequence[Quantity]) -> str:
    """A limit that the evidence sets the other way: "at least" for "at most"."""
    limits = [quantity for quantity in claim if quantity.bound][:_MOST_LIMITS]
    for quantity in limits:
        own = {q.bound for q in limits if is_supported(quantity, [q])}
        if -quantity.bound in own:  # "under three ..., from three on ..."
            continue
        same = [
            q
            for q in evidence
            if q.bound and q.dimension == quantity.dimension and not q.ordinal
            if is_supported(quantity, [q])
        ]
        if same and all(q.bound == -quantity.bound for q in same):
            least, most = "a lower limit", "an upper limit"
            said, stated = (least, most) if quantity.bound > 0 else (most, least)
            return f"where '{same[0].shown}' is {stated}, not {said}"
    return ""


def opposite(claim: Stretch, told: Stretch, known: frozenset[str]) -> str:
    """A word in whose place the statement told has one that excludes it.

    Args:
        claim: what is said.
        told: the expected statement, or the segment, that it retells.
        known: stems of all that the claim rests on; a word that stands there proves nothing.
    """
    if any(clause.is_negative or clause.is_compared for s in (claim, told) for clause in s.clauses):
        return ""
    others = excluded(claim.code)
    mine = {word.stem: index for index, word in enumerate(claim.words)}
    theirs = {word.stem: index for index, word in enumerate(told.words)}
    for stem, place in mine.items():
        against = others.get(stem, frozenset()) & theirs.keys()
        if not against or stem in known or against & mine.keys():
            continue
        stated = theirs[min(against)]
        if len((_around(claim, place) & _around(told, stated)) - {stem}) >= _SAID_OF:
            return f"which says '{told.words[stated].text}', not '{claim.words[place].text}'"
    return ""


def other_degree(claim: Stretch, told: Stretch) -> str:
    """A large degree for a small one or the reverse, where each statement has only one kind."""
    mine = {clause.degree for clause in claim.clauses} - {0}
    theirs = {clause.degree for clause in told.clauses} - {0}
    if len(mine) == len(theirs) == 1 and mine != theirs:
        small = next(c for s in (claim, told) for c in s.clauses if c.degree < 0)
        said = " ".join(word.text for word in small.words)[:80]
        return f"where only one of the two says '{said}'"
    return ""


def _around(stretch: Stretch, place: int) -> set[str]:
    """Content stems near a word: what it is said of."""
    words = stretch.words[max(0, place - _AROUND) : place + _AROUND + 1]
    return {word.stem for word in words if word.content}


def _nearest(own: Clause, evidence: Sequence[Stretch]) -> list[Clause]:
    scored = [
        (len(own.stems & other.stems), other) for stretch in evidence for other in stretch.clauses
    ]
    best = max((score for score, _ in scored), default=0)
    if best < 2 or best < _ALIGNED * len(own.stems):
        return []
    return [other for score, other in scored if score >= max(2, 0.75 * best)]


def _clash(own: Clause, other: Clause, code: str, said: frozenset[str]) -> str:
    shared = own.stems & other.stems
    there = " ".join(word.text for word in other.words)[:80]
    compared = own.is_compared or other.is_compared
    if own.is_negative != other.is_negative and not (own.degree or other.degree or compared):
        reached = shared & (own.negated | other.negated)
        if (
            len(shared) >= _LIKE * max(len(own.stems), len(other.stems))
            and reached
            and not _denies(own, other, reached, said)
        ):
            return f"which says '{there}': one of the two denies it"
    if own.degree * other.degree < 0:
        return f"which says '{there}': the degree is the opposite"
    language = LANGUAGES.get(code)
    if language is None or own.is_negative or other.is_negative:
        return ""
    mine, theirs = {w.plain for w in own.words}, {w.plain for w in other.words}
    for pair in language.opposites:
        for one, stated in (pair, pair[::-1]):
            if one in mine and stated in theirs and stated not in mine and one not in theirs:
                return f"which says '{stated}', not '{one}'"
    return ""


def _denies(own: Clause, other: Clause, reached: frozenset[str], said: frozenset[str]) -> bool:
    """Whether the clause without a negation may deny in another way."""
    plain_one = other if own.is_negative else own
    words = {word.plain for word in plain_one.words}
    if (words | said) & _DENYING:
        return True
    return any(
        word.startswith(prefix) and len(word) > len(prefix) + 3
        for word in words
        for prefix in _PREFIXES
        if word[len(prefix) :][:4] and any(r.startswith(word[len(prefix) :][:4]) for r in reached)
    )


def _exchanged_quantity(
    claim: Stretch, own: Clause, near: Sequence[Clause], told: Stretch | None
) -> str:
    """A quantity that stands elsewhere, while the clause worded like the claim states another."""
    alike = [c for c in near if len(own.stems & c.stems) >= _LIKE * len(own.stems)]
    for quantity in own.quantities:
        kind = quantity.dimension
        rivals = [q for clause in alike for q in clause.quantities if q.dimension == kind]
        alone = sum(q.dimension == kind for q in own.quantities) == 1
        tells = kind or quantity.bare >= 100
        if told is not None and is_supported(quantity, told.quantities):
            continue
        if any(is_supported(rival, claim.quantities) for rival in rivals):
            continue  # the claim has both: what goes with which is for the slots to tell
        if alone and tells and rivals and not is_supported(quantity, rivals):
            return f"which says '{rivals[0].shown}', not '{quantity.shown}', of this"
    return ""
