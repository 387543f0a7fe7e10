"""`shardtalk report` as its users meet it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from rich.console import Console

from analysis import render
from analysis.commands import report as command
from analysis.report import report
from simulator.errors import StoreError
from simulator.store import Writer


def run(*arguments) -> str:
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False).stdout


def grid(make_record, instances=4, runs=3, modes=("sharded", "full"), **more):
    """Instance i of a mode succeeds in its first i runs."""
    return [
        make_record(f"i{i}", r, float(r < i), mode=mode, **more)
        for mode in modes
        for i in range(instances)
        for r in range(runs)
    ]


@pytest.fixture
def store(make_store, make_record):
    return make_store(grid(make_record))


def test_the_table_says_what_was_measured(store):
    text = run(store)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == ["mode", "instances × N", "P̄", "A90", "U90_10", "not scored", "turns", "attempts", "cost"]
    assert [row[0] for row in rows[2:]] == ["full", "sharded"]
    assert rows[2][1] == "4* × 3*"
    assert rows[2][2].startswith("50.0 [")
    # Of runs (0 0 0), (1 0 0), (1 1 0), (1 1 1) the 90th percentiles are 0, 0.8, 1, 1.
    assert rows[2][3].startswith("70.0 [")
    assert rows[2][8] == "$0.0120"


def test_it_is_the_same_table_in_every_form(store):
    groups = json.loads(run(store, "--json"))["groups"]
    rows = list(csv.DictReader(io.StringIO(run(store, "--csv"))))
    assert len(groups) == len(rows) == 2
    for group, row in zip(groups, rows, strict=True):
        assert group["mode"] == row["mode"]
        for name in ("mean", "aptitude", "unreliability", "mean_low", "unreliability_high", "cost"):
            assert group[name] == pytest.approx(float(row[name]))
    assert groups[0]["aptitude"] == pytest.approx(np.mean([0, 0.8, 1, 1]))


def test_the_figure_is_written_into_the_run_and_named(store, tmp_path):
    result = CliRunner().invoke(command, [str(store)], catch_exceptions=False)
    for name in ("modes.png", "modes.svg"):
        assert f"figure: {store / name}" in result.stderr
        assert (store / name).stat().st_size > 1000
    run(store / "store.sqlite", "--out", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "modes.svg").read_bytes() == (store / "modes.svg").read_bytes()


@pytest.mark.parametrize(("width", "turns"), [(80, False), (100, True), (140, True)])
def test_a_terminal_gets_a_table_that_fits_it(store, width, turns):
    console = Console(width=width, force_terminal=True, file=io.StringIO(), color_system=None)
    console.print(render.terminal(report(store), width))
    lines = console.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    heading = next(line for line in lines if "U90_10" in line)
    assert ("turns" in heading) == turns
    assert "instances × N" in heading
    assert all(line.count("[") == line.count("]") for line in lines[: lines.index(heading) + 8])


def test_what_is_too_small_is_called_so(make_store, make_record):
    small, enough = make_store(grid(make_record), "small"), make_store(grid(make_record, 20, 10), "enough")
    assert "TOO SMALL FOR INFERENCE: some row has 4 instances" in run(small)
    assert "N = 3 where at least 10" in run(small)
    assert "TOO SMALL" not in run(enough)
    assert "*" not in run(enough)


def test_synthetic_is_called_synthetic_wherever_it_is_shown(make_store, make_record):
    run_folder = make_store(grid(make_record, assistant="synthetic:a=0.8") + grid(make_record, assistant="openai:gpt"))
    text = run(run_folder)
    assert "synthetic:a=0.8 (synthetic)" in text
    assert "openai:gpt (synthetic)" not in text
    assert "SYNTHETIC: synthetic:a=0.8 is a formula" in text
    assert any("SYNTHETIC" in note for note in json.loads(run(run_folder, "--json"))["notes"])


def test_what_is_not_scored_is_counted_with_its_cause(make_store, make_record):
    records = grid(make_record, modes=("sharded",))
    records += [make_record("i0", 9, None, ended="infrastructure", cause="rate_limit")]
    records += [make_record("i1", 9, 0.0, ended="assistant", cause="content_filter")]
    folder = make_store(records)
    text = run(folder)
    assert (
        "1 of 14 conversations are not scored (no fault of the assistant): mean score 42.9 over all, 46.2 over scored"
        in text
    )
    assert "1 conversation failed by the assistant's own doing" in text
    assert "1 of 14" in text
    unscored = json.loads(run(folder, "--json"))["unscored"]
    assert {(u["party"], u["cause"], u["conversations"]) for u in unscored} == {
        ("infrastructure", "rate_limit", 1),
        ("assistant", "content_filter", 1),
    }


def test_an_unknown_price_is_unpriced_never_zero(make_store, make_record):
    calls = [c for r in [make_record()] for c in r.calls]
    unknown = [type(c)(role=c.role, site=c.site, model=c.model, cost=None) for c in calls]
    folder = make_store([*grid(make_record, modes=("sharded",)), make_record("i9", mode="full", calls=unknown)])
    text = run(folder)
    assert "unpriced" in text.split("sharded")[0]
    assert "$0.0120 for 12 conversations; 1 others are unpriced" in text
    assert json.loads(run(folder, "--json"))["groups"][0]["cost"] is None


def test_modes_come_in_the_order_of_the_experiment(make_store, make_record):
    folder = make_store(grid(make_record, modes=("concat", "full", "sharded", "extra")))
    with Writer(folder) as writer:
        writer.add_experiment({"modes": ["sharded", "full", "concat"], "tasks": ["math"]})
    assert list(report(folder).table["mode"]) == ["sharded", "full", "concat", "extra"]


def test_the_order_in_which_conversations_ended_does_not_matter(make_store, make_record):
    records = grid(make_record, modes=("sharded", "full", "recap"))
    one, other = make_store(records, "one"), make_store(records[::-1], "other")
    assert run(one, "--csv") == run(other, "--csv")


def test_several_tasks_have_a_mean_over_tasks(make_store, make_record):
    made = report(make_store(grid(make_record) + grid(make_record, instances=2, task="code")))
    overall = made.overall.set_index("mode")
    table = made.table.set_index(["task", "mode"])
    assert overall.loc["full", "mean"] == pytest.approx(
        (table.loc[("math", "full"), "mean"] + table.loc[("code", "full"), "mean"]) / 2
    )
    assert list(overall["tasks"]) == [2, 2]


def test_temperatures_are_rows_of_their_own(make_store, make_record):
    cold = grid(make_record, modes=("full",), sampling={"assistant": {"temperature": 0.0}})
    hot = grid(make_record, modes=("full",), sampling={"assistant": {"temperature": 1.0}})
    groups = json.loads(run(make_store(cold + hot), "--json"))["groups"]
    assert [group["temperature"] for group in groups] == [0.0, 1.0]


@pytest.mark.parametrize("form", ["--json", "--csv", "--md"])
def test_awkward_runs_get_an_answer(make_store, make_record, form):
    stores = {
        "empty": [],
        "one": [make_record()],
        "constant": grid(make_record, runs=1),
        "unscored": [make_record(score=None, turns=(), ended="budget", cause="budget")],
        "untempered": [make_record(sampling={}), make_record("b", sampling={})],
    }
    for name, records in stores.items():
        text = run(make_store(records, name), form)
        assert "nan" not in text.lower(), name
        assert text.strip()


def test_a_run_of_one_conversation_says_why_there_are_no_limits(make_store, make_record):
    row = json.loads(run(make_store([make_record()]), "--json"))["groups"][0]
    assert (row["mean"], row["mean_low"], row["mean_note"]) == (1.0, None, "one instance")


def test_names_cannot_break_the_table(make_store, make_record):
    nasty = "a|b<script>alert(1)</script>\nc"
    text = run(make_store(grid(make_record, modes=("full", nasty))))
    assert "<script>" not in text
    header, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {header.count("|")}


def test_there_is_no_run(tmp_path):
    with pytest.raises(StoreError, match="no run here"):
        run(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_cannot_be_written_is_named(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="figure cannot be written"):
        run(store, "--out", tmp_path / "file")
