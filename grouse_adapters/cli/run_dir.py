"""The folder of a run: what decided it, every judgement as soon as it is there, the report.

``judgements.jsonl`` only grows. A sample that is judged again gets a new row, and the last row of
a sample wins, so that nothing that was paid for is ever overwritten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from grouse_adapters.cli.run_folder import (
    PAGE_FILE,
    REPORT_FILE,
    RUN_FILE,
    TESTS_FILE,
    RunFolder,
    write_atomically,
)
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import Citations, MetricName
from grouse_adapters.core.rows import read_line, to_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Report

__all__ = [
    "JUDGEMENTS_FILE",
    "PAGE_FILE",
    "REPORT_FILE",
    "RUN_FILE",
    "TESTS_FILE",
    "RunDir",
    "RunSettings",
    "row_key",
    "write_atomically",
]

JUDGEMENTS_FILE: Final = "judgements.jsonl"

_NO_ROW: Final = -1


class RunSettings(BaseModel):
    """What decides the judgements of a run: ``run.json``. Two runs are one when these are equal.

    Attributes:
        command: e.g. ``evaluate``.
        input: name of the input file, without its folder. Its content is compared sample by
            sample instead, so that samples can be added or edited between two sittings.
        judge: name of the judge.
        model: everything but the prompt that decides a reply, free of secrets
            (``ChatModel.cache_key()``); empty for a judge without a model.
        prompt_fingerprint: SHA-256 of the prompt pack and its switches, None without prompts.
        metrics: the metrics that are asked for, in table order.
        strategy: ``per-metric`` or ``single-call``; None for a judge without calls.
        citations: whether answers must cite.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: str
    input: str
    judge: str
    model: dict[str, Any] = {}
    prompt_fingerprint: str | None = None
    metrics: tuple[MetricName, ...]
    strategy: str | None = None
    citations: Citations = "required"


def row_key(sample: Sample, line_number: int) -> str:
    """The sample's name within a run: its id, else its 1-based line number and content hash."""
    if sample.id is not None:
        return sample.id
    return f"line {line_number} {sample.content_hash()[:16]}"


class RunDir(RunFolder):
    """A run directory in use by this process alone. Use one thread at a time.

    Every sample of the input goes through ``admit``; those it says yes to are judged and given to
    ``append``. Rows of samples that were not admitted (an earlier state of the input) stay in the
    file and out of ``latest_rows``.

    Attributes:
        path: the folder.
        settings: what decides the run.
        resumed: whether there was a run to continue.
    """

    rows_file: ClassVar[str] = JUDGEMENTS_FILE
    rows_are: ClassVar[str] = "judgements"

    def __init__(
        self, path: Path, settings: RunSettings, *, resume: bool, run_file: str = RUN_FILE
    ) -> None:
        self.settings = settings
        # One 16-byte digest and one offset per row; the rows themselves stay on disk. Rows that
        # were found go by key and content, since an edited sample is judged again.
        self._found: dict[bytes, tuple[int, bool]] = {}
        self._admitted: dict[bytes, int] = {}
        # What is told apart by its own run file stands in the folder of another run.
        self.own_files = (TESTS_FILE,) if run_file == RUN_FILE else ()
        super().__init__(path, settings, resume=resume, run_file=run_file)

    @classmethod
    def create(cls, path: str | Path, settings: RunSettings, *, run_file: str = RUN_FILE) -> RunDir:
        """Starts a run in a new or empty folder (hidden files do not count).

        Args:
            run_file: where the settings are kept; another name than that of a run lets
                judgements stand beside the rows of another run.

        Raises:
            ConfigurationError: the folder holds a run or something else, is in use by another
                process, or cannot be written. One sentence.
        """
        return cls(Path(path), settings, resume=False, run_file=run_file)

    @classmethod
    def resume(cls, path: str | Path, settings: RunSettings, *, run_file: str = RUN_FILE) -> RunDir:
        """Continues the run in ``path``; starts one when there is none yet.

        Starting is what a script that always says ``--resume`` means by it. A last row that was
        cut off when the process was killed is removed.

        Raises:
            ConfigurationError: the run there had other settings (all differences are named), a
                row cannot be read, or any reason of ``create``. One sentence.
        """
        return cls(Path(path), settings, resume=True, run_file=run_file)

    @property
    def judgements_path(self) -> Path:
        """One judgement a line."""
        return self.path / JUDGEMENTS_FILE

    @property
    def judged_count(self) -> int:
        """How many admitted samples have a row."""
        return sum(offset != _NO_ROW for offset in self._admitted.values())

    def admit(self, key: str, sample: Sample) -> bool:
        """Takes a sample of the input into the run; True when it has yet to be judged.

        It is done when its last row holds every metric of the run and no failed grade. With an
        id, the content must be the same too: an edited sample is judged again.

        Raises:
            InputError: the key was admitted before.
        """
        name = _digest(key)
        if name in self._admitted:
            raise InputError(f"The id {key!r} is used twice: give every sample an id of its own.")
        offset, done = self._found.pop(_digest(key, sample.content_hash()), (_NO_ROW, False))
        self._admitted[name] = offset
        return not done

    def append(self, judgement: Judgement, *, key: str | None = None) -> None:
        """Writes one row and hands it to the operating system at once.

        Args:
            judgement: its ``id`` is the row's key unless ``key`` is given.
            key: the row's key, as ``row_key`` made it; becomes the row's ``id``.

        Raises:
            ConfigurationError: the row cannot be written (disk full); earlier rows are intact.
        """
        key = key if key is not None else judgement.id
        if key is None:
            raise ValueError("a row needs a key: pass key= or a judgement with an id")
        if judgement.id != key:
            judgement = judgement.model_copy(update={"id": key})
        self._admitted[_digest(key)] = self._append_line(to_line(judgement))

    def latest_rows(self) -> Iterator[Judgement]:
        """The last row of every admitted sample that has one, in the order of admission."""
        with self.judgements_path.open("rb") as stream:
            for offset in self._admitted.values():
                if offset != _NO_ROW:
                    stream.seek(offset)
                    yield Judgement.model_validate_json(stream.readline())

    def superseded_rows(self) -> Iterator[Judgement]:
        """All other rows: attempts that were replaced, and samples no longer in the input.

        They count for what was spent, not for the grades.
        """
        latest = set(self._admitted.values())
        for offset, judgement in self._scan():
            if offset not in latest:
                yield judgement

    def write_report(self, report: Report) -> Path:
        """Writes ``report.json`` whole or not at all, and returns its path.

        Raises:
            ConfigurationError: it cannot be written.
        """
        write_atomically(self.report_path, report.model_dump_json(indent=2) + "\n")
        return self.report_path

    def _is_row(self, line: bytes) -> bool:
        return read_line(line) is not None

    def _begin(self, settings: BaseModel, *, resume: bool) -> bool:
        resumed = super()._begin(settings, resume=resume)
        if resumed:
            wanted = self.settings.metrics
            for offset, row in self._scan():
                done = not row.failed and all(metric in row.grades for metric in wanted)
                self._found[_digest(row.id or "", row.sample.content_hash())] = (offset, done)
        return resumed

    def _scan(self) -> Iterator[tuple[int, Judgement]]:
        """(offset in bytes, row) of every row, one at a time."""
        for number, offset, line in self._lines():
            row = read_line(line)
            if row is None:
                raise ConfigurationError(
                    f"{self.judgements_path}, line {number} is not a judgement: delete "
                    "that line, and its sample is judged again."
                )
            yield offset, row


def _digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=16).digest()
