"""`shardtalk judge-check`: its measures against values worked out by hand, its reading of logs, the command as it is used."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.judge_check import judge_check, kappa
from simulator.labelled import labelled_replies, log_files, read_logs, user_turns
from tasks.errors import DatasetError

REFERENCE = Path(__file__).parents[2] / "../shared/data/reference_logs"


def log(kind: str, **content: Any) -> dict[str, Any]:
    return {"role": "log", "content": {"type": kind, **content}}


def exchange(user: str, reply: str | None, label: str, mark: str | None = None) -> list[dict[str, Any]]:
    marks = [log(mark, shard_id=2)] if mark else []
    replied = [{"role": "user", "content": user}, {"role": "assistant", "content": reply}]
    return [*marks, *replied, log("system-verification", response={"response_type": label})]


CONVERSATION = {
    "task": "math",
    "task_id": "sharded-GSM8K/1",
    "assistant_model": "some/model",
    "trace": [
        {"role": "system", "content": "Solve it."},
        *exchange("how much do the pears cost?", "Which pears?", "clarification", "hint_revealed"),
        *exchange(
            "Just to reiterate,\n- how much do the pears cost?\n\nAlso,\n\nThere are 3 pears at $2 each.",
            "The answer is $6.",
            "answer_attempt",
            "hint_revealed",
        ),
        *exchange("3 pears are $2 each", "I cannot tell you more.", "answer_attempt", "duplicate_shard_ignored"),
        *exchange("they are green", None, "missing"),
        log("answer-evaluation", score=1.0),
    ],
}
LABELS = ["clarification", "answer_attempt", "answer_attempt", "missing"]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "math"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(json.dumps(CONVERSATION) + "\n\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.write(json.dumps(CONVERSATION | {"assistant_model": "other"}))
    return tmp_path / "logs"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(judge_check, [str(argument) for argument in arguments], catch_exceptions=False)


# -- reading ------------------------------------------------------------------------------------------------------


def test_labelled_replies_are_read() -> None:
    replies = list(labelled_replies(CONVERSATION))
    assert [reply.label for reply in replies] == LABELS
    assert [reply.reply for reply in replies] == ["Which pears?", "The answer is $6.", "I cannot tell you more.", ""]
    assert replies[1].instance.shards[-1].text == "There are 3 pears at $2 each."
    assert replies[1].assistant == "some/model"


def test_user_turns_are_read_without_the_recap() -> None:
    turns = list(user_turns(CONVERSATION))
    assert [turn.text for turn in turns] == ["There are 3 pears at $2 each.", "3 pears are $2 each", "they are green"]
    assert [turn.repeat for turn in turns] == [False, True, None]
    assert turns[1].said == ("how much do the pears cost?", "There are 3 pears at $2 each.")


def test_names_of_functions_are_taken_from_the_system_text() -> None:
    system = {"role": "system", "content": "[{'name': 'pay.now', 'parameters': {'name': {'type': 'string'}}}]"}
    trace = [system, *exchange("pay", "[pay.now()]", "answer_attempt")]
    (reply,) = labelled_replies({"task": "actions", "trace": trace})
    assert reply.instance.data == {"functions": [{"name": "pay.now"}]}


def test_unknown_labels_are_left_out() -> None:
    assert not list(labelled_replies({"task": "math", "trace": exchange("a", "b", "nonsense")}))


def test_files_are_found_in_folders(logs: Path) -> None:
    assert [path.name for path in log_files([logs])] == ["a.jsonl", "b.jsonl.gz"]
    assert sum(1 for path in log_files([logs]) for _ in read_logs(path)) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"task": "math"}', '{"trace": []}'])
def test_a_row_that_is_no_log_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(CONVERSATION) + "\n" + text)
    with pytest.raises(DatasetError, match=r"x\.jsonl, row 2"):
        list(read_logs(file))


# -- measuring ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        # Cohen's table in one's head: 20 of 50 yes-yes, 15 no-no; chance 0.5, agreement 0.7.
        ([("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15, 0.4),
        ([("y", "y"), ("n", "n")], 1.0),
        ([("y", "n"), ("n", "y")], -1.0),
        ([("y", "y"), ("y", "y")], 1.0),
        ([("y", "n"), ("y", "y")], 0.0),
        ([], 0.0),
    ],
)
def test_kappa(pairs: Sequence[tuple[str, str]], expected: float) -> None:
    assert kappa(pairs) == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[str, str]]) -> None:
    assert kappa(pairs) == pytest.approx(kappa([(other, one) for one, other in pairs]))
    assert kappa(pairs) <= 1.0 + 1e-12


# -- the command --------------------------------------------------------------------------------------------------


def test_figures_as_json(logs: Path) -> None:
    figures = json.loads(run(logs, "--json").output)
    rows = {(row["task"], row["assistant"]): row for row in figures["labels"]}
    assert list(rows) == [("math", "other"), ("math", "some/model"), ("math", "all")]
    everything = rows["math", "all"]
    # Of the four replies of each log only the third is judged otherwise: recorded attempt, judged refuse.
    assert (everything["replies"], everything["failures"], everything["disagreements"]) == (8, {}, 2)
    assert everything["attempt"] == everything["classes"] == 0.75
    assert everything["attempt_kappa"] == pytest.approx(0.5)
    assert everything["confusion"]["answer_attempt"]["refuse"] == 2
    assert figures["repeats"][-1] == {
        "task": "math",
        "assistant": "all",
        "turns": 4,
        "repeats": 2,
        "precision": 1.0,
        "recall": 1.0,
    }


def test_tables_and_disagreements(logs: Path) -> None:
    output = run(logs, "--show", "5").output
    assert "math  all         8        0       75.0%    0.50   75.0%" in output
    assert output.count("recorded answer_attempt, judged refuse") == 2
    assert "I cannot tell you more." in output


def test_control_characters_of_models_do_not_reach_the_terminal(tmp_path: Path) -> None:
    reply = "\x1b[2J\x1b]0;owned\x07 I cannot say."
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps(CONVERSATION | {"trace": exchange("a\x1b[1mb", reply, "answer_attempt")}))
    output = run(file, "--show", "1").output
    assert "I cannot say." in output
    assert "\x1b" not in output


def test_a_limit_draws_the_same_replies_for_the_same_seed(logs: Path) -> None:
    first, second = (json.loads(run(logs, "--limit", "2", "--seed", "3", "--json").output) for _ in range(2))
    assert first == second
    assert [row["replies"] for row in first["labels"]] == [2, 2, 4]


@pytest.mark.parametrize("judge", ["llm", "llm-paper"])
def test_a_model_judge(logs: Path, judge: str) -> None:
    says = 'fake:text={"response_type": "missing", "answer": ""}'
    row = json.loads(run(logs, "--judge", judge, "--judge-model", says, "--json").output)["labels"][-1]
    assert row["classes"] == 0.25


def test_a_judge_that_fails_is_counted_apart(logs: Path) -> None:
    row = json.loads(run(logs, "--judge", "llm", "--judge-model", "fake:text=hm", "--json").output)["labels"][-1]
    assert (row["replies"], row["failures"]) == (8, {"malformed": 6})  # an empty reply needs no model
    assert row["attempt"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "llm"], "--judge-model"),
        (["--judge", "llm", "--judge-model", "nonsense"], "openai:nonsense"),
    ],
)
def test_a_missing_or_unknown_model_is_one_clear_message(
    exit_code: Callable[..., object], logs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert exit_code("judge-check", logs, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.slow
@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference logs are not here")
def test_the_rules_agree_with_the_reference_logs() -> None:
    figures = json.loads(run(REFERENCE, "--json").output)
    attempt = {row["task"]: row["attempt"] for row in figures["labels"] if row["assistant"] == "all"}
    assert attempt["math"] > 0.85
    assert attempt["actions"] > 0.94
    found = {row["task"]: row for row in figures["repeats"] if row["assistant"] == "all"}
    assert min(found["math"]["recall"], found["actions"]["recall"]) > 0.95
    # Three in four of the "false" finds among the maths turns do repeat what was said, under another shard's id.
    assert found["math"]["precision"] > 0.93
    assert found["actions"]["precision"] > 0.95
