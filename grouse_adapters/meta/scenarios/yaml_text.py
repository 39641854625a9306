"""YAML as text with line numbers: every value is what was typed, so ``no`` and ``1`` stay so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from grouse_adapters.meta.scenarios.problems import Place

_NOTHING: Final = frozenset({"", "~", "null", "Null", "NULL"})
_QUOTE: Final = "put the text in quotes, or on the next line after '>-'"
_HINTS: Final = (
    ("\\t", "it is indented with a tab: use spaces"),
    ("tab character", "it is indented with a tab: use spaces"),
    ("mapping values", f"a text with ': ' in it is read as a key: {_QUOTE}"),
    ("undefined alias", f"a text that begins with * is read as an alias: {_QUOTE}"),
    ("expected alphabetic", f"a text that begins with * or & is read as an alias: {_QUOTE}"),
    ("single document", "'---' begins a second document: write one scenario per file"),
    ("expected <block end>", f"check the indentation; if a text begins with [, {{ or ', {_QUOTE}"),
    ("cannot start any token", f"a text cannot begin with this character: {_QUOTE}"),
    ("quoted scalar", "a quotation mark is opened and not closed: close it"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a document cannot be used: a predicate of ``place``; ``line`` counts from 1."""

    line: int | None
    message: str
    place: Place = ()


@dataclass(slots=True)
class YamlText:
    """A document: mappings, lists, texts and None, and where they stand.

    Attributes:
        value: the document; None when it is empty.
        lines: 1-based line of each key and list item.
        cut: texts after which a comment begins on their line.
        faults: why the document cannot be used; empty when it can.
    """

    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    cut: set[Place] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)


def read_yaml(text: str) -> YamlText:
    """Reads one document; trouble is found in ``faults``, and nothing is raised."""
    document = YamlText()
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is not None:
            document.value = _Reader(document, text).value(root, ())
    except yaml.MarkedYAMLError as error:
        document.faults.append(_fault(error))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        document.faults.append(
            Fault(line, f"holds the control character #{error.character:04x}: take it out.")
        )
    except ValueError:  # "\U00110000": PyYAML makes a character of it without looking
        document.faults.append(Fault(None, "escapes a character that does not exist (\\U...)."))
    except RecursionError:
        document.faults.append(Fault(None, "is nested too deeply to be a scenario."))
    return document


class _Reader:
    """Turns nodes into values and notes where they stood."""

    def __init__(self, document: YamlText, text: str) -> None:
        self._document = document
        self._text = text
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, place: Place) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        # A node met twice is an alias: a few of them nested can stand for more than fits in memory.
        if id(node) in self._seen:
            self._fault(node, "is an alias (*): write the text out.", place)
            return None
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*place, index)) for index, item in enumerate(node.value)]
        return dict(self._pairs(node, place))

    def _pairs(self, node: yaml.Node, place: Place) -> Iterator[tuple[str, Any]]:
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._fault(key, "holds a key that is not text: write 'key: value'.", place)
                continue
            name = str(key.value)
            if name in first:
                told = f"is there twice, first on line {first[name]}: rename or remove one of them."
                self._fault(key, told, (*place, name))
                continue
            first[name] = line
            self._document.lines[(*place, name)] = line
            yield name, self.value(value, (*place, name))

    def _item(self, node: yaml.Node, place: Place) -> Any:
        self._document.lines[place] = node.start_mark.line + 1
        return self.value(node, place)

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> str | None:
        if any("\ud800" <= char <= "\udfff" for char in node.value):
            told = "holds half of a surrogate pair (\\ud...): write the character itself."
            self._fault(node, told, place)
        if node.style is not None:  # quoted, or a block
            return str(node.value)
        rest = self._text[node.end_mark.index :].split("\n", 1)[0] if node.value else ""
        if rest.lstrip().startswith("#"):
            self._document.cut.add(place)
        return None if node.value in _NOTHING else str(node.value)

    def _fault(self, node: yaml.Node, message: str, place: Place) -> None:
        self._document.faults.append(Fault(node.start_mark.line + 1, message, place))


def _fault(error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    told = f"{error.context or ''} {error.problem or ''}"
    for sign, hint in _HINTS:
        if sign in told:
            return Fault(line, f"cannot be read here: {hint}.")
    return Fault(line, f"is not YAML here: {error.problem or error.context}.")
