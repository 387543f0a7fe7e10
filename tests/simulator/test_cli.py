"""The command line as its users meet it: what it prints, its exit codes, and what bad input gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from simulator.cli import main
from tasks.errors import UnknownName

ROOT = Path(__file__).parents[2]
ANSWER = "fake:text=The answer is 46."  # right for apples-1 with four shards: 11 + 12 + 13 is 36; wrong on purpose


@pytest.fixture
def shardtalk(exit_code, tmp_path, monkeypatch, capfd):
    """Runs the command in a folder of its own, as a process would; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")

    def call(*arguments):
        capfd.readouterr()
        code = exit_code(*arguments)
        said = capfd.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return call


@pytest.fixture
def data(tmp_path, make_apples):
    import msgspec

    file = tmp_path / "apples.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(make_apples(k)) + b"\n" for k in (1, 2)))
    return file


def test_run_status_show_report(shardtalk, data, tmp_path):
    done = shardtalk(
        "run", "--dataset", data, "--assistant", ANSWER, "--modes", "full,sharded", "--runs", 2, "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    assert "8 of 8 conversations done (8 now, 0 before)" in done.stdout
    status = json.loads(shardtalk("status", "r", "--json").stdout)
    assert (status["done"], status["failed"], status["latest"]["owed"]) == (8, 0, 0)
    assert status["latest"]["calls_per_second"] > 0
    assert status["latest"]["tried_again"] == {}
    listed = shardtalk("show", "r").stdout
    assert "apples-1" in listed
    key = next(word for word in listed.split() if len(word) == 24)
    assert "The answer is 46." in shardtalk("show", "r", key[:10]).stdout
    assert json.loads(shardtalk("show", "r", key, "--json").stdout)["key"] == key
    assert shardtalk("report", "r").returncode == 0


def test_file_and_flags_make_the_same_experiment(shardtalk, data, tmp_path):
    (tmp_path / "e.toml").write_text(f'dataset = "{data}"\nassistant = "{ANSWER}"\nmodes = ["full"]\nruns = 5\n')
    assert shardtalk("run", "e.toml", "--runs", 1, "--out", "r").returncode == 0
    again = shardtalk("run", "--dataset", data, "--assistant", ANSWER, "--modes", "full", "--runs", 1, "--out", "r")
    assert "(0 now, 2 before)" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--modes", "snowbal"], "did you mean snowball?"),
        (["--tasks", "maths"], "did you mean math"),
        (["--assistant", "opnai:gpt"], "did you mean openai"),
        (["--dataset", "missing.jsonl"], "missing.jsonl"),
        (["--user", "llm"], "give --user-model SPEC"),
        (["--judge", "rule"], "did you mean rules?"),
        (["--intervention", "no.such:Thing"], "cannot be imported"),
        (["--assistant", "openai:gpt-4o-mini"], "OPENAI_API_KEY"),
        (["--temperature", "hot"], "T[,T…]"),
        (["--runs", "0"], "1 or more"),
        (["--temperature", "7"], "0 to 2"),
        (["--strata", "tier=99"], "strata"),
    ],
)
def test_bad_input_gets_one_clear_message_and_nothing_is_written(shardtalk, data, tmp_path, arguments, said):
    given = {"--dataset": data, "--assistant": ANSWER, "--runs": "1", "--out": "r"}
    given.update(zip(arguments[::2], arguments[1::2], strict=True))
    done = shardtalk("run", *(word for pair in given.items() for word in pair))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r" / "store.sqlite").exists() or _empty(tmp_path / "r")


def _empty(run: Path) -> bool:
    import sqlite3

    connection = sqlite3.connect(run / "store.sqlite")
    try:
        return connection.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
    except sqlite3.OperationalError:  # the tables are just being made
        return True
    finally:
        connection.close()


def test_a_malformed_dataset_names_file_row_and_field(shardtalk, tmp_path):
    (tmp_path / "bad.jsonl").write_text(
        '{"id": "a", "task": "math", "shards": [{"id": 1, "text": 7}], "instruction": "x"}\n'
    )
    done = shardtalk("run", "--dataset", "bad.jsonl", "--assistant", ANSWER, "--out", "r")
    assert done.returncode == 2
    assert "bad.jsonl" in done.stderr
    assert "shards[0].text" in done.stderr


def test_debug_shows_the_traceback():
    with pytest.raises(UnknownName, match="maths"):
        main(["--debug", "run", "--tasks", "maths", "--assistant", ANSWER, "--out", "r"])


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "simulator", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "Usage: shardtalk" in done.stdout


def test_a_server_that_is_down_stops_the_run_and_all_is_owed(shardtalk, data):
    down = [
        "run",
        "--dataset",
        data,
        "--assistant",
        "openai:m",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--modes",
        "full",
    ]
    done = shardtalk(*down, "--runs", 1, "--out", "r")
    assert done.returncode == 1
    assert "stopped: infrastructure: connection" in done.stderr
    assert "owed: 2" in done.stderr


def test_a_folder_without_a_run(shardtalk):
    for command in ("status", "show", "report"):
        done = shardtalk(command, "nowhere")
        assert done.returncode == 2
        assert "nowhere" in done.stderr
        assert "Traceback" not in done.stderr


def test_plan_counts_without_calling(shardtalk, data):
    rows = json.loads(
        shardtalk(
            "plan",
            "--dataset",
            data,
            "--assistant",
            "openai:gpt-4o-mini",
            "--modes",
            "sharded,recap",
            "--runs",
            3,
            "--json",
        ).stdout
    )
    by_mode = {row["mode"]: row for row in rows}
    assert (by_mode["sharded"]["conversations"], by_mode["sharded"]["calls"]) == (
        6,
        24,
    )  # 2 instances × 3 runs, 4 shards
    assert (by_mode["recap"]["conversations"], by_mode["recap"]["calls"]) == (6, 6)
    assert rows[-1]["cost"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_saves_and_the_run_resumes(shardtalk, data, tmp_path, monkeypatch, number):
    (tmp_path / "slow.py").write_text(
        "import asyncio\nfrom langchain_core.runnables import RunnableLambda\n"
        "async def answer(messages):\n    await asyncio.sleep(0.05)\n    return 'Which basket?'\n"
        "assistant = RunnableLambda(answer)\n"
    )
    command = [
        "run",
        "--dataset",
        str(data),
        "--assistant",
        "python:slow:assistant",
        "--modes",
        "sharded",
        "--runs",
        "40",
    ]
    command += ["--max-concurrency", "4", "--out", "r"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator", *command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "r" / "store.sqlite").exists() or _empty(tmp_path / "r"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped: interrupted" in said
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "slow", raising=False)
    done = shardtalk(*command)
    assert done.returncode == 0
    assert "80 of 80" in done.stdout
