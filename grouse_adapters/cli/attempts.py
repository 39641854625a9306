"""Several prompt packs or switches in one go: the loop in which prompts are adapted to a model."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from typer.core import TyperCommand

from grouse_adapters.cli.judge_options import JudgeOptions, build_judge
from grouse_adapters.cli.meta_run import MetaRun, is_meta_run
from grouse_adapters.cli.outcome import EXIT_FAILED
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.meta.sources import names_tests
from grouse_adapters.report.attempts_terminal import print_attempts

ATTEMPTS_FILE: Final = "attempts.json"

PacksOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prompts",
        metavar="PACK...",
        help="Prompt pack: its name, or its folder. Several are tried one after another. "
        "Default: grouse.",
        rich_help_panel="Prompts",
    ),
]
AblationOption = Annotated[
    bool,
    typer.Option(
        "--ablation",
        help="Try the pack as it is, without expected answer, without justification, and without "
        "any reasoning (the paper's table 6).",
        rich_help_panel="Prompts",
    ),
]

# arXiv 2409.06595, table 6; the last row asks for the grade alone
_ABLATION: Final[Mapping[str, Mapping[str, Any]]] = {
    "with-justification": {},
    "no-expected-answer": {"expected_answer": False},
    "no-justification": {"justification": False},
    "no-reasoning": {"justification": False, "reasoning": False},
}

_AS_GIVEN: Final[Mapping[str, Mapping[str, Any]]] = {"": {}}


class SpreadPrompts(TyperCommand):
    """Reads ``--prompts a b c`` as ``--prompts a --prompts b --prompts c``.

    What can only be unit tests (``bundled``, a JSON-lines file, a folder of scenarios, a dataset)
    stays the command's argument.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See ``click.Command.parse_args``."""
        return super().parse_args(ctx, spread(args))


def spread(arguments: list[str]) -> list[str]:
    """The arguments with ``--prompts`` before every pack that follows one."""
    result: list[str] = []
    outside = -1
    packs = outside  # how many the current --prompts has
    for position, argument in enumerate(arguments):
        if argument == "--":
            return result + arguments[position:]
        if argument == "--prompts":
            packs = 0
        elif argument.startswith("-") or (packs > 0 and names_tests(argument)):
            packs = outside
        elif packs != outside:
            if packs > 0:
                result.append("--prompts")
            packs += 1
        result.append(argument)
    return result


def plan(
    options: JudgeOptions, *, packs: list[str] | None, ablation: bool
) -> dict[str, JudgeOptions]:
    """What is to be tried, by label; one attempt when nothing is to be compared.

    Raises:
        ConfigurationError: the lexical judge, a pack twice, or switches besides ``--ablation``.
    """
    names: list[str | None] = [*packs] if packs else [None]
    if ablation:
        given = [
            f"--{'' if value else 'no-'}{name.replace('_', '-')}"
            for name in ("expected_answer", "justification", "reasoning")
            if (value := getattr(options, name)) is not None
        ]
        if given:
            raise ConfigurationError(
                f"--ablation sets the switches itself: leave {', '.join(given)} out."
            )
    plans: dict[str, JudgeOptions] = {}
    for name in names:
        for variant, switches in (_ABLATION if ablation else _AS_GIVEN).items():
            label = "-".join(filter(None, (_label(name) if len(names) > 1 else "", variant)))
            label = label or "only"
            if label in plans:
                raise ConfigurationError(
                    f"--prompts names two packs that are called {label!r}: rename one folder."
                )
            plans[label] = replace(options, prompts=name, **switches)
    return plans


def prepare(plans: Mapping[str, JudgeOptions], folder: Path, *, resume: bool) -> None:
    """Builds every judge once, so that the last attempt's mistake is said before the first call.

    Raises:
        ConfigurationError: a judge cannot be built, or the folder is taken.
    """
    for options in plans.values():
        build_judge(options).judge.close()
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder: choose another --output-dir.")
    if folder.is_dir():
        foreign = [entry.name for entry in folder.iterdir() if entry.name not in plans]
        foreign = [name for name in foreign if name != ATTEMPTS_FILE and name[:1] != "."]
        if foreign or (not resume and any(is_meta_run(folder / label) for label in plans)):
            raise ConfigurationError(
                f"{folder} already holds {foreign[0] if foreign else 'these attempts'}: choose "
                "another --output-dir" + (", or add --resume to continue." * (not foreign) or ".")
            )


def finish(done: Mapping[str, MetaRun], folder: Path, *, quiet: bool, as_json: bool) -> None:
    """Writes and shows what the attempts came to.

    Raises:
        typer.Exit: with ``EXIT_FAILED`` when a grade failed.
    """
    runs = {label: json.loads(run.report.model_dump_json()) for label, run in done.items()}
    text = json.dumps({"schema_version": 1, "attempts": runs}, indent=2, ensure_ascii=False) + "\n"
    write_atomically(folder / ATTEMPTS_FILE, text)
    if as_json:
        sys.stdout.write(text)
    elif not quiet:
        print_attempts(
            Console(),
            {label: (run.results, run.report) for label, run in done.items()},
            [folder / ATTEMPTS_FILE, *(folder / label / "report.html" for label in done)],
        )
    failed = sum(run.report.failed_samples for run in done.values())
    if failed:
        typer.echo(
            f"A grade failed in {failed} tests: their rows say why, and --resume judges them "
            "again.",
            err=True,
        )
        raise typer.Exit(EXIT_FAILED)


def _label(name: str | None) -> str:
    plain = Path(name or "grouse").resolve().name if name and "/" in name else name or "grouse"
    return re.sub(r"[^\w.-]+", "-", plain).strip("-.") or "pack"
