"""``grouse-adapters scenario``: begin, check and expand scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.meta.scenarios import (
    Problem,
    build_annotations,
    build_tests,
    check_scenario,
    scenario_files,
)
from grouse_adapters.meta.scenarios.files import (
    SUFFIXES,
    check_files,
    identifier_for,
    load_all,
    template,
)
from grouse_adapters.meta.unit_tests import write_unit_tests
from grouse_adapters.native.annotations import write_annotations

EXIT_PROBLEMS: Final = 2

scenario = typer.Typer(
    name="scenario",
    help="Write unit tests of your own domain: one scenario becomes 16 tests.",
    no_args_is_help=True,
)

PathsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="Scenarios (.yaml), or folders of them.",
        show_default=False,
    ),
]


@scenario.command()
def new(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="The file to write (.yaml), or the folder to write scenario-1.yaml to.",
            show_default=False,
        ),
    ],
) -> None:
    """Write a commented scenario to fill in."""
    file = path if path.suffix.lower() in SUFFIXES else _free_name(path)
    if file.exists():
        raise ConfigurationError(f"{file} exists already: choose another name.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{file.parent} cannot be made a folder ({error.strerror}): choose another one."
        ) from None
    write_atomically(file, template(identifier_for(file)), option="FILE")
    typer.echo(
        f"Wrote {file}. Replace what begins with TODO, then run: "
        f"grouse-adapters scenario check {file}"
    )


def _free_name(folder: Path) -> Path:
    number = 1
    while (folder / f"scenario-{number}.yaml").exists():
        number += 1
    return folder / f"scenario-{number}.yaml"


@scenario.command()
def check(
    paths: PathsArgument,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 2 for warnings as well.")
    ] = False,
) -> None:
    """Tell everything that is wrong or doubtful, one line each.

    Exit codes: 0 fine, 2 an error (no tests can be built), or with --strict a warning.
    """
    bad = False
    for file, problems in check_files(_files(paths)).items():
        for problem in problems:
            typer.echo(_line(problem))
        errors = sum(problem.severity == "error" for problem in problems)
        warnings = len(problems) - errors
        bad = bad or bool(errors or (strict and warnings))
        counts = f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}"
        typer.echo(f"{file}: {counts if problems else 'no problems'}")
    if bad:
        raise typer.Exit(EXIT_PROBLEMS)


@scenario.command()
def build(
    paths: PathsArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the unit tests to this JSON-lines file.",
            show_default=False,
        ),
    ],
    annotations: Annotated[
        Path | None,
        typer.Option(
            "--annotations",
            metavar="FILE",
            help="Write which statements are relevant and faithful, by construction.",
        ),
    ] = None,
) -> None:
    """Write the 16 unit tests of each scenario."""
    if annotations is not None and annotations.resolve() == output.resolve():
        raise ConfigurationError("--output and --annotations name the same file: name two.")
    scenarios = load_all(_files(paths))
    tests = [test for one in scenarios for test in build_tests(one)]
    write_atomically(output, write_unit_tests(tests), option="--output")
    told = f"Wrote {len(tests)} unit tests of {_counted(len(scenarios), 'scenario')} to {output}"
    if annotations is not None:
        labels = [label for one in scenarios for label in build_annotations(one)]
        write_atomically(annotations, write_annotations(labels), option="--annotations")
        told += f" and their annotations to {annotations}"
    typer.echo(f"{told}.")
    warnings = sum(len(check_scenario(one)) for one in scenarios)
    if warnings:
        note(f"{_counted(warnings, 'warning')}: 'grouse-adapters scenario check' lists them.")


def _files(paths: Sequence[Path]) -> list[Path]:
    return list(dict.fromkeys(_expanded(paths)))


def _expanded(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = scenario_files(path)
        if not found:
            raise InputError(f"{path} holds no scenarios (.yaml): name a folder that does.")
        yield from found


def _line(problem: Problem) -> str:
    where = f"{problem.file}" if problem.line is None else f"{problem.file}:{problem.line}"
    return " ".join(filter(None, (f"{where}: {problem.severity}:", problem.place, problem.message)))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
