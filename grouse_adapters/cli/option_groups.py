"""Options that belong together, declared once for every command that has them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

Command = Callable[..., None]


def takes(group: type, receives: str) -> Callable[[Command], Command]:
    """Gives a command every option of a dataclass, and the command one object of it.

    Args:
        group: a dataclass of options with defaults, each field annotated as typer wants it.
        receives: the command's parameter that gets the object. A parameter of the command that
            has the name of an option stays the command's own.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        fields = get_type_hints(group, include_extras=True)
        added = {
            name: parameter.replace(annotation=fields[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(group).parameters.items()
            if name not in own.parameters
        }
        kept = [
            parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in own.parameters.items()
            if name != receives
        ]

        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            said = {name: given.pop(name) for name in added}
            command(**given, **{receives: group(**said)})

        shown = [*kept, *added.values()]
        with_options.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]  # for typer
        with_options.__annotations__ = {
            **{parameter.name: parameter.annotation for parameter in shown},
            "return": None,
        }
        del with_options.__wrapped__  # typer would look through it
        return with_options

    return decorate
