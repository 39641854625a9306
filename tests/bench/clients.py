"""The judge and the bare openai SDK as two clients that send the same requests.

Both go over the same transport. That their requests are the same is checked, not believed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import openai

from grouse_adapters import METRICS, LLMJudge, MetricName, OpenAIChat, PromptPack, Sample
from grouse_adapters.core.prompt_pack import Switches
from grouse_adapters.testing import Script, ScriptedServer

from .made_samples import make_samples

JUDGE: Final = "LLMJudge"
SDK: Final = "openai SDK"
LEAN_SDK: Final = "openai SDK, schema unseen"
ASKED: Final[tuple[MetricName, ...]] = ("answer_relevancy", "completeness", "faithfulness")
"""The calls of a sample that is answered: usefulness needs none."""

BEST_GRADES: Final = {"answer_relevancy": 5, "completeness": 5, "faithfulness": 1}

Client = Callable[[Sequence[Sample]], Callable[[], None]]
"""Takes samples and prepares; the function it gives back sends them and returns at the end."""

_MODEL: Final = "bench"
_KEY: Final = "bench-key"
_MAX_TOKENS: Final = 2_048  # what OpenAIChat asks for unless told otherwise
_CHECKED_SAMPLES: Final = 3


class UnfairError(Exception):
    """The clients do not do the same, so comparing them says nothing."""


@contextmanager
def open_clients(base_url: str, limit: int) -> Iterator[Mapping[str, Client]]:
    """The clients by name, with at most ``limit`` calls in flight each; closed with the block."""
    chat = OpenAIChat(_MODEL, base_url=base_url, api_key=_KEY)
    with (
        LLMJudge(chat, concurrency=limit) as judge,
        _BareSDK(base_url, limit) as sdk,
    ):
        yield {
            JUDGE: lambda samples: lambda: _judge_all(judge, samples),
            SDK: lambda samples: sdk.prepare(samples, lean=False),
            LEAN_SDK: lambda samples: sdk.prepare(samples, lean=True),
        }


def check_same_requests() -> None:
    """Sends the same samples through each client and compares what the server got.

    Raises:
        UnfairError: path or body of a request differ.
    """
    samples = list(make_samples(_CHECKED_SAMPLES))
    script = Script(default=BEST_GRADES)
    got: dict[str, list[str]] = {}
    with (
        ScriptedServer(script) as server,
        open_clients(server.base_url, limit=1) as clients,
    ):
        for name, client in clients.items():
            server.reset()
            client(samples)()
            got[name] = sorted(
                json.dumps([request.path, request.body], sort_keys=True)
                for request in server.requests
            )
    for name, requests in got.items():
        if requests != got[JUDGE] or len(requests) != len(samples) * len(ASKED):
            raise UnfairError(
                f"{name} and {JUDGE} do not send the same requests: bring {__name__} in line "
                "with OpenAIChat."
            )


def _judge_all(judge: LLMJudge, samples: Sequence[Sample]) -> None:
    calls = failed = 0
    for judgement in judge.judge_many(samples):
        calls += judgement.llm_calls
        failed += sum(grade.kind == "failed" for grade in judgement.grades.values())
    if failed or calls != len(samples) * len(ASKED):
        raise UnfairError(f"The judge made {calls} calls and {failed} grades failed.")


class _BareSDK:
    """One client on one loop, with as many workers as calls may be in flight."""

    def __init__(self, base_url: str, limit: int) -> None:
        self._limit = limit
        self._pack = PromptPack.load("grouse")
        self._runner = asyncio.Runner()
        self._runner.run(self._connect(base_url))

    def __enter__(self) -> _BareSDK:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    def prepare(self, samples: Sequence[Sample], *, lean: bool) -> Callable[[], None]:
        """Renders the prompts now and sends them later.

        Args:
            lean: hand the form of the reply over in ``extra_body``, as the judge does: the SDK
                then does not walk through the schema in every call.
        """
        requests = [self._request(sample, name, lean=lean) for sample in samples for name in ASKED]
        return lambda: self._runner.run(self._send_all(requests))

    async def _connect(self, base_url: str) -> None:
        self._client = openai.AsyncOpenAI(
            api_key=_KEY,
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(),
        )

    def _request(self, sample: Sample, name: MetricName, *, lean: bool) -> dict[str, Any]:
        prompt = self._pack.render(METRICS[name], sample, Switches())
        settings = {
            "max_tokens": _MAX_TOKENS,
            "temperature": 0.0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "judgement", "strict": True, "schema": prompt.schema},
            },
        }
        return {
            "model": _MODEL,
            "messages": [{"role": "user", "content": prompt.text}],
            **({"extra_body": settings} if lean else settings),
        }

    async def _send_all(self, requests: Sequence[dict[str, Any]]) -> None:
        pending = iter(requests)

        async def work() -> None:
            for request in pending:
                completion = await self._client.chat.completions.create(**request)
                json.loads(completion.choices[0].message.content)

        await asyncio.gather(*(work() for _ in range(self._limit)))
