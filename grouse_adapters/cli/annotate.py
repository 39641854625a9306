"""``grouse-adapters annotate``: a page on which people label answers, and how far they agree."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from grouse_adapters.cli.align import FiguresJsonOption, OutputOption
from grouse_adapters.cli.judged_files import what_was_judged
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.native.agreement import AnnotationAgreement, annotation_agreement
from grouse_adapters.native.annotations import read_annotations

ANNOTATIONS_FILE: Final = Path("annotations.jsonl")


def annotate(
    tests: Annotated[
        str | None,
        typer.Argument(
            metavar="[TESTS]",
            help="What is annotated: unit tests as for meta-evaluate, or a JSON-lines file of "
            "samples.",
            show_default=False,
        ),
    ] = None,
    annotations: Annotated[
        Path,
        typer.Option(
            "--annotations", "-a", metavar="FILE", help="Where finished annotations are kept."
        ),
    ] = ANNOTATIONS_FILE,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            metavar="N",
            help="Port on this machine. Default: 8720, or any free one.",
            show_default=False,
        ),
    ] = None,
    grades: Annotated[
        bool, typer.Option("--grades", help="Ask for grades of the four judged metrics too.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Open no page: compare the annotators in this file. May be repeated.",
        ),
    ] = None,
    output: OutputOption = None,
    as_json: FiguresJsonOption = False,
) -> None:
    """Label answers on a page on this machine: relevant, faithful, cited rightly.

    Serves until Ctrl-C. Every click is saved at once, and the same command continues. With
    --report it compares annotators instead: equal labels, differences of shares, Krippendorff's
    alpha.

    Exit codes: 0 fine, 2 wrong use, 130 stopped.
    """
    if report:
        if tests is not None:
            raise ConfigurationError("--report reads annotations alone: leave TESTS out.")
        _report(report, output, as_json=as_json)
        return
    if tests is None:
        raise ConfigurationError(
            "Name what is annotated, e.g. 'bundled' or a JSON-lines file, or a file of annotations "
            "with --report."
        )
    if output is not None or as_json:
        raise ConfigurationError("--output and --json are for --report: add it, or leave them out.")
    _serve(tests, annotations, port, grades=grades, browser=browser)


def _serve(tests: str, path: Path, port: int | None, *, grades: bool, browser: bool) -> None:
    from grouse_adapters.native.annotate import AnnotationStore, Desk, serve, tasks_of

    tasks = tasks_of(what_was_judged(tests).samples or ())
    with AnnotationStore(path, tasks) as store:
        desk = Desk(store, tasks, Path(tests).name, grades=grades)

        def ready(address: str) -> None:
            print(f"Annotate at  {address}")
            print(f"Saved in     {path}")
            print("End with Ctrl-C; the same command continues.", flush=True)
            if browser:
                # some browsers only return when they are closed
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        serve(desk, port=port, on_ready=ready)
        counts = desk.counts()
    print()
    for name, done in counts.items():
        print(f"{name}: {done:,} of {len(tasks):,} answers done")
    kept: list[Path] = [path] if path.exists() else []
    if store.grades_path.exists():
        kept.append(store.grades_path)
    print(f"Annotations are in {' and '.join(map(str, kept))}." if kept else "Nothing is done yet.")
    print(f"Every change is in {store.log_path}.")
    if sum(done > 0 for done in counts.values()) > 1:
        print(f"Agreement: grouse-adapters annotate --report {path}")


def _report(paths: Sequence[Path], output: Path | None, *, as_json: bool) -> None:
    from grouse_adapters.report.annotation_terminal import print_annotation_agreement

    figures: AnnotationAgreement = annotation_agreement(
        row for path in paths for row in read_annotations(path)
    )
    written = figures.model_dump_json(indent=2) + "\n"
    if output is not None:
        write_atomically(output, written, option="--output")
    if as_json:
        sys.stdout.write(written)
    else:
        print_annotation_agreement(Console(), figures, [] if output is None else [output])
