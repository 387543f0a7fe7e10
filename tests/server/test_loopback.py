"""The test server itself: what other tests rely on."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "loopback.py"


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def test_it_plays_every_role_and_counts_them(server, loopback) -> None:
    for model in ("assistant-7b", "user", "judge", "judge"):
        assert post(server.url, {"model": model, "messages": []})["choices"][0]["message"]["content"]
    assert server.models == Counter({"judge": 2, "assistant-7b": 1, "user": 1})


def test_a_plan_starts_with_the_next_request(server, loopback) -> None:
    post(server.url, {"model": "x", "messages": []})
    server.plan = [None, loopback.FAULTS["server_error"]()]
    post(server.url, {"model": "x", "messages": []})
    with pytest.raises(urllib.error.HTTPError, match="500"):
        post(server.url, {"model": "x", "messages": []})
    post(server.url, {"model": "x", "messages": []})


def test_random_faults_depend_on_the_seed_and_the_number_alone(loopback) -> None:
    plan = loopback.random_faults({"reset": 0.2, "server_error": 0.1}, seed=3)
    drawn = [plan(n, {}) for n in range(2000)]
    assert drawn == [plan(n, {}) for n in range(2000)]
    faults = Counter("none" if a is None else a.status for a in drawn)
    assert faults[200] == pytest.approx(400, abs=60)
    assert faults[500] == pytest.approx(200, abs=45)


def test_a_schema_is_filled(loopback) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"enum": ["x", "y"]},
            "b": {"type": "integer"},
            "c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    assert loopback.fill(schema) == {"a": "x", "b": 1, "c": "text"}


def test_it_runs_in_a_process_of_its_own(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("def speak(body):\n    return body['model'].upper()\n")
    command = [sys.executable, str(FILE), "--port", "0", "--latency", "0.01", "--handler", f"{tmp_path}/mine.py:speak"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process:
        url = process.stdout.readline().strip()
        assert post(url, {"model": "abc", "messages": []})["choices"][0]["message"]["content"] == "ABC"
        process.terminate()
    assert process.returncode == 0


def test_an_unknown_fault_is_named(tmp_path) -> None:
    command = [sys.executable, str(FILE), "--fault", "resett=0.1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "server_error" in ended.stderr
