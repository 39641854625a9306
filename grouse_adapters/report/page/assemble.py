"""Fills the template, names every script and style by its hash, and writes the file whole."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.files import replaced_whole
from grouse_adapters.report.page.payload import Block, script_json

_FOLDER: Final = Path(__file__).parent
_SHARED_SCRIPTS: Final = ("dom.js", "data.js", "route.js", "list.js", "answer.js", "detail.js")
_SCRIPTS: Final[Mapping[str, Sequence[str]]] = {
    "evaluation": ("evaluation.js",),
    "meta": ("squares.js", "matrix.js", "meta.js"),
    "benchmark": ("benchmark_squares.js", "matrix.js", "scatter.js", "benchmark.js"),
}
_STYLES: Final[Mapping[str, Sequence[str]]] = {"benchmark": ("benchmark.css",)}


def write_page(
    path: str | Path,
    kind: str,
    *,
    title: str,
    head: Mapping[str, Any],
    data: Mapping[str, Any],
    blocks: Iterable[Block],
) -> None:
    """Writes the page whole or not at all.

    Args:
        path: the file; its folder must exist.
        kind: ``evaluation``, ``meta`` or ``benchmark``.
        title: shown on top and in the browser's tab.
        head: what the template shows without a script.
        data: what the scripts need before any block.
        blocks: the samples; read one at a time.

    Raises:
        ConfigurationError: the file cannot be written. One sentence.
    """
    path = Path(path)
    try:
        with replaced_whole(path, errors="replace") as stream:
            for piece in _pieces(kind, title, head, data, blocks):
                stream.write(piece)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror or error}): name a file in a folder that "
            "exists and has room."
        ) from None


def _pieces(
    kind: str,
    title: str,
    head: Mapping[str, Any],
    data: Mapping[str, Any],
    blocks: Iterable[Block],
) -> Iterable[str]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = "".join(_read(name) for name in ("page.css", *_STYLES.get(kind, ())))
    script = _script(kind)
    return environment.get_template(f"{kind}.html.jinja").generate(
        title=title,
        kind=kind,
        head=head,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=script_json({"kind": kind, **data}),
        blocks=blocks,
    )


def _script(kind: str) -> str:
    """All scripts as one, with names of their own; ``ready`` comes last and starts the page."""
    parts = [_read(name) for name in (*_SHARED_SCRIPTS, *_SCRIPTS[kind])]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a Content-Security-Policy names an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
