"""The README is true: its commands run, its experiment file is read, its picture is the graph, its tables name what exists."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulator.cli import cli
from simulator.experiment import plan, read_experiment
from simulator.graph import picture
from simulator.modes import MODES
from tasks.registry import TASKS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", README, flags=re.DOTALL)


def without_config(mermaid: str) -> list[str]:
    """The lines of a mermaid graph in a fixed order, without front matter and styles."""
    text = re.sub(r"^---\n.*?---\n", "", mermaid, flags=re.DOTALL)
    text = re.sub(r"</?p>|:::\w+", "", text)
    return sorted(line.strip() for line in text.splitlines() if line.strip() and "classDef" not in line)


def test_the_picture_is_the_compiled_graph():
    (shown,) = blocks("mermaid")
    assert without_config(shown) == without_config(picture())


def test_the_commands_run(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.strip()]
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(command.replace("http://localhost:8000/v1", server.url))
        assert words[0] == "shardtalk"
        result = CliRunner().invoke(cli, words[1:], standalone_mode=False)
        assert result.exception is None, f"{command}: {result.exception!r}\n{result.output}"
        assert result.return_value in (None, 0), f"{command}: {result.output}"


def test_the_experiment_file_is_read(tmp_path):
    (toml,) = blocks("toml")
    (tmp_path / "experiment.toml").write_text(toml)
    experiment = read_experiment(tmp_path / "experiment.toml", {"runs": 3})
    assert (experiment.user, experiment.temperature, experiment.runs) == ("llm", (0.0, 1.0), 3)
    assert len(plan(experiment)) > 0


def test_the_tables_name_what_exists():
    first_cells = re.findall(r"^\| (`[^|]+) \|", README, flags=re.MULTILINE)
    named = {name for cell in first_cells for name in re.findall(r"`([a-z0-9_-]+)(?:`|:N`)", cell)}
    assert named == {*MODES, "gradual", *TASKS}


def test_the_users_own_model_data_and_intervention_work(tmp_path, monkeypatch):
    model, intervention, _ = blocks("python")
    (row,) = blocks("json")
    (tmp_path / "mine.py").write_text(model + intervention)
    (tmp_path / "mine.jsonl").write_text(row)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    arguments = (
        "run --assistant python:mine:assistant --dataset mine.jsonl --intervention none --intervention mine:Remind"
    )
    result = CliRunner().invoke(
        cli, [*arguments.split(), "--modes", "sharded", "--runs", "1", "--out", "run"], standalone_mode=False
    )
    assert result.exception is None, result.output
    assert "2 of 2 conversations done" in result.output


@pytest.mark.parametrize("folder", ["tasks", "simulator", "sharding", "analysis", "notebooks", "tests"])
def test_the_tree_has_a_line_a_folder(folder):
    assert re.search(rf"^{folder}/ +\w", README, flags=re.MULTILINE)
