"""Unit tests from a dataset on the Hugging Face hub, such as the published ``illuin/grouse``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, NoReturn

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
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import (
            EntryNotFoundError,
            GatedRepoError,
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
            return Path(hf_hub_download(dataset, file, repo_type="dataset", endpoint=endpoint))
        except GatedRepoError:
            raise ConfigurationError(
                f"{dataset} is gated: ask for access on the hub and set HF_TOKEN."
            ) from None
        except RepositoryNotFoundError:
            raise ConfigurationError(
                f"The hub has no dataset {dataset!r} that you may read: check the name, or set "
                "HF_TOKEN if it is private."
            ) from None
        except LocalEntryNotFoundError:  # it knows that there is no copy; below it is an error
            _fail_to_fetch(dataset, split)
        except EntryNotFoundError:
            continue
        except Exception:  # noqa: BLE001  # of several HTTP libraries; some versions break on it
            kept = try_to_load_from_cache(dataset, file, repo_type="dataset")
            if isinstance(kept, str):
                return Path(kept)
            _fail_to_fetch(dataset, split)
    raise ConfigurationError(
        f"The dataset {dataset} has no file {_FILES[0].format(split)!r}: download its unit tests "
        "and name the JSON-lines file."
    )


def _fail_to_fetch(dataset: str, split: str) -> NoReturn:
    raise ConfigurationError(
        f"{dataset} cannot be fetched and there is no copy of its {split} split on this machine: "
        "connect to the network, set HF_ENDPOINT to a mirror, or name a local JSON-lines file."
    ) from None
