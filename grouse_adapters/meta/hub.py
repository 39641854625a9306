"""Unit tests from a dataset on the Hugging Face hub, such as the published ``illuin/grouse``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from grouse_adapters.core.errors import ConfigurationError, MissingExtraError

Split = Literal["test", "train"]

PUBLISHED: Final = "illuin/grouse"
"""The dataset of arXiv 2409.06595: 16 tests to tune prompts on, 144 to judge judges with."""

_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+(?::(?:test|train))?")
_FILES: Final = ("{}.jsonl", "data/{}.jsonl")


def is_dataset_name(text: str) -> bool:
    """Whether ``text`` has the form ``owner/name`` or ``owner/name:train``."""
    return _NAME.fullmatch(text) is not None


def download_split(name: str, *, endpoint: str | None = None) -> Path:
    """The JSON-lines file of a dataset's split, kept in the hub's own cache.

    A copy in the cache is used when the hub cannot be reached.

    Args:
        name: ``owner/name`` for its test split, ``owner/name:train`` for the other.
        endpoint: the hub's address; None: the environment variable ``HF_ENDPOINT``, else the
            public hub.

    Raises:
        MissingExtraError: huggingface-hub is not installed.
        ConfigurationError: no such dataset or file, no access, or no network and no copy.
    """
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import (
            EntryNotFoundError,
            GatedRepoError,
            HfHubHTTPError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
        )
    except ImportError:
        raise MissingExtraError(
            "hub", "needs huggingface-hub, which is not installed", subject=f"The dataset {name!r}"
        ) from None
    dataset, _, split = name.partition(":")
    split = split or "test"
    for form in _FILES:
        file = form.format(split)
        try:
            return Path(
                hf_hub_download(dataset, file, repo_type="dataset", endpoint=endpoint),
            )
        except LocalEntryNotFoundError:
            raise ConfigurationError(
                f"{dataset} cannot be fetched and there is no copy of its {split} split on this "
                "machine: connect to the network, set HF_ENDPOINT to a mirror, or name a local "
                "JSON-lines file."
            ) from None
        except GatedRepoError:
            raise ConfigurationError(
                f"{dataset} is gated: ask for access on the hub and set HF_TOKEN."
            ) from None
        except RepositoryNotFoundError:
            raise ConfigurationError(
                f"The hub has no dataset {dataset!r} that you may read: check the name, or set "
                "HF_TOKEN if it is private."
            ) from None
        except EntryNotFoundError:
            continue
        except (HfHubHTTPError, OSError) as error:
            raise ConfigurationError(
                f"{dataset} cannot be fetched ({_first_line(error)}): try again, or name a local "
                "JSON-lines file."
            ) from None
    raise ConfigurationError(
        f"The dataset {dataset} has no file {_FILES[0].format(split)!r}: download its unit tests "
        "and name the JSON-lines file."
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__
