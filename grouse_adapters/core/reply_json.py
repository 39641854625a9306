"""Finding JSON in what a model wrote, and reading it without ever completing it.

Three readers, from fast to forgiving: ``decode`` (the standard library), ``find_json`` (our own,
which reads JSON-like text in one pass and knows what the text closed and what it did not) and
``repair`` (json-repair, for quoting so broken that it has to be guessed). Only the first two are
trusted as they are: json-repair fills in what is missing, so its caller checks the outcome.

All are bounded: their work grows with the length of the text, never with its square.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

MAX_REPLY: Final = 400_000
"""Characters of the longest reply that is searched for JSON; ten times a long model reply."""
_MAX_REPAIR: Final = 32_000  # json-repair needs up to 70 microseconds a character
_MAX_REPAIR_BRACKETS: Final = 2_000
_MAX_DEPTH: Final = 64
_MAX_WORD: Final = 80

INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff"
"""Zero-width characters that models and proxies leave around JSON."""
BLANKS: Final = " \t\r\n\f\v\x85\xa0\u2028\u2029\u3000" + INVISIBLE
"""Everything that is passed over around a reply, a value or a justification."""


def well_formed(text: str) -> str:
    """``text`` with halves of surrogate pairs joined or replaced: no file can hold them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Members(dict[str, object]):
    """An object that repeats a key or that the text never closed.

    Attributes:
        pairs: all members in order, the repeated ones too.
        closed: whether the closing brace was there.
    """

    __slots__ = ("closed", "pairs")

    def __init__(self, pairs: list[tuple[str, object]], *, closed: bool) -> None:
        super().__init__(pairs)
        self.pairs = pairs
        self.closed = closed


class OpenList(list[object]):
    """A list that the text never closed."""


def is_open(value: object) -> bool:
    """Whether the text ended before ``value`` did."""
    return isinstance(value, OpenList) or (isinstance(value, Members) and not value.closed)


def members(value: dict[str, object]) -> Iterable[tuple[str, object]]:
    """All members of an object, repeated ones included."""
    return value.pairs if isinstance(value, Members) else value.items()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Members(pairs, closed=True)


class _Nothing:
    """The type of ``NOTHING``, which no JSON value can be mistaken for."""


NOTHING: Final = _Nothing()

_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, strict=False)


def decode(text: str) -> object:
    """``text`` read by the standard library, ``NOTHING`` when it is not JSON as a whole."""
    try:
        value: object = _DECODER.decode(text)
    except (ValueError, RecursionError):  # ValueError: not JSON, or an integer too long to convert
        return NOTHING
    return value


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of the text that looks like JSON.

    Attributes:
        start: index of its opening bracket.
        end: index after its last character; for a damaged piece, where the next one starts.
        value: what it holds, ``NOTHING`` when it is damaged.
    """

    start: int
    end: int
    value: object

    @property
    def damaged(self) -> bool:
        """Whether the piece could not be read."""
        return self.value is NOTHING


_START: Final = re.compile(r"\{|\[(?=\s*[{\[])")


def find_json(text: str) -> list[Piece]:
    """Every outermost object (or list of objects) in ``text``, in order.

    Comments, trailing, repeated and missing commas, single, typographic and unescaped quotes,
    bare words and Python literals are read. A piece that the text does not close keeps what was
    complete in it (see ``is_open``). Where a piece is damaged, the search goes on inside it.
    """
    pieces: list[Piece] = []
    reader = _Reader(text)
    # What is read again after damage is paid from this, so that no text costs more than linear.
    credit = 8 * len(text) + 4_000
    at = 0
    well_kept = True
    while match := _START.search(text, at):
        start = match.start()
        if pieces and pieces[-1].damaged:
            pieces[-1] = Piece(pieces[-1].start, start, NOTHING)
        if well_kept:  # prose around clean JSON is the common case, and this is six times faster
            try:
                clean, at = _DECODER.raw_decode(text, start)
            except (ValueError, RecursionError):
                well_kept = False
            else:
                pieces.append(Piece(start, at, clean))
                continue
        try:
            value = reader.read(start)
        except _DamagedError as error:
            pieces.append(Piece(start, len(text), NOTHING))
            credit -= max(reader.at - start, 400)
            if error.too_deep or credit < 0:
                break
            at = start + 1
        else:
            pieces.append(Piece(start, reader.at, value))
            at = reader.at
    return pieces


def repair(text: str) -> object:
    """What json-repair makes of ``text``, ``NOTHING`` when that would be guessing too much.

    The text must open and close the same number of brackets: json-repair would close the rest
    itself, and a reply that was cut off would pass for a whole one.
    """
    balanced = text.count("{") == text.count("}") and text.count("[") == text.count("]")
    if (
        not balanced
        or len(text) > _MAX_REPAIR
        or text.count("{") + text.count("[") > (_MAX_REPAIR_BRACKETS)
    ):
        return NOTHING
    import json_repair  # here, because nine of ten runs never need it

    try:
        value: object = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return NOTHING  # arbitrary text is beyond what json-repair promises to survive
    return value


class _DamagedError(Exception):
    def __init__(self, *, too_deep: bool = False) -> None:
        super().__init__()
        self.too_deep = too_deep


_BLANK: Final = rf"[\s{INVISIBLE}]++|//[^\n]*+|\#[^\n]*+|/\*.*?(?:\*/|\Z)"
_BLANKS: Final = re.compile(rf"(?:{_BLANK})*+", re.DOTALL)
_BLANKS_AND_COMMAS: Final = re.compile(rf"(?:{_BLANK}|[,;，；])*+", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[:：]|=>?")
_BARE_KEY: Final = re.compile(r"[^\W\d][\w-]{0,79}+")
_BARE_VALUE: Final = re.compile(r"(?:[^,:;，：；{}\[\]\"“”\n#`/]|/(?![/*]))++")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LITERALS: Final[dict[str, bool | float | None]] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": math.nan,
}

# A quote inside a value ends it only where JSON goes on after it. Else the model forgot to escape.
_GOES_ON: Final = (
    r"(?:[\s]*+(?:[,:;，：；}\]#]|//|/\*|```|\Z)|[^\S\n]*+\n\s*+[\"'“‘])"  # or the comma is missing
)
_CLOSERS: Final = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"', "‘": "‘’'", "’": "‘’'"}
_KEY_BODY: Final = {
    opener: re.compile(rf"(?:[^\\{closers}]|\\.){{0,200}}+", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}
_VALUE_BODY: Final = {
    opener: re.compile(rf"(?:[^\\{closers}]|\\.|[{closers}](?!{_GOES_ON}))*+", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}


class _Reader:
    """Reads one bracketed value of a text; ``cut`` tells whether the text ended inside it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.cut = False

    def read(self, start: int) -> object:
        self.at = start
        self.cut = False
        return self._value(0)

    def _value(self, depth: int) -> object:
        if depth > _MAX_DEPTH:
            raise _DamagedError(too_deep=True)
        char = self._text[self.at]
        if char == "{":
            return self._members(depth)
        if char == "[":
            return self._items(depth)
        if char in _VALUE_BODY:
            return self._quoted(_VALUE_BODY)
        return self._bare_value()

    def _members(self, depth: int) -> dict[str, object]:
        self.at += 1
        pairs: list[tuple[str, object]] = []
        while not self._ends(_BLANKS_AND_COMMAS):
            if self._text[self.at] == "}":
                self.at += 1
                return _object(pairs)
            key = self._key()
            if not isinstance(key, str) or self._ends(_BLANKS):
                break
            separator = _SEPARATOR.match(self._text, self.at)
            if separator is None:
                raise _DamagedError
            self.at = separator.end()
            if self._ends(_BLANKS):
                break
            value = self._value(depth + 1)
            if value is not NOTHING:
                pairs.append((key, value))
            self._expect_next("}")
        self.cut = True
        return Members(pairs, closed=False)

    def _items(self, depth: int) -> list[object]:
        self.at += 1
        items: list[object] = []
        while not self._ends(_BLANKS_AND_COMMAS):
            if self._text[self.at] == "]":
                self.at += 1
                return items
            value = self._value(depth + 1)
            if value is not NOTHING:
                items.append(value)
            self._expect_next("]")
        self.cut = True
        return OpenList(items)

    def _key(self) -> str | _Nothing:
        if self._text[self.at] in _KEY_BODY:
            return self._quoted(_KEY_BODY)
        match = _BARE_KEY.match(self._text, self.at)
        if match is None:
            raise _DamagedError
        self.at = match.end()
        return match[0]

    def _quoted(self, bodies: dict[str, re.Pattern[str]]) -> str | _Nothing:
        opener = self._text[self.at]
        body = bodies[opener].match(self._text, self.at + 1)
        end = body.end() if body else self.at + 1
        rest = self._text[end : end + 2]
        if rest in ("", "\\"):  # a lone backslash: the text ended inside an escape
            self.at = len(self._text)
            self.cut = True
            return NOTHING
        if rest[0] not in _CLOSERS[opener]:
            raise _DamagedError
        content = self._text[self.at + 1 : end]
        self.at = end + 1
        return _ESCAPE.sub(_unescaped, content) if "\\" in content else content

    def _bare_value(self) -> object:
        match = _BARE_VALUE.match(self._text, self.at)
        word = match[0].strip() if match else ""
        if match is None or not word or len(word) > _MAX_WORD:
            raise _DamagedError
        self.at = match.end()
        # Only what follows shows that a word or number is whole: `4` may have been about to
        # become `4.5`.
        if self._ended():
            self.cut = True
            return NOTHING
        return _LITERALS.get(word.lower(), word)

    def _expect_next(self, closer: Literal["}", "]"]) -> None:
        if self.cut or self._ends(_BLANKS):
            return
        char = self._text[self.at]
        if char != closer and char not in ",;，；" and char not in _CLOSERS:
            raise _DamagedError

    def _ends(self, blanks: re.Pattern[str]) -> bool:
        """Passes over blanks; whether the text ends there."""
        if self.cut:
            return True
        blank = blanks.match(self._text, self.at)
        self.at = blank.end() if blank else self.at
        return self._ended()

    def _ended(self) -> bool:
        return self.at >= len(self._text) or self._text.startswith("```", self.at)


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is not None:
        return chr(int(match[1], 16))
    char = match[2]
    if char in _ESCAPED:
        return _ESCAPED[char]
    # Not an escape of JSON's own: `\d` or `\[` is what the model meant to write.
    return char if char in "\"'\\/" else match[0]


_THINKING: Final = re.compile(
    r"[<\[](/?)(?:think|thinking|thought|reasoning|reflection|scratchpad)[>\]]", re.IGNORECASE
)


def without_thinking(text: str) -> tuple[str, bool]:
    """``text`` without the model's thinking, and whether the text ended inside such a block.

    A closing tag without its opening one (some servers eat it) ends a block that began with the
    text. An opening tag after a brace, in the middle of a line, is taken for quoted text.
    """
    kept: list[str] = []
    at = 0
    inside = False
    brace = text.find("{")
    for tag in _THINKING.finditer(text):
        start = tag.start()
        if tag[1]:
            kept = kept if inside else []
            inside = False
            at = tag.end()
            if 0 <= brace < at:
                brace = text.find("{", at)
        elif not inside and (not 0 <= brace < start or _opens_line(text, start)):
            kept.append(text[at:start])
            inside = True
    if not inside:
        kept.append(text[at:])
    return "".join(kept), inside


def _opens_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "\n>]"
