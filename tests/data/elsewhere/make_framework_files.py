"""Makes the files of this folder that RAGAS and DeepEval write, by running them.

Run it where the project and both frameworks are installed, and look at the difference with git
afterwards::

    python tests/data/elsewhere/make_framework_files.py

Only the model is ours: a scripted server that gives the told grades, and answers the prompts of the
frameworks' own metrics.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final

from elsewhere_told import FAILED, HERE, NATIVE, TOLD, bridge, samples, write_samples
from reference_cases import JUDGED

from grouse_adapters import LLMJudge, OpenAIChat
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.testing import (
    Garbage,
    Script,
    ScriptedRequest,
    ScriptedServer,
    ServedRequest,
    When,
)

KEY: Final = "sk-told"
MODEL: Final = "gpt-4o-mini"  # DeepEval asks for structured replies from models it knows only
_TITLE: Final = re.compile(r'"title": ?"(Statement\w+Output|NLIStatementOutput|\w*Relevanc\w+)"')


def _grades(request: ScriptedRequest) -> dict[str, int | None]:
    told = dict(zip(JUDGED, TOLD[bridge(request.prompt)], strict=False))
    return {name: None if grade == FAILED else grade for name, grade in told.items()}


def _fails(request: ServedRequest) -> bool:
    if request.metric not in JUDGED:
        return False
    told: object = TOLD[bridge(request.prompt)][JUDGED.index(request.metric)]
    return told == FAILED


def _native(prompt: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    title = schema.get("title") if schema else None
    if title is None:
        found = _TITLE.search(prompt)
        title = found[1] if found else "StatementGeneratorOutput"
    number = bridge(prompt)
    statements = [f"Statement {n} about Bridge {number}." for n in (1, 2, 3)]
    supported = [n < NATIVE.get(number, 3) for n in range(3)]
    replies: dict[str, dict[str, Any]] = {
        "StatementGeneratorOutput": {"statements": statements},
        "NLIStatementOutput": {
            "statements": [
                {"statement": text, "reason": "As told.", "verdict": int(holds)}
                for text, holds in zip(statements, supported, strict=True)
            ]
        },
        "ResponseRelevanceOutput": {
            "question": f"When was Bridge {number} opened, and by whom?",
            "noncommittal": 0,
        },
        "Truths": {"truths": statements},
        "Claims": {"claims": statements},
        "Statements": {"statements": statements},
        "Verdicts": {
            "verdicts": [
                {"verdict": "yes" if holds else "no", "reason": "As told."} for holds in supported
            ]
        },
        "FaithfulnessScoreReason": {"reason": f"About Bridge {number}."},
        "AnswerRelevancyScoreReason": {"reason": f"About Bridge {number}."},
    }
    return replies[title]


def _judge(server: ScriptedServer) -> LLMJudge:
    chat = OpenAIChat(MODEL, base_url=server.base_url, api_key=KEY)
    return LLMJudge(chat, retries=RetryPolicy(retries=0))


def _reason(score: float) -> str:
    from grouse_adapters.ragas.evaluate import GrouseScore

    assert isinstance(score, GrouseScore)
    return score.reason


def ragas_files(server: ScriptedServer) -> None:
    """Our metrics, and RAGAS' own, as a data frame writes them."""
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas import EvaluationDataset, evaluate
    from ragas.dataset_schema import EvaluationResult
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import Faithfulness, ResponseRelevancy

    from grouse_adapters.ragas import evaluate_metrics

    rows = [
        {
            "user_input": row["input"],
            "retrieved_contexts": row["references"],
            "response": row["actual_output"],
            "reference": row["expected_output"],
        }
        for row in samples()
    ]

    def run(metrics: list[Any]) -> EvaluationResult:
        result = evaluate(EvaluationDataset.from_list(rows), metrics, show_progress=False)
        assert isinstance(result, EvaluationResult)
        return result

    folder = HERE / "ragas"
    folder.mkdir(exist_ok=True)
    judge = _judge(server)
    own = run(list(evaluate_metrics(judge)))
    frame = own.to_pandas()
    frame.to_csv(folder / "own.csv")
    frame.to_json(folder / "own.jsonl", orient="records", lines=True)
    frame.to_json(folder / "own.json")
    for name in [column for column in frame.columns if column.startswith("grouse_")]:
        frame[f"{name}_reason"] = [_reason(score) for score in own[name]]
    frame.to_csv(folder / "own_with_reasons.csv", index=False)
    unit = run(list(evaluate_metrics(judge, unit_scale=True)))
    unit.to_pandas().to_csv(folder / "own_unit_scale.csv", index=False)
    llm: Any = LangchainLLMWrapper(ChatOpenAI(model=MODEL, base_url=server.base_url, api_key=KEY))  # type: ignore[arg-type]  # plain text will do
    vectors: Any = LangchainEmbeddingsWrapper(
        OpenAIEmbeddings(base_url=server.base_url, api_key=KEY, check_embedding_ctx_length=False)  # type: ignore[arg-type]  # plain text will do
    )
    native: list[Any] = [Faithfulness(llm=llm), ResponseRelevancy(llm=llm, embeddings=vectors)]
    run(native).to_pandas().to_csv(folder / "native.csv", index=False)
    both = run([Faithfulness(llm=llm), *evaluate_metrics(judge)])
    both.to_pandas().to_csv(folder / "both.csv", index=False)


def deepeval_files(server: ScriptedServer) -> None:
    """Our metrics and DeepEval's own: what ``evaluate`` returns, and the file of the test run."""
    import pandas  # type: ignore[import-untyped]  # ships no types
    from deepeval.evaluate import evaluate
    from deepeval.evaluate.configs import DisplayConfig, ErrorConfig
    from deepeval.metrics import AnswerRelevancyMetric, BaseMetric, FaithfulnessMetric
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    from grouse_adapters.deepeval import all_metrics

    cases = [
        LLMTestCase(
            input=row["input"],
            retrieval_context=row["references"],
            actual_output=row["actual_output"],
            expected_output=row["expected_output"],
        )
        for row in samples()
    ]

    def run(metrics: list[BaseMetric], results: str | None = None) -> Any:
        return evaluate(
            cases,
            metrics,
            error_config=ErrorConfig(ignore_errors=True),
            display_config=DisplayConfig(
                show_indicator=False, print_results=False, results_folder=results
            ),
        )

    folder = HERE / "deepeval"
    folder.mkdir(exist_ok=True)
    judge = _judge(server)
    own = run(all_metrics(judge=judge), "results")
    (run_file,) = Path("results").glob("test_run_*.json")
    (folder / "test_run.json").write_text(run_file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "evaluation_result.json").write_text(own.model_dump_json(indent=1), encoding="utf-8")
    table = [
        {
            "input": result.input,
            "actual_output": result.actual_output,
            "retrieval_context": result.retrieval_context,
            **{data.name: data.score for data in result.metrics_data or ()},
            **{f"{data.name}_reason": data.reason or data.error for data in result.metrics_data},
        }
        for result in own.test_results
    ]
    pandas.DataFrame(table).to_csv(folder / "scores.csv", index=False)
    strict = run(all_metrics(judge=judge, strict_mode=True))
    (folder / "strict.json").write_text(strict.model_dump_json(indent=1), encoding="utf-8")
    model = OpenAIModel(MODEL, api_key=KEY, base_url=server.base_url)
    native = run([FaithfulnessMetric(model=model), AnswerRelevancyMetric(model=model)])
    (folder / "native.json").write_text(native.model_dump_json(indent=1), encoding="utf-8")


def main() -> None:
    # before the frameworks are imported, which read it then
    os.environ.update(
        RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="1", DEEPEVAL_DISABLE_DOTENV="1"
    )
    warnings.simplefilter("ignore")
    write_samples()
    script = Script(_grades, otherwise=_native, justification="Said by the script.")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),  # DeepEval writes where it stands
        ScriptedServer(script, faults=When(_fails, Garbage()), api_key=KEY) as server,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        ragas_files(server)
        deepeval_files(server)


if __name__ == "__main__":
    main()
