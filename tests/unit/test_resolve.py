"""Which judge a name, a model, a judge or nothing means."""

from __future__ import annotations

import warnings

import pytest

from grouse_adapters import ConfigurationError, LexicalJudge, LLMJudge, resolve_judge
from grouse_adapters.core import resolve
from grouse_adapters.testing import ScriptedChat


def test_nothing_named_means_the_lexical_judge_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolve, "_warned", False)
    with pytest.warns(UserWarning, match="embedded lexical judge is used") as caught:
        first = resolve_judge()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = resolve_judge()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert first is second
    assert isinstance(first, LexicalJudge)
    assert first.name == "lexical"


def test_the_environment_names_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("GROUSE_JUDGE", "some-model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve_judge().name == "some-model"
        monkeypatch.setenv("GROUSE_JUDGE", "lexical")
        assert resolve_judge().name == "lexical"


def test_equal_specifications_are_one_judge_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    chat = ScriptedChat("{}")
    assert resolve_judge(chat) is resolve_judge(chat)
    assert resolve_judge(chat) is not resolve_judge(ScriptedChat("{}"))
    assert resolve_judge("m") is resolve_judge("m")
    assert resolve_judge("m") is not resolve_judge("m", citations="ignored")
    assert resolve_judge("lexical", citations="ignored") is not resolve_judge("lexical")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    elsewhere = resolve_judge("m")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert elsewhere is not resolve_judge("m")


def test_a_finished_judge_is_given_back_and_takes_no_settings() -> None:
    judge = LLMJudge(ScriptedChat("{}"))
    assert resolve_judge(judge) is judge
    with pytest.raises(ConfigurationError, match="takes no further settings"):
        resolve_judge(judge, citations="ignored")
    judge.close()


def test_a_closed_judge_is_replaced() -> None:
    chat = ScriptedChat("{}")
    first = resolve_judge(chat)
    first.close()
    assert resolve_judge(chat) is not first


def test_anything_else_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a model's name or None, not int"):
        resolve_judge(7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"memory": 0}, "memory must be at least 1"),
        ({"strategy": "both"}, "strategy must be one of per-metric, single-call"),
        ({"citations": "maybe"}, "citations must be one of required, ignored"),
        ({"prompts": "none-such"}, "none-such"),
    ],
)
def test_a_wrong_setting_is_named_before_any_call(
    settings: dict[str, object], message: str
) -> None:
    chat = ScriptedChat("{}")
    with pytest.raises(ConfigurationError, match=message):
        LLMJudge(chat, **settings)  # type: ignore[arg-type]  # the mistakes under test
    assert chat.calls == []
