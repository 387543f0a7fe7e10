"""Runs from elsewhere and for elsewhere: nothing is lost on the way that the format has a place for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import analysis
from analysis import exchange, measures, reference_read, texts
from analysis.commands import export, import_command
from analysis.errors import AnalysisError
from simulator.columns import CONVERSATION_COLUMNS
from simulator.store import Store

LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "reference_logs"
real = pytest.mark.skipif(not LOGS.exists(), reason="real logs are not here")


def invoke(command, *arguments) -> str:
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    return result.stdout + result.stderr


def records(run) -> dict[str, object]:
    with Store(run) as store:
        return {record.key: record for record in store.records()}


# -- logs written by hand --------------------------------------------------------------------------------------------------


def entry(kind, **more):
    return {"role": "log", "content": {"type": kind, **more}}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def attempt(answer, score=None, **more):
    returned = ({} if score is None else {"score": score}) | more
    verified = entry("system-verification", response={"response_type": "answer_attempt"})
    evaluated = entry(
        "answer-evaluation",
        exact_answer=answer,
        is_correct=more.get("is_correct"),
        score=score,
        evaluation_return=returned,
    )
    return [verified | {"cost_usd": 0.001}, evaluated]


def sharded(conv_id="a" * 24, **more):
    """Wrong after the first shard, right after the second."""
    trace = [
        said("system", "Be good."),
        said("user", "how many?", timestamp="2025-01-01 10:00:00", cost_usd=0.0),
        entry("shard_revealed", shard_id=1),
        said("assistant", "Seven?", timestamp="2025-01-01 10:00:05", cost_usd=0.01),
        *attempt("7", 0.0),
        said("user", "six times seven", cost_usd=0.002),
        entry("shard_revealed", shard_id=2),
        said("assistant", "42", timestamp="2025-01-01 10:00:09", cost_usd=0.01),
        *attempt("42", 1.0),
        entry("conversation-completed", is_correct=True),
    ]
    return {
        "conv_id": conv_id, "conv_type": "sharded", "task": "math", "task_id": "sharded-GSM8K/1",
        "dataset_fn": "sharded_instructions_600.json", "assistant_model": "gpt-4o", "system_model": "gpt-4o-mini",
        "user_model": "gpt-4o-mini", "git_version": "abc", "trace": trace, "is_correct": True, "score": 1.0,
    } | more  # fmt: skip


def recap():
    source = sharded()
    more = [said("user", "to recapitulate: …"), said("assistant", "no idea", cost_usd=0.01)]
    refused = entry("system-verification", response={"response_type": "refuse"}) | {"cost_usd": 0.001}
    trace = [*source["trace"], *more, refused]
    return sharded("b" * 24, conv_type="recap-concat", trace=trace, is_correct=False, score=None) | {
        "source_conv_id": "a" * 24, "source_is_correct": True
    }  # fmt: skip


def full(score, is_correct, evaluation, conv_id="c" * 24, **more):
    trace = [
        said("system", "Be good."),
        said("user", "how many? six times seven"),
        said("assistant", "Seven.", cost_usd=0.01),
        entry("answer-evaluation", exact_answer="7", is_correct=is_correct, score=score, evaluation_return=evaluation),
    ]
    kind = {"conv_type": "full", "system_model": "NA", "user_model": "NA"} | more
    return sharded(conv_id, trace=trace, is_correct=is_correct, score=score, **kind)


def written(folder: Path, *logs, name="log.jsonl", end="\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(log if isinstance(log, str) else json.dumps(log) for log in logs) + end)
    return folder


def imported(tmp_path: Path, *logs, **more) -> Path:
    exchange.import_logs(written(tmp_path / "logs", *logs), tmp_path / "run", **more)
    return tmp_path / "run"


def test_a_sharded_log_becomes_a_record(tmp_path):
    (record,) = records(imported(tmp_path, sharded())).values()
    assert (record.mode, record.policy, record.task, record.assistant) == ("sharded", "sharded", "math", "gpt-4o")
    assert (record.user, record.judge, record.ended) == ("llm:gpt-4o-mini", "llm:gpt-4o-mini", "solved")
    assert [turn.reveals for turn in record.turns] == [(1,), (2,)]
    assert [turn.reply for turn in record.turns] == ["Seven?", "42"]
    assert [turn.said_by for turn in record.turns] == ["verbatim", "llm"]
    assert (record.score, record.correct, record.first_correct, record.last_attempt, record.last_turn) == (
        1.0,
        True,
        1.0,
        1.0,
        1.0,
    )
    assert record.attempts == 2
    assert [shard.text for shard in record.instance.shards] == ["how many?", "six times seven"]
    assert sum(call.cost for call in record.calls) == pytest.approx(0.024)
    assert record.seconds == 9


def test_what_is_correct_without_a_number_is_1_and_no_attempt_is_0(tmp_path):
    logs = [
        full(1.0, None, {"score": 1.0}, "0"),
        full(None, True, {"is_correct": True}, "1"),
        full(None, False, {"is_correct": False, "error": ["parse"]}, "2"),
        full(1.0000000000000004, True, {"score": 1.0000000000000004}, "3"),
        full(1, True, {"is_correct": True, "score": 1}, "4"),
        sharded("5", trace=[said("user", "hm"), said("assistant", None)], is_correct=False, score=None),
    ]
    frame = analysis.conversations(run := imported(tmp_path, *logs))
    assert frame["score"].tolist() == [1, 1, 0, 1, 1, 0]
    assert frame["correct"].tolist() == [True, True, False, True, True, False]
    status = measures.answer_status(frame, analysis.turns(run))
    assert status.tolist() == ["scored", "scored", "unreadable", "scored", "scored", "no attempt"]
    assert texts.texts(run)["reply"].tolist()[-1] == ""


def test_not_a_number_is_missing(tmp_path):
    line = json.dumps(full(0.5, None, {"score": 0.5, "citation_recall": float("nan")}))
    assert "NaN" in line
    (record,) = records(imported(tmp_path, line)).values()
    assert record.turns[0].judgement.score.details == {"evaluation_return": {"score": 0.5, "citation_recall": None}}


@pytest.mark.parametrize(
    ("conv_type", "expected"),
    [
        ("full", ("full", "full", (), None, None)),
        ("full-t0.5", ("full", "full", (), 0.5, None)),
        ("sharded-at0.5-ut1.0", ("sharded", "sharded", (), 0.5, 1.0)),
        ("lazy", ("sharded", "sharded", (), None, None)),
        ("shuffle-concat", ("shuffle_concat", "shuffle_concat", (), None, None)),
        ("recap-concat", ("recap", "sharded", ("recap",), None, None)),
        ("snowball", ("snowball", "sharded", ("snowball",), None, None)),
        ("lazy-tree", ("lazy_tree", "sharded", (), None, None)),
    ],
)
def test_kinds_of_conversations(conv_type, expected):
    assert tuple(reference_read.kind(conv_type)) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [("python", "code"), ("apis", "actions"), ("totto", "data2text"), ("database_easy", "database"), ("math", "math")],
)
def test_old_names_of_tasks(old, new):
    assert reference_read.task_name(old) == new


def test_a_recap_continues_the_conversation_it_repeats(tmp_path):
    found = records(run := imported(tmp_path, recap(), sharded()))
    child, parent = found[reference_read.key("b" * 24)], found[reference_read.key("a" * 24)]
    assert (child.parent, child.inherited, len(child.turns)) == (parent.key, 2, 1)
    assert (child.score, child.attempts, child.last_attempt) == (0.0, 0, None)
    assert analysis.turns(run, inherited=True)["turn"].tolist() == [1, 2, 3, 1, 2]


def test_a_recap_without_its_source_is_whole(tmp_path):
    (record,) = records(imported(tmp_path, recap())).values()
    assert (record.parent, record.inherited, len(record.turns)) == (None, 0, 3)
    assert record.score == 0.0


def test_what_snowball_restates_is_not_what_the_user_said(tmp_path):
    message = "Just to reiterate,\n- how many?\n\nAlso,\n\nsix times seven\n"
    trace = [entry("hint_revealed", shard_id=1), said("user", "how many?"), said("assistant", "?")]
    trace += [entry("hint_revealed", hint_id="2"), said("user", message), said("assistant", "42"), *attempt("42", 1.0)]
    (record,) = records(imported(tmp_path, sharded(conv_type="snowball", trace=trace))).values()
    assert record.turns[1].utterance == "six times seven"
    assert record.turns[1].messages[0].content == message
    assert [turn.reveals for turn in record.turns] == [(1,), (2,)]


def test_repeats_are_numbered_and_instances_shared(tmp_path):
    first, short = sharded("1"), sharded("2", trace=sharded()["trace"][:5], is_correct=False, score=0.0)
    other = sharded("3", task_id="sharded-GSM8K/2")
    found = list(records(imported(tmp_path, first, short, other)).values())
    assert [record.repeat for record in found] == [0, 1, 0]
    assert found[0].instance == found[1].instance
    assert analysis.conversations(tmp_path / "run")["shards"].tolist() == [2, 2, 2]


def test_the_last_of_several_logs_with_one_id_counts(tmp_path):
    """Case RS-05."""
    again = sharded(trace=sharded()["trace"][:5], is_correct=False, score=0.0)
    frame = analysis.conversations(imported(tmp_path, again, sharded()))
    assert frame["score"].tolist() == [1.0]


def test_a_dataset_gives_the_instance_if_it_is_the_same_sharding(tmp_path):
    instance = {"id": "sharded-GSM8K/1", "task": "math", "instruction": "How many is six times seven?", "target": "42"}
    texts_of = {"same.jsonl": ("how many?", "it is six times seven"), "other.jsonl": ("how much?", "6 x 7")}
    for name, pieces in texts_of.items():
        shards = [{"id": i, "text": text} for i, text in enumerate(pieces, 1)]
        (tmp_path / name).write_text(json.dumps(instance | {"shards": shards}) + "\n")
    for name, target in (("same.jsonl", "42"), ("other.jsonl", None)):
        run = tmp_path / f"run {name}"
        exchange.import_logs(written(tmp_path / "logs", sharded()), run, tmp_path / name)
        assert [record.instance.target for record in records(run).values()] == [target]


# -- what is not there, or torn --------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_counted_and_the_rest_is_read(tmp_path):
    """Cases RS-01 and RS-10: nothing stops, and the log is not written to."""
    folder = written(tmp_path / "logs", sharded(), json.dumps(sharded("z"))[:90], end="")
    before = (folder / "log.jsonl").read_bytes()
    output = invoke(import_command, folder, "--out", tmp_path / "run")
    assert "1 conversations imported" in output
    assert "not read: log.jsonl:2: torn off" in output
    assert (folder / "log.jsonl").read_bytes() == before


def test_a_complete_last_line_needs_no_line_feed(tmp_path):
    folder = written(tmp_path / "logs", sharded("1"), sharded("2"), end="")
    assert exchange.import_logs(folder, tmp_path / "run") == exchange.Imported(2, 0, [])


def test_characters_that_look_like_line_ends_are_text(tmp_path):
    """Case RS-04."""
    odd = "x\u2028y\u0085z\x0bq\x0cr\x1cs"
    trace = [said("user", odd), said("assistant", odd), *attempt("42", 1.0)]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(sharded(trace=trace), ensure_ascii=False) + "\n", encoding="utf-8")
    exchange.import_logs(path, tmp_path / "run")
    assert texts.texts(tmp_path / "run")["reply"].tolist() == [odd]


def test_lines_that_are_no_conversation_are_named(tmp_path):
    broken = [
        sharded("1") | {"trace": [{"role": "user"}, 5]},
        sharded("2") | {"task_id": None},
        {"trace": []},
        "[1]",
        "{nonsense",
    ]
    found = exchange.import_logs(written(tmp_path / "logs", sharded(), *broken), tmp_path / "run")
    assert found.new == 1
    assert sorted(place.split(": ")[0] for place in found.unread) == [f"log.jsonl:{n}" for n in (2, 3, 4, 5, 6)]
    assert "log.jsonl:3: no conversation (TypeError: task_id is None, not a text)" in found.unread


def test_nothing_to_import_leaves_nothing_behind(tmp_path):
    for folder in (written(tmp_path / "a", '{"x": 1}'), written(tmp_path / "b", "", end="")):
        with pytest.raises(AnalysisError, match="nothing there is a log"):
            exchange.import_logs(folder, tmp_path / "run")
    with pytest.raises(AnalysisError, match="no such file"):
        exchange.import_logs(tmp_path / "nowhere", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_importing_again_adds_nothing(tmp_path):
    folder = written(tmp_path / "logs", sharded("1"), sharded("2"))
    assert "2 conversations imported" in invoke(import_command, folder, "--out", tmp_path / "run")
    assert "0 conversations imported into" in (text := invoke(import_command, folder, "--out", tmp_path / "run"))
    assert "2 were there" in text
    assert len(analysis.conversations(tmp_path / "run")) == 2


def test_parts_of_a_log_are_read_in_the_order_of_their_numbers(tmp_path):
    for part in (10, 2, 1):
        written(tmp_path / "logs", sharded(str(part), task_id=f"sharded-GSM8K/{part}"), name=f"log__{part}.jsonl")
    (tmp_path / "logs" / "log__3.jsonl.gz").write_bytes(
        gzip.compress(json.dumps(sharded("3", task_id="sharded-GSM8K/3")).encode())
    )
    exchange.import_logs(tmp_path / "logs", tmp_path / "run")
    assert [i.rpartition("/")[2] for i in analysis.conversations(tmp_path / "run")["instance"]] == ["1", "2", "3", "10"]


# -- round trips -----------------------------------------------------------------------------------------------------------

STANDARD = {"shard_revealed", "hint_revealed", "system-verification", "answer-evaluation"}


def stripped(log):
    """A log without what only a fork writes, times of messages, and the closing entry some logs lack."""
    keep = []
    for item in log["trace"]:
        if item["role"] != "log" or item["content"]["type"] in STANDARD:
            cost = (
                {"cost_usd": item["cost_usd"]}
                if "cost_usd" in item and (item["role"] != "user" or item["cost_usd"])
                else {}
            )
            keep.append({"role": item["role"], "content": item["content"], **cost})
    return log | {"trace": keep}


def logs_below(folder: Path) -> dict[str, dict]:
    zipped = [gzip.decompress(path.read_bytes()) for path in folder.rglob("*.jsonl.gz")]
    plain = [path.read_bytes() for path in folder.rglob("*.jsonl")]
    logs = [json.loads(line) for text in zipped + plain for line in text.split(b"\n") if line]
    return {log["conv_id"]: log for log in logs}


def round_trip(source: Path, tmp_path: Path):
    exchange.import_logs(source, tmp_path / "run")
    exchange.export_reference(tmp_path / "run", tmp_path / "out")
    exchange.import_logs(tmp_path / "out", tmp_path / "again")
    return logs_below(source), logs_below(tmp_path / "out")


def test_logs_come_back_as_they_were(tmp_path):
    source = written(tmp_path / "logs", sharded(), recap(), full(0.0, None, {"score": 0.0}))
    before, after = round_trip(source, tmp_path)
    assert {k: stripped(v) for k, v in before.items()} == {k: stripped(v) for k, v in after.items()}
    expected = {
        "math/sharded/sharded_math_gpt-4o.jsonl",
        "math/recap-concat/recap-concat_math_gpt-4o.jsonl",
        "math/full/full_math_gpt-4o.jsonl",
    }
    assert {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.jsonl")} == expected


@pytest.fixture(scope="module")
def real_run(tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("real") / "run"
    exchange.import_logs(LOGS, run)
    return run


@real
def test_real_logs_come_back_as_they_were(real_run, tmp_path):
    exchange.export_reference(real_run, tmp_path / "out")
    exchange.import_logs(tmp_path / "out", tmp_path / "again")
    before, after = logs_below(LOGS), logs_below(tmp_path / "out")
    assert len(before) == len(after) > 500
    for key, log in before.items():
        assert stripped(log) == stripped(after[key])
    first, again = records(real_run), records(tmp_path / "again")
    assert first.keys() == again.keys()
    for key in first:
        assert comparable(first[key]) == comparable(again[key])


def comparable(record):
    """Without what the reference's own format has no entry for: times, the turn cap and repeated shards of a fork's logs."""
    turns = tuple(msgspec.structs.replace(turn, violations=()) for turn in record.turns)
    return msgspec.structs.replace(record, turns=turns, started=0.0, seconds=0.0, ended="", repeat=0)


@real
def test_the_means_of_the_real_logs(real_run):
    """Any-correct, last attempt, and over all or only conversations with a score, as counted from the raw lines."""
    frame = analysis.conversations(real_run)
    table = measures.summary(frame).set_index(["task", "assistant"])
    maths = table.loc["math"]
    assert (100 * maths.loc["google/gemini-2.5-flash", ["any_correct", "last_attempt"]]).tolist() == pytest.approx(
        [70.9, 63.1], abs=0.05
    )
    assert (
        100 * maths.loc["meta-llama/llama-3.1-8b-instruct", ["any_correct", "last_attempt"]]
    ).tolist() == pytest.approx([50.5, 41.7], abs=0.05)
    haiku = frame[(frame["assistant"] == "anthropic/claude-3-haiku") & (frame["task"] == "actions")]
    has_score = measures.answer_status(haiku, analysis.turns(real_run)) == "scored"
    assert 100 * haiku["score"].mean() == pytest.approx(39.0, abs=0.05)
    assert 100 * haiku["score"][has_score].mean() == pytest.approx(44.1, abs=0.05)


def test_our_own_runs_become_logs(make_store, make_record, make_turn, tmp_path):
    sampling = {"assistant": {"temperature": 0.5}, "user": {"temperature": 1.0}}
    parent = make_record(
        "a",
        key="s",
        score=0.0,
        turns=[make_turn(1, "5", 0.0), make_turn(2)],
        sampling=sampling,
        judge="llm:j",
        user="llm:u",
    )
    child = make_record(
        "a", key="r", mode="recap", interventions=("recap",), parent="s", inherited=2, turns=[make_turn(3, "42", 1.0)]
    )
    single = make_record("b", mode="full", sampling=sampling)
    owed = make_record("c", score=None, turns=(), ended="judge")
    out = tmp_path / "out"
    assert exchange.export_reference(make_store([parent, child, single, owed]), out) == 3
    logs = {log["conv_type"]: log for log in logs_below(out).values()}
    assert set(logs) == {"sharded-at0.5-ut1.0", "recap-concat", "full-t0.5"}
    roles = [
        item["content"]["type"] if item["role"] == "log" else item["role"] for item in logs["recap-concat"]["trace"]
    ]
    turn = ["user", "shard_revealed", "assistant", "system-verification"]
    assert roles == [*turn, "answer-evaluation", *turn, *turn, "answer-evaluation", "conversation-completed"]
    assert logs["recap-concat"]["source_conv_id"] == logs["sharded-at0.5-ut1.0"]["conv_id"]
    assert logs["recap-concat"]["source_is_correct"] is False
    assert (logs["sharded-at0.5-ut1.0"]["user_model"], logs["full-t0.5"]["user_model"]) == ("u", "NA")
    assert [item["role"] for item in logs["full-t0.5"]["trace"] if item["role"] != "log"] == ["user", "assistant"]
    assert all(len(log["conv_id"]) == 24 for log in logs.values())
    exchange.import_logs(out, tmp_path / "back")
    back = analysis.conversations(tmp_path / "back").set_index("mode")
    assert back["score"].to_dict() == {"sharded": 0.0, "recap": 1.0, "full": 1.0}
    assert back.loc["sharded", ["temperature", "user_temperature"]].tolist() == [0.5, 1.0]


def test_a_log_file_belongs_to_one_model(make_store, make_record, tmp_path):
    """Case RS-07: gpt-4o does not go into the file of gpt-4o-mini, and names that no file may have are changed."""
    names = ["gpt-4o-mini", "gpt-4o", "meta/llama:8b"]
    exchange.export_reference(make_store([make_record(assistant=name) for name in names]), tmp_path / "out")
    files = {p.name for p in (tmp_path / "out").rglob("*.jsonl")}
    assert files == {"sharded_math_gpt-4o-mini.jsonl", "sharded_math_gpt-4o.jsonl", "sharded_math_meta_llama_8b.jsonl"}


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_json_lines_are_whole_records(make_store, make_record, make_turn, tmp_path, name):
    made = [
        make_record("a", turns=[make_turn(1), make_turn(2, "42", 1.0)]),
        make_record("b", score=None, turns=(), ended="judge"),
    ]
    run = make_store(made)
    assert "2 conversations written" in invoke(export, run, "--out", tmp_path / name)
    exchange.import_logs(tmp_path / name, tmp_path / "back")
    assert list(records(tmp_path / "back").values()) == made


def test_parquet_has_the_frames_and_the_words(make_store, make_record, make_turn, tmp_path):
    run = make_store(
        [make_record("a", turns=[make_turn(1, reply="Hm."), make_turn(2, "42", 1.0)]), make_record("b", mode="full")]
    )
    invoke(export, run, "--format", "parquet", "--out", tmp_path / "run.parquet")
    table = pq.read_table(tmp_path / "run.parquet")
    frame, expected = table.to_pandas(), analysis.conversations(run)
    names = [column.name for column in CONVERSATION_COLUMNS]
    assert table.column_names == [*names, "said"]
    pd.testing.assert_frame_equal(frame[names].astype(expected.dtypes), expected)
    assert table.schema.field("score").metadata[b"meaning"].startswith(b"headline score")
    turns = [turn for said in frame["said"] for turn in said]
    assert [turn["reply"] for turn in turns] == ["Hm.", "The answer is 42.", "The answer is 42."]
    assert [turn["label"] for turn in turns] == analysis.turns(run)["label"].tolist()


@pytest.mark.parametrize("form", exchange.EXPORTS)
def test_nothing_is_overwritten_and_nothing_left_half_done(make_store, make_record, tmp_path, form):
    run = make_store([make_record()])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(AnalysisError, match=r"already there|not empty"):
        exchange.EXPORTS[form](run, tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]


def test_an_export_that_breaks_leaves_no_file(make_store, make_record, tmp_path, monkeypatch):
    run = make_store([make_record(), make_record("b")])
    monkeypatch.setattr(exchange, "_row", lambda record: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        exchange.export_parquet(run, tmp_path / "run.parquet")
    assert not list(tmp_path.glob("run.parquet*"))


@pytest.mark.parametrize("form", exchange.EXPORTS)
def test_an_empty_run_exports_nothing(make_store, tmp_path, form):
    assert exchange.EXPORTS[form](make_store([]), tmp_path / "out") == 0
