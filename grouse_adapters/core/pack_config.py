"""``pack.toml``: the settings of a prompt pack."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName
from grouse_adapters.core.reply import ReplyForm


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ReplySettings(_Settings):
    """``[reply]``: how replies look.

    Attributes:
        form: ``json`` or ``result`` (``feedback ... [RESULT] n``, about one answer).
        answers: how many answers the prompts show; None: as the templates say.
        results: per metric, the grade that a written result stands for; ``"null"`` is TOML's way
            of not applicable.
    """

    form: Literal["json", "result"] = "json"
    answers: Literal[1, 2] | None = None
    results: dict[MetricName, dict[str, int | Literal["null"]]] = Field(default_factory=dict)

    @property
    def fixed_answers(self) -> int | None:
        """The number of answers the settings decide, None when the templates do."""
        return 1 if self.form == "result" else self.answers

    def reply_form(self) -> ReplyForm:
        """The same for the reply parser."""
        return ReplyForm(
            kind=self.form,
            results={
                metric: {
                    written: None if grade == "null" else grade for written, grade in table.items()
                }
                for metric, table in self.results.items()
            },
        )


class PackConfig(_Settings):
    """All of ``pack.toml``; everything has a default, so a folder without the file is a pack."""

    name: str | None = Field(default=None, min_length=1)
    version: str = ""
    refusals: list[str] = Field(default_factory=list)
    reply: ReplySettings = ReplySettings()


def read_config(path: Path) -> PackConfig:
    """The settings in ``path``; defaults when there is no such file.

    Raises:
        ConfigurationError: the file cannot be read, or a setting is unknown or wrong.
    """
    if not path.exists():
        return PackConfig()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8: save it with UTF-8 encoding.") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}.") from None
    try:
        config = PackConfig.model_validate(table)
    except ValidationError as error:
        _fail_on(error, path)
    _check_reply(config.reply, path)
    return config


def _fail_on(error: ValidationError, path: Path) -> NoReturn:
    first = error.errors()[0]
    location = [str(part) for part in first["loc"]]
    key = ".".join(location)
    if first["type"] == "extra_forbidden":
        fields = ReplySettings.model_fields if location[0] == "reply" else PackConfig.model_fields
        raise ConfigurationError(
            f"{path} has the unknown key {key!r}: the keys known there are {', '.join(fields)}."
        ) from None
    raise ConfigurationError(f"{path}: the value of {key!r} is wrong: {first['msg']}.") from None


def _check_reply(reply: ReplySettings, path: Path) -> None:
    if reply.form == "result" and reply.answers == 2:
        raise ConfigurationError(
            f"{path}: the reply form 'result' is about one answer, so set reply.answers to 1."
        )
    if reply.form == "json" and reply.results:
        raise ConfigurationError(
            f"{path}: reply.results belongs to the reply form 'result', so set reply.form to it."
        )
    for name, table in reply.results.items():
        metric = METRICS[name]
        if not metric.judged:
            asked = ", ".join(metric.name for metric in JUDGED_METRICS)
            raise ConfigurationError(
                f"{path}: {name!r} in reply.results is derived, never asked: choose from {asked}."
            )
        for written, grade in table.items():
            if grade != "null" and grade not in metric.scale.values:
                raise ConfigurationError(
                    f"{path}: reply.results.{name} maps {written!r} to {grade}, which must be "
                    f'{metric.scale} or "null".'
                )
