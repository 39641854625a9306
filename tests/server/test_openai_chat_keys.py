"""Where OpenAIChat takes key and address from, and that the key shows up nowhere."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openai_calls import BEST, SAMPLE, ask, chat_with, error_of, faulty, one_sentence

from grouse_adapters import ConfigurationError, LLMJudge, OpenAIChat, RetryPolicy
from grouse_adapters.testing import Dropped, Hang, HttpError, RawBody, Script, ScriptedServer, When

KEY = "sk-very-secret-0123456789"


def test_a_server_of_ones_own_needs_no_key() -> None:
    with ScriptedServer("fine") as server:
        assert ask(chat_with(server))[0].text == "fine"


def test_openai_needs_a_key() -> None:
    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY"):
        OpenAIChat("gpt-4o")


def test_a_named_variable_must_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    monkeypatch.setenv("EMPTY_KEY", " ")
    for name in ("MY_KEY", "EMPTY_KEY"):
        with pytest.raises(ConfigurationError, match=f"set {name}") as caught:
            OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key_env=name)
        assert "sk-another" not in str(caught.value)


def test_where_the_key_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    with (
        ScriptedServer(api_key="sk-mine") as mine,
        ScriptedServer(api_key="sk-usual") as usual,
    ):
        ask(chat_with(mine, api_key_env="MY_KEY"))
        ask(chat_with(mine, api_key=" sk-mine "))
        ask(chat_with(usual))
        assert [request.key_matched for request in (*mine.requests, *usual.requests)] == [True] * 3


def test_a_mangled_key_is_not_sent() -> None:
    for key in ("sk-ab…yz", "sk-one sk-two", "sk-a\nb"):
        with pytest.raises(ConfigurationError, match="copy it once more") as caught:
            OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key=key)
        assert key not in str(caught.value)


def test_the_address_may_come_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(Script(default={"completeness": 4})) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url + "/")
        with LLMJudge("any-name") as judge:
            judgement = judge.judge(SAMPLE, metrics=["completeness"])
    assert judgement.value("completeness") == 4
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].body["model"] == "any-name"


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000/v1",
        "ftp://host/v1",
        "http:///v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://my host/v1",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ConfigurationError, match="write it like http://host:port/v1"):
        OpenAIChat("m", base_url=address)


def test_an_address_with_a_password_is_refused_without_telling_it() -> None:
    with pytest.raises(ConfigurationError, match="user name") as caught:
        OpenAIChat("m", base_url="http://me:hunter2@127.0.0.1:9/v1")
    assert "hunter2" not in str(caught.value)


def test_the_cache_key() -> None:
    def key(model: str = "m", base_url: str = "http://a/v1", **settings: Any) -> str:
        return json.dumps(OpenAIChat(model, base_url=base_url, **settings).cache_key())

    plain = key()
    assert "sk-very-secret" not in key(api_key="sk-very-secret")
    assert key(api_key="sk-very-secret") == key(timeout=5) == key(base_url="http://a/v1/") == plain
    others = [
        key(model="n"),
        key(base_url="http://b/v1"),
        key(temperature=0.1),
        key(max_tokens=5),
        key(structured="text"),
        key(reasoning=True),
        key(extra_body={"seed": 1}),
    ]
    assert len({plain, *others}) == 1 + len(others)


@pytest.mark.parametrize(
    "said",
    [
        HttpError(401, f"Incorrect API key provided: {KEY}."),
        HttpError(403, f"The key {KEY} may not do that."),
        HttpError(404, f"{KEY} has no such model."),
        HttpError(402, f"No credit on {KEY}."),
        HttpError(400, f"{KEY}: bad request."),
        HttpError(429, f"Rate limit of {KEY}.", retry_after=60),
        HttpError(500, "x" * 280 + KEY),
        RawBody(f"{KEY} is what you sent", "application/json"),
        RawBody(f'{{"error": "I got {KEY}"}}', "application/json"),
        RawBody(f"I got {KEY}", "text/plain", 500),
        Dropped("mid_body"),
        Hang(0.01),
    ],
    ids=lambda fault: f"{type(fault).__name__} {getattr(fault, 'status', '')}",
)
def test_the_key_is_in_no_error_log_row_or_cache(
    said: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    cache = tmp_path / "replies.sqlite"
    policy = RetryPolicy(1, 0.001, 0.002, rate_limit_patience=1.0)
    shown: list[str] = []
    with faulty(When(lambda request: "expired" in request.prompt, said)) as server:
        chat = chat_with(server, api_key=KEY)
        # One good reply, so that there is something in the cache, then the trouble.
        with LLMJudge(chat, retries=policy, cache=cache) as judge:
            shown.append(judge.judge(SAMPLE, metrics=["completeness"]).model_dump_json())
            expired = SAMPLE.model_copy(update={"actual_output": "expired"})
            try:
                shown.append(judge.judge(expired, metrics=["completeness"]).model_dump_json())
            except ConfigurationError as error:
                shown += chain(error)
        shown += chain(error_of(chat, "expired"))
        shown += [repr(chat), str(chat), json.dumps(chat.cache_key())]
    assert len(server.requests) >= 3
    for record in caplog.records:
        shown += [record.getMessage(), repr(record.args), str(record.exc_info)]
    assert caplog.records
    assert not [text for text in shown if KEY in text]
    files = list(tmp_path.rglob("replies.sqlite*"))
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def chain(error: BaseException | None) -> list[str]:
    """All that an error shows, and every error that it carries along, hidden ones too."""
    if error is None:
        return []
    shown = [str(error), repr(error), repr(vars(error)), repr(error.args)]
    return shown + chain(error.__cause__) + chain(error.__context__)


def test_the_wrong_key_at_a_real_check() -> None:
    """The scripted server quotes the key that was sent, as some real ones do."""
    with ScriptedServer(BEST, api_key="sk-another") as server:
        error = error_of(chat_with(server, api_key=KEY))
    assert isinstance(error, ConfigurationError)
    assert "Incorrect API key provided: [key]" in str(error)
    assert one_sentence(error)
    assert Counter(request.key_matched for request in server.requests) == {False: 1}
