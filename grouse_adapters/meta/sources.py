"""Where unit tests come from: the bundled suite, the hub, a file, or scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta import hub
from grouse_adapters.meta.published import PUBLISHED_TESTS
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests

BUNDLED: Final = "bundled"
BUNDLED_TRAIN: Final = "bundled-train"

_YAML: Final = (".yaml", ".yml")
_LINES: Final = (".jsonl", ".json", ".gz")


@dataclass(frozen=True, slots=True)
class TestSource:
    """Unit tests and where they come from.

    Attributes:
        name: ``bundled``, ``bundled-train``, a dataset's name, or the name of a file or folder
            without what is above it.
        tests: the tests, in order; ids differ.
        published: whether they are the 144 published tests.
    """

    __test__ = False

    name: str
    tests: Sequence[UnitTest]
    published: bool = False


def load_tests(source: str, *, endpoint: str | None = None) -> TestSource:
    """The unit tests that ``source`` names.

    Args:
        source: ``bundled``, ``bundled-train``, a JSON-lines file, a scenario (``.yaml``), a
            folder of scenarios, or a dataset on the hub as ``owner/name`` or
            ``owner/name:train``. What exists on disk wins over a dataset's name.
        endpoint: the hub's address, see ``hub.download_split``.

    Raises:
        InputError: nothing is there, or it holds no unit tests.
        ConfigurationError: the dataset cannot be fetched.
        MissingExtraError: the hub is asked for and huggingface-hub is not installed.
    """
    if source in (BUNDLED, BUNDLED_TRAIN):
        from grouse_adapters.meta.scenarios import scenario_files

        folder = "test" if source == BUNDLED else "train"
        with as_file(files("grouse_adapters") / "data" / "scenarios" / folder) as path:
            return TestSource(source, tuple(_from_scenarios(scenario_files(path))))
    path = Path(source)
    if path.is_dir():
        from grouse_adapters.meta.scenarios import scenario_files

        found = scenario_files(path)
        if not found:
            raise InputError(
                f"{path} holds no scenarios (.yaml): name a folder of scenarios or a file of tests."
            )
        return TestSource(path.resolve().name, tuple(_from_scenarios(found)))
    if path.exists() or not hub.is_dataset_name(source) or path.suffix in (*_YAML, *_LINES):
        if path.suffix in _YAML and path.exists():
            return TestSource(path.name, tuple(_from_scenarios([path])))
        return TestSource(path.name, tuple(read_unit_tests(path)))
    tests = read_unit_tests(hub.download_split(source, endpoint=endpoint))
    return TestSource(source, tuple(tests), published=is_published(source, tests))


def is_published(name: str, tests: Sequence[UnitTest]) -> bool:
    """Whether these are all tests of the published test split, as far as name and number tell."""
    return name.removesuffix(":test") == hub.PUBLISHED and len(tests) == PUBLISHED_TESTS


def names_tests(text: str) -> bool:
    """Whether ``text`` can only mean unit tests: used to tell them from prompt packs."""
    path = Path(text)
    if text in (BUNDLED, BUNDLED_TRAIN) or path.suffix in (*_YAML, *_LINES):
        return True
    if path.is_dir():
        from grouse_adapters.meta.scenarios import scenario_files

        return bool(scenario_files(path))
    return not path.exists() and hub.is_dataset_name(text)


def _from_scenarios(paths: Sequence[Path]) -> Iterator[UnitTest]:
    from grouse_adapters.meta.scenarios import build_tests, load_scenario

    sets: dict[str, Path] = {}
    for path in paths:
        scenario = load_scenario(path)
        first = sets.setdefault(scenario.id, path)
        if first is not path:
            raise InputError(
                f"{path} and {first} have the same id {scenario.id!r}: give each scenario its own."
            )
        yield from build_tests(scenario)
