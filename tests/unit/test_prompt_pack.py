"""Prompt packs: what is rendered, what the reply is said to be, and what a wrong pack says."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import jinja2
import pytest

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import (
    JUDGED_METRICS,
    METRICS,
    Citations,
    JsonSchema,
    Metric,
    reply_schema,
    single_call_schema,
)
from grouse_adapters.core.prompt_pack import (
    MissingInputError,
    PromptPack,
    RenderedPrompt,
    Switches,
    TooManyReferencesError,
)
from grouse_adapters.core.sample import Sample

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "prompts" / "grouse"
PACK = PromptPack.load()
RELEVANCY, COMPLETENESS, USEFULNESS, FAITHFULNESS = JUDGED_METRICS
SAMPLE = Sample(
    input="How long is the pier?",
    references=("The pier measures 40 m.", "Ferries leave at noon."),
    expected_output="It is 40 m long [1].",
    actual_output="The pier is 40 m long [1].",
)
ALONE = SAMPLE.model_copy(update={"expected_output": None})
ALL_SWITCHES = [
    Switches(expected_answer=e, justification=j, reasoning=r, citations=c)
    for e, j, r, c in itertools.product(*[(True, False)] * 3, get_args(Citations))
]
PROMPTS: list[Metric | None] = [*JUDGED_METRICS, None]
PROMPT_IDS = [metric.name if metric else "single call" for metric in PROMPTS]


def rendered(
    metric: Metric | None,
    sample: Sample = SAMPLE,
    switches: Switches = Switches(),  # noqa: B008  # frozen
    pack: PromptPack = PACK,
) -> RenderedPrompt:
    if metric is None:
        return pack.render_single_call(sample, switches)
    return pack.render(metric, sample, switches)


def write(folder: Path, **files: str) -> Path:
    """A pack: names are given without their ``.txt.jinja``; ``pack`` is pack.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        file = "pack.toml" if name == "pack" else f"{name}.txt.jinja"
        (folder / file).write_text(text, encoding="utf-8")
    return folder


# --- the shipped pack ---------------------------------------------------------------------------


def test_the_shipped_pack_supports_everything() -> None:
    assert (PACK.name, PACK.version, PACK.form.kind) == ("grouse", "1", "json")
    assert PACK.refusals
    assert PACK.supports_single_call
    assert all(PACK.supports(name) for name in METRICS)


@pytest.mark.parametrize("metric", PROMPTS, ids=PROMPT_IDS)
def test_a_prompt_shows_what_its_metric_needs(metric: Metric | None) -> None:
    text = rendered(metric).text
    shows = metric.shows if metric else ("input", "references", "expected_output", "actual_output")
    assert ("| How long is the pier?" in text) == ("input" in shows)
    assert ("REFERENCE [2]\n| Ferries leave at noon." in text) == ("references" in shows)
    assert "ANSWER 1\n| It is 40 m long [1].\n\nANSWER 2\n| The pier is 40 m long [1].\n" in text
    assert "JSON" in text


@pytest.mark.parametrize("switches", ALL_SWITCHES, ids=str)
@pytest.mark.parametrize("metric", PROMPTS, ids=PROMPT_IDS)
def test_the_shape_in_the_prompt_is_the_schema(metric: Metric | None, switches: Switches) -> None:
    prompt = rendered(metric, switches=switches)
    answers = 2 if switches.expected_answer else 1
    options: dict[str, Any] = {
        "answers": answers,
        "reasoning": switches.reasoning,
        "justification": switches.justification,
        "citations": switches.citations,
    }
    expected = reply_schema(metric, **options) if metric else single_call_schema(**options)
    assert prompt.answers == answers
    assert prompt.schema == expected
    for choice in ("first", "last"):
        assert_conforms(example_reply(prompt.text, choice), expected)


def example_reply(text: str, choice: str) -> Any:
    """The reply shape as the prompt shows it, with the first or last of each ``a | b`` chosen."""
    shape = text.split("and nothing else:\n")[1].split("\n\nSAMPLE\n")[0]
    pick = 0 if choice == "first" else -1
    token = r"(?:true|false|null|[0-9])"
    return json.loads(
        re.sub(rf"{token}(?: \| {token})+", lambda match: match[0].split(" | ")[pick], shape)
    )


def assert_conforms(value: Any, schema: JsonSchema) -> None:
    if "enum" in schema:
        assert value in (schema["enum"][0], schema["enum"][-1])
        assert not isinstance(value, bool)
    elif schema["type"] == "object":
        assert list(value) == schema["required"] == list(schema["properties"])
        for key, inner in schema["properties"].items():
            assert_conforms(value[key], inner)
    elif schema["type"] == "array":
        assert len(value) == 1
        assert_conforms(value[0], schema["items"])
    else:
        assert type(value) is {"boolean": bool, "string": str}[schema["type"]]


@pytest.mark.parametrize("switches", ALL_SWITCHES, ids=str)
@pytest.mark.parametrize("metric", PROMPTS, ids=PROMPT_IDS)
def test_prompts_of_two_samples_share_all_that_stands_before_the_sample(
    metric: Metric | None, switches: Switches
) -> None:
    other = Sample(input="Warum?", references=(), expected_output="Darum.\nEben.", actual_output="")
    first, second = (rendered(metric, s, switches).text for s in (SAMPLE, other))
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    shared = "".join(character for character, _ in same)
    assert "\nSAMPLE\n" in shared
    # They part in the first line of sample text, or where one has no references at all.
    assert shared.endswith(("| ", "\n\nREFERENCE"))


def test_a_sample_without_an_expected_answer_is_asked_about_one_answer() -> None:
    for metric in PROMPTS:
        without = rendered(metric, ALONE)
        off = rendered(metric, switches=Switches(expected_answer=False))
        assert without == off
        assert without.answers == 1
        assert "ANSWER 1\n| The pier is 40 m long [1].\n" in without.text
        assert "It is 40 m long" not in without.text
        assert "answer_2" not in without.text
        assert "both answers" not in without.text


def test_the_judge_is_never_told_which_answer_is_expected() -> None:
    for metric in PROMPTS:
        for switches in ALL_SWITCHES:
            text = rendered(metric, switches=switches).text.lower()
            assert not re.search(r"expected|ground truth|gold|ideal|correct answer", text)


def test_switches_take_out_what_they_name() -> None:
    full = rendered(FAITHFULNESS).text
    assert "criterion_1" in full
    assert "content_analysis_sentence_by_sentence" in full
    ignored = rendered(FAITHFULNESS, switches=Switches(citations="ignored")).text
    assert "criterion_1" not in ignored
    assert "criterion_2" not in ignored
    assert "some reference supports" in ignored
    for metric in PROMPTS:
        plain = Switches(justification=False)
        assert "justification" not in rendered(metric, switches=plain).text
        direct = Switches(justification=False, reasoning=False)
        bare = rendered(metric, switches=direct).text
        assert not re.search(r"First settle|answer_affirms|answer_only|content_analysis", bare)


def test_empty_fields_keep_their_place() -> None:
    empty = Sample(input="", references=(), expected_output="", actual_output="")
    text = rendered(COMPLETENESS, empty).text
    assert "QUESTION\n| \n\nREFERENCES\n(none were found)\n\nANSWER 1\n| \n\nANSWER 2\n| \n" in text


def test_the_fixed_text_stays_short() -> None:
    """The reference's four prompts have about 2500 fixed tokens; ours must not cost more."""
    empty = Sample(input="", references=(), expected_output="", actual_output="")
    tokens = sum(len(rendered(metric, empty).text) for metric in JUDGED_METRICS) / 4
    assert tokens <= 2500
    assert len(rendered(None, empty).text) / 4 <= 0.75 * tokens


def test_refusals_come_from_pack_toml(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "mine")
    settings = (folder / "pack.toml").read_text(encoding="utf-8")
    wording = "Keine Quelle beantwortet das"
    settings = re.sub(r"refusals = \[.*?\]", f'refusals = ["{wording}"]', settings, flags=re.S)
    (folder / "pack.toml").write_text(settings, encoding="utf-8")
    pack = PromptPack.load(folder)
    assert pack.refusals == (wording,)
    for metric in PROMPTS:
        text = rendered(metric, pack=pack).text
        assert f'"{wording}"' in text
        assert PACK.refusals[0] not in text


def test_quote_is_a_filter_for_every_pack(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", usefulness="{{ actual_output | quote }}")
    two_lines = SAMPLE.model_copy(update={"actual_output": "one\r\ntwo\u2028three"})
    prompt = rendered(USEFULNESS, two_lines, pack=PromptPack.load(folder))
    assert prompt.text == "| one\n| two\n| three"


def test_packs_are_found_inside_an_installed_wheel(tmp_path: Path) -> None:
    """Lays the files out as the wheel does: prompts/ inside the package."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "grouse_adapters", tmp_path / "grouse_adapters", ignore=ignore)
    shutil.copytree(ROOT / "prompts", tmp_path / "grouse_adapters" / "prompts")
    program = (
        "import grouse_adapters.core.prompt_pack as p;"
        "print(p.__file__); print(p.PromptPack.load().fingerprint(p.Switches()))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    place, fingerprint = done.stdout.split()
    assert Path(place).is_relative_to(tmp_path)
    assert fingerprint == PACK.fingerprint(Switches())


# --- fingerprints -------------------------------------------------------------------------------


def test_a_fingerprint_does_not_depend_on_place_or_line_ends(tmp_path: Path) -> None:
    copy = shutil.copytree(SHIPPED, tmp_path / "elsewhere")
    for file in copy.rglob("*.*"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert PromptPack.load(copy).fingerprint(Switches()) == PACK.fingerprint(Switches())
    (copy / "README.md").write_text("Not a template.", encoding="utf-8")
    assert PromptPack.load(copy).fingerprint(Switches()) == PACK.fingerprint(Switches())


def test_a_fingerprint_depends_on_switches_templates_and_settings(tmp_path: Path) -> None:
    prints = {PACK.fingerprint(switches) for switches in ALL_SWITCHES}
    assert len(prints) == len(ALL_SWITCHES)
    for number, file in enumerate(
        ["completeness.txt.jinja", "base.txt.jinja", "rubrics/usefulness.txt.jinja"]
    ):
        copy = shutil.copytree(SHIPPED, tmp_path / str(number))
        with (copy / file).open("a", encoding="utf-8") as stream:
            stream.write("{# a change #}")
        prints.add(PromptPack.load(copy).fingerprint(Switches()))
    copy = shutil.copytree(SHIPPED, tmp_path / "settings")
    settings = (copy / "pack.toml").read_text(encoding="utf-8")
    (copy / "pack.toml").write_text(settings.replace('version = "1"', 'version = "1.1"'), "utf-8")
    prints.add(PromptPack.load(copy).fingerprint(Switches()))
    assert len(prints) == len(ALL_SWITCHES) + 4


def test_a_loaded_pack_does_not_follow_changes_on_disk(tmp_path: Path) -> None:
    folder = shutil.copytree(SHIPPED, tmp_path / "pack")
    pack = PromptPack.load(folder)
    before = pack.fingerprint(Switches()), rendered(None, pack=pack)
    for file in folder.rglob("*.jinja"):
        file.write_text("changed", encoding="utf-8")
    assert (pack.fingerprint(Switches()), rendered(None, pack=pack)) == before


# --- reference-style folders --------------------------------------------------------------------

REFERENCE_STYLE = """Rate both answers and reply in JSON.
Question: {{ input }}
{% for context in contexts %}
Document {{ loop.index }}: {{ context }}
{% endfor %}
answer_1: {{ expected_output }}
answer_2: {{ actual_output }}
"""


def test_a_reference_style_folder_works_unchanged(tmp_path: Path) -> None:
    files = {metric.name: f"{metric.name}: {REFERENCE_STYLE}" for metric in JUDGED_METRICS}
    pack = PromptPack.load(str(write(tmp_path / "gpt-4", **files)))
    assert (pack.name, pack.version, pack.form.kind) == ("gpt-4", "", "json")
    assert not pack.supports_single_call
    for metric in JUDGED_METRICS:
        prompt = rendered(metric, pack=pack)
        assert prompt.text == jinja2.Template(files[metric.name]).render(
            input=SAMPLE.input,
            contexts=list(SAMPLE.references),
            expected_output=SAMPLE.expected_output,
            actual_output=SAMPLE.actual_output,
        )
        assert prompt.answers == 2
        assert prompt.schema == rendered(metric).schema
        with pytest.raises(
            MissingInputError, match=rf"{metric.template}.*needs an expected answer"
        ):
            rendered(metric, ALONE, pack=pack)


def test_sample_text_is_never_a_template(tmp_path: Path) -> None:
    pack = PromptPack.load(write(tmp_path / "raw", completeness=REFERENCE_STYLE))
    tricky = "{{ 7 * 7 }} {% raw %} {# gone #} {{ reference_1 }}"
    sample = Sample(
        input=tricky, references=(tricky,), expected_output=tricky, actual_output=tricky
    )
    assert rendered(COMPLETENESS, sample, pack=pack).text.count(tricky) == 4


def test_a_folder_may_hold_some_templates_only(tmp_path: Path) -> None:
    pack = PromptPack.load(write(tmp_path / "some", answer_relevancy=REFERENCE_STYLE))
    assert pack.supports("answer_relevancy")
    assert not pack.supports("faithfulness")
    assert not pack.supports("positive_acceptance")
    with pytest.raises(ConfigurationError, match=r"has no faithfulness\.txt\.jinja"):
        rendered(FAITHFULNESS, pack=pack)
    with pytest.raises(ConfigurationError, match=r"has no all_metrics\.txt\.jinja"):
        rendered(None, pack=pack)


def test_switches_that_a_folder_cannot_follow_are_refused_at_once(tmp_path: Path) -> None:
    pack = PromptPack.load(write(tmp_path / "p", faithfulness=REFERENCE_STYLE))
    with pytest.raises(ConfigurationError, match="always shows the expected answer"):
        pack.fingerprint(Switches(expected_answer=False))
    with pytest.raises(ConfigurationError, match="no wording for ignored citations"):
        pack.fingerprint(Switches(citations="ignored"))
    shorter = rendered(FAITHFULNESS, switches=Switches(justification=False), pack=pack)
    assert "justification" not in json.dumps(shorter.schema)


@pytest.mark.parametrize(
    ("template", "settings", "answers"),
    [
        ("{{ expected_output }} {{ actual_output }}", "", 2),
        ("{{ actual_output }}", "", 1),
        ("{% if answers == 2 %}{{ expected_output }}{% endif %}{{ actual_output }}", "", 2),
        ("{{ expected_output }} {{ actual_output }}", "[reply]\nanswers = 1", 1),
        ("{{ actual_output }}", "[reply]\nanswers = 2", 2),
    ],
)
def test_the_number_of_answers_follows_the_template(
    tmp_path: Path, template: str, settings: str, answers: int
) -> None:
    folder = write(tmp_path / "p", usefulness=template, pack=settings)
    prompt = rendered(USEFULNESS, pack=PromptPack.load(folder))
    assert prompt.answers == answers
    assert prompt.schema == reply_schema(
        USEFULNESS, answers=answers, reasoning=True, justification=True, citations="required"
    )


# --- numbered placeholders ----------------------------------------------------------------------

NUMBERED = "{{input}}|{{reference_1}}|{{reference_2}}|{{reference_3}}|{{actual_output}}"


def test_numbered_placeholders_are_filled_or_left_empty(tmp_path: Path) -> None:
    pack = PromptPack.load(write(tmp_path / "card", all_metrics=NUMBERED))
    assert pack.supports_single_call
    assert rendered(None, pack=pack).text == (
        "How long is the pier?|The pier measures 40 m.|Ferries leave at noon.||"
        "The pier is 40 m long [1]."
    )
    bare = SAMPLE.model_copy(update={"references": ()})
    assert rendered(None, bare, pack=pack).text == (
        "How long is the pier?||||The pier is 40 m long [1]."
    )
    nested = SAMPLE.model_copy(update={"references": ("{{reference_2}}", "B")})
    assert "|{{reference_2}}|B||" in rendered(None, nested, pack=pack).text


@pytest.mark.parametrize("numbers", [(1, 2), (1, 3), (2, 3)])
def test_references_without_a_placeholder_are_never_dropped(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    template = " ".join(f"{{{{reference_{number}}}}}" for number in numbers)
    pack = PromptPack.load(write(tmp_path / "card", all_metrics=template))
    three = SAMPLE.model_copy(update={"references": ("a", "b", "c")})
    absent = ({1, 2, 3} - set(numbers)).pop()
    with pytest.raises(TooManyReferencesError, match=rf"{{{{reference_{absent}}}}}.*3 references"):
        rendered(None, three, pack=pack)
    assert issubclass(TooManyReferencesError, MissingInputError)  # recorded, not the run's end


# --- [RESULT] packs -----------------------------------------------------------------------------

RESULT_PACK = """
[reply]
form = "result"

[reply.results.faithfulness]
1 = 0
3 = "null"
5 = 1
"""


def test_a_result_pack_has_one_answer_and_no_schema(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "prometheus",
        pack=RESULT_PACK,
        faithfulness="{{ actual_output }} against {{ expected_output }}",
        all_metrics="{{ actual_output }}",
    )
    pack = PromptPack.load(folder)
    assert pack.form.kind == "result"
    assert pack.form.results == {"faithfulness": {"1": 0, "3": None, "5": 1}}
    assert not pack.supports_single_call
    prompt = rendered(FAITHFULNESS, pack=pack)
    assert prompt == RenderedPrompt(
        f"{SAMPLE.actual_output} against {SAMPLE.expected_output}", 1, None
    )
    with pytest.raises(MissingInputError):
        rendered(FAITHFULNESS, ALONE, pack=pack)


# --- what a wrong pack says ---------------------------------------------------------------------


def one_sentence(error: pytest.ExceptionInfo[ConfigurationError]) -> str:
    message = str(error.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ["grous", "", "no/such/folder", "../grouse"])
def test_an_unknown_pack_lists_the_shipped_ones(name: str) -> None:
    with pytest.raises(ConfigurationError, match="choose grouse, or give the path") as error:
        PromptPack.load(name)
    one_sentence(error)


def test_a_file_is_no_pack() -> None:
    with pytest.raises(ConfigurationError, match="give the path of a folder"):
        PromptPack.load(SHIPPED / "pack.toml")


def test_an_empty_folder_says_which_files_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"answer_relevancy\.txt\.jinja") as error:
        PromptPack.load(tmp_path)
    one_sentence(error)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("a\n{% if %}", r"usefulness\.txt\.jinja, line 2,"),
        ("a\nb\n{{ input | nofilter }}", r"line 3, .*nofilter"),
        ("{% include 'gone.txt' %}", r"line 1, uses 'gone\.txt', which is not there"),
        ("\n{% include '../secret.txt' %}", r"line 2, uses '\.\./secret\.txt' outside"),
        ("{% include input %}", r"line 1, does not name its file"),
        ("{% extends input %}", r"line 1, does not name its file"),
        ("{% import 'gone' as g %}", r"'gone', which is not there"),
    ],
)
def test_a_broken_template_names_file_and_line(tmp_path: Path, template: str, says: str) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=says) as error:
        PromptPack.load(write(tmp_path / "p", usefulness=template))
    one_sentence(error)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("\n{{ ''.__class__.__mro__ }}", r"line 2, does what the sandbox forbids.*__class__"),
        ("{{ refusals.__len__() }}", r"sandbox forbids"),
        ("{{ contexts.append(1) }}", r"sandbox forbids"),
        ("\n\n{{ question }}", r"line 3, fails because 'question' is undefined: the variables are"),
        ("{{ 1 / 0 }}", r"line 1, fails with ZeroDivisionError"),
        ("{% for i in range(10**9) %}x{% endfor %}", r"fails with OverflowError"),
        ("{{ contexts | quote }}", r"fails with AttributeError"),
        ("{% include 'part.txt' %}", r"part\.txt, line 2, fails because 'oops' is undefined"),
    ],
)
def test_a_failing_template_names_file_and_line(tmp_path: Path, template: str, says: str) -> None:
    folder = write(tmp_path / "p", usefulness=template)
    (folder / "part.txt").write_text("a\n{{ oops }}", encoding="utf-8")
    pack = PromptPack.load(folder)
    with pytest.raises(ConfigurationError, match=says) as error:
        rendered(USEFULNESS, pack=pack)
    one_sentence(error)


def test_optional_includes_may_be_absent(tmp_path: Path) -> None:
    template = "a{% include 'gone.txt' ignore missing %}b"
    pack = PromptPack.load(write(tmp_path / "p", usefulness=template))
    assert rendered(USEFULNESS, pack=pack).text == "ab"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("name = ", "is not valid TOML"),
        ("nam = 'x'", "unknown key 'nam': the keys known there are name, version, refusals, reply"),
        ("[reply]\nfrom = 'json'", "'reply.from': the keys known there are form, answers, results"),
        ("version = 1", "'version' is wrong"),
        ("name = ''", "'name' is wrong"),
        ("refusals = 'no'", "'refusals' is wrong"),
        ("[reply]\nform = 'xml'", "'reply.form' is wrong"),
        ("[reply]\nanswers = 3", "'reply.answers' is wrong"),
        ("[reply]\nform = 'result'\nanswers = 2", "set reply.answers to 1"),
        ("[reply.results.usefulness]\n1 = 0", "set reply.form to it"),
        ("[reply]\nform = 'result'\n[reply.results.usefulness]\n1 = 5", "must be 0 or 1 or"),
        ("[reply]\nform = 'result'\n[reply.results.usefulness]\n1 = true", "is wrong"),
        ("[reply]\nform = 'result'\n[reply.results.negative_rejection]\n1 = 1", "is derived"),
        ("[reply]\nform = 'result'\n[reply.results.speed]\n1 = 1", "'reply.results.speed"),
    ],
)
def test_a_wrong_pack_toml_says_what_is_allowed(tmp_path: Path, settings: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)) as error:
        PromptPack.load(write(tmp_path / "p", usefulness="x", pack=settings))
    assert "pack.toml" in one_sentence(error)


def test_files_in_another_encoding_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", usefulness="x")
    (folder / "usefulness.txt.jinja").write_bytes("café".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"usefulness\.txt\.jinja is not UTF-8"):
        PromptPack.load(folder)


def test_wrong_switches_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="citations must be one of required, ignored"):
        Switches(citations="none")  # type: ignore[arg-type]  # what an untyped caller may pass


# --- the documentation --------------------------------------------------------------------------
