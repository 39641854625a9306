"""Where the annotations of tests come from: a file, the tests' own rows, or their scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.sources import BUNDLED, BUNDLED_TRAIN
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation, annotation_from_row, read_annotations

ROW_ANNOTATOR: Final = "row"
"""The annotator of labels on a test's row that name none."""

_YAML: Final = (".yaml", ".yml")


def load_annotations(
    source: str, tests: Sequence[UnitTest], file: Path | None = None
) -> list[Annotation]:
    """The annotations of tests.

    A row's ``annotations`` hold one annotation or a list of them, without ``test_id``. Where they
    name no annotator it is ``row``, and where they name no source they count as by construction:
    only what says that it is human is called so.

    Args:
        source: where the tests come from, as for ``load_tests``.
        tests: all of them.
        file: annotations in a file, instead of all others.

    Raises:
        InputError: they cannot be read.
    """
    if file is not None:
        return read_annotations(file)
    paths = _scenario_paths(source)
    if paths is not None:
        return list(_of_scenarios(paths))
    return [annotation for test in tests for annotation in _of_row(test)]


def _scenario_paths(source: str) -> Sequence[Path] | None:
    """The scenarios that a source means; None when it is none of scenarios."""
    from grouse_adapters.meta.scenarios import scenario_files

    if source in (BUNDLED, BUNDLED_TRAIN):
        folder = "test" if source == BUNDLED else "train"
        # An installed package lies on disk: the paths stay good.
        with as_file(files("grouse_adapters") / "data" / "scenarios" / folder) as path:
            return scenario_files(path)
    path = Path(source)
    if path.is_dir():
        return scenario_files(path)
    return [path] if path.suffix in _YAML and path.exists() else None


def _of_scenarios(paths: Sequence[Path]) -> Iterator[Annotation]:
    from grouse_adapters.meta.scenarios import build_annotations, load_scenario

    for path in paths:
        yield from build_annotations(load_scenario(path))


def _of_row(test: UnitTest) -> Iterator[Annotation]:
    given: Any = test.annotations
    if given is None:
        return
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, Mapping):
            raise InputError(
                f"The annotations of the test {test.id!r} are no objects: write statements or "
                "shares with their names."
            )
        row = {"annotator": ROW_ANNOTATOR, "source": "by construction", **one, "test_id": test.id}
        yield annotation_from_row(row, f"The annotations of the test {test.id!r}")
