"""From end to end: an assistant of known aptitude and unreliability is simulated, stored, and measured again."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from simulator.cli import cli
from simulator.models.synthetic import Traits, expected

TRAITS = Traits(
    aptitude=0.8, unreliability=0.3, multi_aptitude=0.7, multi_unreliability=0.5, premature=0.3, clarify=0.3, seed=3
)
RUNS = 10


def shardtalk(*arguments) -> str:
    result = CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recovery") / "run"
    names = [name for name in TRAITS.__struct_fields__ if getattr(TRAITS, name) is not None]
    spec = "synthetic:" + ",".join(f"{name}={getattr(TRAITS, name)}" for name in names)
    plan = ("--tasks", "math", "--modes", "full,sharded", "--runs", RUNS, "--limit", 60, "--out", folder, "--quiet")
    shardtalk("run", "--assistant", spec, *plan)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "multi"), [("full", False), ("sharded", True)])
def test_what_the_assistant_was_made_with_lies_within_the_limits(run, mode, multi):
    groups = {group["mode"]: group for group in json.loads(shardtalk("report", run, "--json"))["groups"]}
    group, known = groups[mode], expected(TRAITS, RUNS, multi=multi)
    assert (group["instances"], group["runs_min"], group["runs_max"]) == (60, RUNS, RUNS)
    for name in ("mean", "aptitude", "unreliability"):
        low, high = group[f"{name}_low"], group[f"{name}_high"]
        assert high - low < 0.35, name
        # One draw in twenty lies outside 95 % limits, and the draw changes with the data: widened by half they hold
        # 99.7 % of draws, so that a miss means a wrong number.
        assert low - (high - low) / 4 <= getattr(known, name) <= high + (high - low) / 4, name


@pytest.mark.slow
def test_the_loss_in_many_turns_is_found_and_called_synthetic(run):
    text = shardtalk("report", run, "--md")
    assert "SYNTHETIC" in text
    (row,) = json.loads(shardtalk("report", run, "--json"))["differences"]
    loss = expected(TRAITS, RUNS, multi=True).mean - expected(TRAITS, RUNS).mean
    slack = (row["high"] - row["low"]) / 4
    assert row["low"] - slack <= loss <= row["high"] + slack
    assert row["high"] < 0
    assert row["p_holm"] < 0.01
