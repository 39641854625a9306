"""Says which package is missing or unsupported, before an import fails with other words."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from grouse_adapters.core.errors import MissingExtraError


def needs(extra: str, *, package: str, lowest: str, below: str) -> None:
    """Checks an installed version.

    Raises:
        MissingExtraError: ``package`` is not installed, or its version is not in
            ``lowest <= version < below``.
    """
    try:
        installed = version(package)
    except PackageNotFoundError:
        trouble = "which is not installed"
    else:
        if _numbers(lowest) <= _numbers(installed) < _numbers(below):
            return
        trouble = f"and {installed} is installed"
    raise MissingExtraError(
        extra,
        f"needs {package} {lowest} or later, below {below}, {trouble}",
        subject="grouse_adapters.langchain",
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
