"""The template files of a prompt pack: read once, checked, run in Jinja's sandbox."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from jinja2 import FunctionLoader, StrictUndefined, Template, TemplateNotFound, meta, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.quoting import quote

_REFERRING: Final = (nodes.Extends, nodes.Import, nodes.FromImport, nodes.Include)


class TemplateFolder:
    """Templates of one folder and the files they are built from, as they were when opened.

    Later changes on disk do not matter, so that a fingerprint stays true for a whole run.

    Attributes:
        folder: absolute path.
        texts: content of every file in use, by its name in the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self._environment = ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._load),
            undefined=StrictUndefined,
            autoescape=False,
            auto_reload=False,
            cache_size=-1,
        )
        self._environment.filters["quote"] = quote

    def open(self, file: str) -> tuple[Template, frozenset[str]]:
        """The compiled template, and the variables that it and its parts read.

        Raises:
            ConfigurationError: a file is missing, unreadable or broken.
        """
        variables: set[str] = set()
        seen: set[str] = set()
        waiting = [file]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            path = self._path(name)
            self.texts[name] = text = _read(path)
            try:
                tree = self._environment.parse(text)
                waiting.extend(self._parts(tree, path))
                variables |= meta.find_undeclared_variables(tree)
                self._environment.get_template(name)
            except TemplateSyntaxError as error:
                message = (error.message or "it cannot be read").rstrip(".")
                _fail(f"{path}, line {error.lineno},", "is a broken template", message)
        return self._environment.get_template(file), frozenset(variables)

    def render(self, template: Template, values: Mapping[str, Any]) -> str:
        """The text of ``template``.

        Raises:
            ConfigurationError: the template reads what is not there, does what the sandbox
                forbids, or fails in any other way.
        """
        try:
            return template.render(values)
        except SecurityError as error:
            what = f"does what the sandbox forbids ({str(error).rstrip('.')})"
            _fail(self._place(error), what, "take that out")
        except UndefinedError as error:
            known = ", ".join(sorted(values))
            _fail(self._place(error), f"fails because {error}", f"the variables are {known}")
        except Exception as error:  # a template is code: anything can come out of it
            what = f"fails with {type(error).__name__} ({str(error).rstrip('.')})"
            raise ConfigurationError(f"{self._place(error)} {what}: correct it.") from error

    def _load(self, name: str) -> tuple[str, str, None] | None:
        # The file's name goes into tracebacks, where ``_place`` finds the line.
        return (self.texts[name], str(self._path(name)), None) if name in self.texts else None

    def _path(self, name: str) -> Path:
        return self.folder.joinpath(*name.split("/"))

    def _parts(self, tree: nodes.Template, path: Path) -> Iterator[str]:
        """Names of the files that a template extends, imports or includes."""
        for node in tree.find_all(_REFERRING):
            place = f"{path}, line {node.lineno},"
            optional = isinstance(node, nodes.Include) and node.ignore_missing
            name = _name(node, place)
            try:
                inside = "/".join(split_template_path(name))
            except TemplateNotFound:
                _fail(place, f"uses {name!r} outside the prompt pack", "copy that file into it")
            if self._path(inside).is_file():
                yield inside
            elif not optional:
                _fail(place, f"uses {name!r}, which is not there", f"add it to {self.folder}")

    def _place(self, error: BaseException) -> str:
        files = {str(self._path(name)) for name in self.texts}
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename in files:
                return f"{frame.filename}, line {frame.lineno},"
        return f"A template in {self.folder}"


def _name(node: nodes.Node, place: str) -> str:
    named = node.template  # type: ignore[attr-defined]  # find_all loses the four types' union
    try:
        name = named.as_const()
    except nodes.Impossible:
        name = None
    if not isinstance(name, str):
        # A file chosen while rendering could not be covered by the fingerprint.
        _fail(place, "does not name its file in one fixed text", "write the name in quotes")
    return name


def _read(path: Path) -> str:
    """The file's text; line ends become ``\n``, so that a checkout's settings do not matter."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8: save it with UTF-8 encoding.") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None


def _fail(place: str, what: str, advice: str) -> NoReturn:
    raise ConfigurationError(f"{place} {what}: {advice}.") from None
