"""`shardtalk report` as its users meet it."""

from __future__ import annotations

import csv
import io
import json

import lxml.html
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from rich.console import Console

import analysis
from analysis import render
from analysis.commands import FORMATS
from analysis.commands import report as command
from analysis.errors import AnalysisError
from analysis.report import report
from analysis.sections import SECTIONS
from simulator.errors import StoreError
from simulator.writer import Writer


def invoke(*arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)


def run(folder, form="--md", **more) -> str:
    """What the command prints, without drawing the figure each time."""
    return FORMATS[form.removeprefix("--")](report(folder, resamples=300, **more))


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
    assert rows[0] == [
        "mode",
        "instances × N",
        "P̄",
        "A90",
        "U90_10",
        "σ inst. / runs",
        "not scored",
        "turns",
        "attempts",
        "cost",
    ]
    assert [row[0] for row in rows[2:4]] == ["full", "sharded"]
    assert rows[2][1] == "4* × 3*"
    assert rows[2][2].startswith("50.0 [")
    # Of runs (0 0 0), (1 0 0), (1 1 0), (1 1 1) the 90th percentiles are 0, 0.8, 1, 1.
    assert rows[2][3].startswith("70.0 [")
    assert rows[2][9] == "$0.0120"


def test_it_is_the_same_table_in_every_form(store):
    groups = json.loads(invoke(store, "--json").stdout)["groups"]
    rows = list(csv.DictReader(io.StringIO(invoke(store, "--csv").stdout)))
    assert len(groups) == len(rows) == 2
    for group, row in zip(groups, rows, strict=True):
        assert group["mode"] == row["mode"]
        for name in ("mean", "aptitude", "unreliability", "mean_low", "unreliability_high", "cost"):
            assert group[name] == pytest.approx(float(row[name]))
    assert groups[0]["aptitude"] == pytest.approx(np.mean([0, 0.8, 1, 1]))


def test_the_figure_is_written_into_the_run_and_named(store, tmp_path):
    result = invoke(store)
    assert result.stdout.startswith("# ")
    for name in ("modes.png", "modes.svg"):
        assert f"figure: {store / name}" in result.stderr
        assert (store / name).stat().st_size > 1000
    invoke(store / "store.sqlite", "--out", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "modes.svg").read_bytes() == (store / "modes.svg").read_bytes()


@pytest.mark.parametrize(("width", "turns"), [(80, False), (105, True), (140, True)])
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
    small, enough = (
        make_store(grid(make_record), "small"),
        make_store(grid(make_record, 20, 10, modes=("full",)), "enough"),
    )
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
    assert "Cost: $0.0120 in all, tries that failed included; 1 conversation more unpriced." in text
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
    for table in text.split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1


def test_there_is_no_run(tmp_path):
    with pytest.raises(StoreError, match="no run here"):
        invoke(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_cannot_be_written_is_named(store, tmp_path):
    (tmp_path / "file").write_text("")
    for form in ("--md", "--html"):
        with pytest.raises(StoreError, match="nothing can be written there"):
            invoke(store, form, "--out", tmp_path / "file")


# -- differences, labels, what a mode costs --------------------------------------------------------------------------------


def test_modes_are_compared_with_one_of_them_on_the_same_instances(make_store, make_record):
    """FULL is right in every run; of SHARDED instance i is right in its first i runs of 3, of RECAP always."""
    records = [
        *grid(make_record, 8, 3, modes=("sharded",)),
        *(make_record(f"i{i}", r, mode=m) for m in ("full", "recap") for i in range(8) for r in range(3)),
    ]
    folder = make_store(records)
    rows = json.loads(run(folder, "--json"))["differences"]
    assert [(row["a"], row["b"]) for row in rows] == [("recap", "full"), ("sharded", "full")]
    sharded = rows[1]
    assert sharded["difference"] == pytest.approx(np.mean([min(i, 3) / 3 for i in range(8)]) - 1)
    # 5 of 8 instances do not differ, so 3 signs can flip: 2 of 8 arrangements are as extreme. The other row has p = 1.
    assert (sharded["p"], sharded["p_holm"]) == pytest.approx((0.25, 0.5))
    assert rows[0]["note"] == "constant"
    against = json.loads(run(folder, "--json", against="sharded"))["differences"]
    assert {row["b"] for row in against} == {"sharded"}
    with pytest.raises(AnalysisError, match="no such mode"):
        run(folder, against="snowball")


def test_modes_on_other_instances_are_not_compared(make_store, make_record):
    folder = make_store([make_record("a", mode="full"), make_record("b", mode="sharded")])
    assert json.loads(run(folder, "--json"))["differences"] == []


def test_labels_correct_what_the_judge_said(make_store, make_record, tmp_path):
    folder = make_store(grid(make_record, 30, 1, modes=("full",)))
    keys = analysis.conversations(folder)["key"].head(25)
    sheet = tmp_path / "labels.csv"
    sheet.write_text("key,human_score\n" + "".join(f"{key},1\n" for key in keys))
    result = invoke(folder, "--labels", sheet)
    assert "## P̄ corrected by labels" in result.stdout
    (row,) = json.loads(invoke(folder, "--json", "--labels", sheet).stdout)["corrected"]
    # 29 of 30 are judged right; of the 25 labelled one more is.
    assert row["judged"] == pytest.approx(29 / 30)
    assert row["value"] == pytest.approx(29 / 30 + 1 / 25)
    assert "25 of 30" in result.stdout


def test_recap_costs_what_it_continues_but_is_paid_once(make_store, make_record, make_turn):
    parent = make_record("a", key="s")
    child = make_record("a", key="r", mode="recap", parent="s", inherited=1, turns=[make_turn(2, "42", 1.0)])
    folder = make_store([parent, child])
    groups = {g["mode"]: g for g in json.loads(run(folder, "--json"))["groups"]}
    assert (groups["recap"]["cost"], groups["recap"]["cost_alone"]) == (0.001, 0.002)
    text = run(folder)
    assert "Cost: $0.0020 in all" in text
    assert "the total counts shared turns once" in text


def test_failed_tries_were_paid_too(make_store, make_record):
    folder = make_store([make_record("a", key="k", score=None, turns=(), ended="user"), make_record("a", key="k")])
    assert "Cost: $0.0020 in all" in run(folder)
    assert "$0.0010" in run(folder)


def test_one_run_has_no_unreliability(make_store, make_record):
    text = run(make_store(grid(make_record, runs=1) + grid(make_record, runs=1, task="code")))
    header, _, *rows = [
        [c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")
    ]
    assert [row[header.index("U90_10")] for row in rows[:4]] == ["–"] * 4
    assert "U90_10 saturates" not in text


def booked(make_record, make_turn):
    """Instance i of 4 in `single` and `multi`, 2 runs: `multi` gets the date wrong where i is odd, of another booking."""
    for mode in ("single", "multi"):
        for i in range(4):
            wrong = mode == "multi" and i % 2 == 1
            details = {"parts": {"date": float(not wrong), "time": 1.0}} | ({"errors": ["date:other"]} if wrong else {})
            said = [make_turn(1, "x", float(not wrong), details=details)]
            for repeat in range(2):
                yield make_record(
                    f"i{i}", repeat, float(not wrong), mode=mode, task="reliability-entities", turns=said,
                    strata={"tools": 2 + i % 2, "turns": i, "one": "same"},
                )  # fmt: skip


def test_a_task_says_what_its_modes_are_compared_with(make_store, make_record, make_turn):
    folder = make_store(booked(make_record, make_turn))
    made = json.loads(run(folder, "--json"))
    (difference,), (test,) = made["differences"], made["mcnemar"]
    for row in (difference, test):
        assert (row["task"], row["a"], row["b"]) == ("reliability-entities", "multi", "single")
    assert difference["difference"] == -0.5
    # Of 8 pairs 4 disagree, all to one side: 2 * (1/2)^4; by instance 2 of 4 do: chi-squared 2² / 2.
    assert (test["pairs"], test["a_only"], test["b_only"], test["p_exact"]) == (8, 0, 4, 0.125)
    assert test["p_clustered"] == pytest.approx(0.1573, abs=1e-4)
    assert any("exact and corrected p take pairs as independent" in note for note in made["notes"])
    (other,) = json.loads(run(folder, "--json", against="multi"))["differences"]
    assert (other["a"], other["b"]) == ("single", "multi")


def test_mistakes_parts_and_kinds_of_instances_stand_side_by_side(make_store, make_record, make_turn):
    text = run(make_store(booked(make_record, make_turn)))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert ["mistake", "multi", "single"] in rows
    assert ["date:other", "50.0", "0.0"] in rows
    assert ["date", "50.0", "100.0"] in rows
    assert ["time", "100.0", "100.0"] in rows
    assert ["tools", "2", "100.0 (2)", "100.0 (2)"] in rows
    assert ["tools", "3", "0.0 (2)", "100.0 (2)"] in rows
    assert not [row for row in rows if row[0] == "one"]


def test_a_terminal_breaks_down_by_instance_when_asked_to(make_store, make_record, make_turn):
    folder = make_store(booked(make_record, make_turn))
    made = report(folder, resamples=100, strata=["tools"])
    assert set(made.strata["stratum"]) == {"tools"}
    for asked in (False, True):
        console = Console(width=80, force_terminal=True, file=io.StringIO(), color_system=None)
        console.print(render.terminal(made, 80, strata=asked))
        text = console.file.getvalue()
        assert max(map(cell_len, text.splitlines())) <= 80
        assert "date:other" in text
        assert (render.SCORES_BY_INSTANCE in text) == asked
    with pytest.raises(AnalysisError, match="grouped by this"):
        invoke(folder, "--strata", "tools,colour")
    assert "tools" in invoke(folder, "--strata", "tools").stdout


# -- the page --------------------------------------------------------------------------------------------------------------


def page(folder) -> str:
    result = invoke(folder, "--html")
    path = folder / "report.html"
    assert result.stdout == f"report: {path}\n"
    return path.read_text(encoding="utf-8")


def test_the_page_needs_nothing_else(store):
    text = page(store)
    tree = lxml.html.document_fromstring(text)
    assert not tree.xpath("//script | //link | //iframe | //*[@onclick or @onload or @onerror]")
    assert all(src.startswith("data:image/svg+xml;base64,") for src in tree.xpath("//@src"))
    assert not tree.xpath("//@href")
    assert "@import" not in text
    assert "url(" not in text


def test_the_page_has_every_section(make_store, make_record, make_turn):
    said = [make_turn(1, "7", 0.0), make_turn(2), make_turn(3, "42", 1.0)]
    folder = make_store(
        [
            *grid(make_record, 4, 6, modes=("full",)),
            *(make_record(f"i{i}", r, turns=said) for i in range(4) for r in range(6)),
        ]
    )
    text = page(folder)
    titles = lxml.html.document_fromstring(text).xpath("//h2/text()")
    assert titles == [
        "Differences on the same instances", "McNemar's test of the same pairs", "Averages, best and worst",
        "Aptitude and unreliability", "Differences",
        "Cost and score", "Noise floor", *(made.title for made in SECTIONS),
    ]  # fmt: skip
    assert "No conversation of this run" not in text
    assert "How often a conversation comes back after a wrong first attempt." in text


def test_a_label_is_not_pressed_below_legibility(make_store, make_record):
    name = "openai:a-model-with-a-long-name"
    tree = lxml.html.document_fromstring(page(make_store(grid(make_record) + grid(make_record, assistant=name))))
    styles = tree.xpath(f"//table[1]//td[text()='{name}']/@style")
    assert set(styles) == {"min-width: 28ch"}
    assert set(tree.xpath("//table[1]//td[text()='full']/@style")) == {"min-width: 4ch"}


def test_gradual_sharding_and_documents_have_their_sections(make_store, make_record, make_turn):
    record = make_record(
        "d",
        task="summary",
        turns=[make_turn(1, utterance="Document 1:\nx", reply="- a [1]"), make_turn(2, reply="- a [1]")],
    )
    documents = msgspec.structs.replace(
        record, instance=msgspec.structs.replace(record.instance, data={"documents": [1]})
    )
    folder = make_store([*grid(make_record, modes=("concat", "gradual:2", "sharded")), documents])
    titles = lxml.html.document_fromstring(page(folder)).xpath("//h2/text()")
    assert {"Gradual sharding", "Loss in the middle turns"} <= set(titles)


def test_a_section_that_cannot_be_made_says_why(store):
    text = page(store)
    assert "quintiles of verbosity need at least five runs of an instance" in text
    assert "No conversation of this run has what this needs." in text


def test_what_models_say_stays_text_on_the_page(make_store, make_record, make_turn):
    nasty = '<img src=x onerror="alert(1)">&</td>'
    said = [make_turn(1, nasty, 0.0, label="hedge"), make_turn(2, nasty, 0.0)]
    records = [make_record("a", r, 0.0, mode=nasty, assistant=nasty, turns=said, user=nasty) for r in range(6)]
    records.append(make_record("b", score=None, turns=(), ended="user", cause=nasty))
    text = page(make_store(records))
    assert "<img src=x" not in text
    assert not lxml.html.document_fromstring(text).xpath("//@onerror")
    assert "&lt;img src=x" in text


@pytest.mark.parametrize("records", [0, 1])
def test_awkward_runs_have_a_page(make_store, make_record, records):
    folder = make_store([make_record()][:records])
    text = page(folder)
    assert text == page(folder)
    assert ">nan<" not in text
    assert "<h2>Noise floor</h2>" in text
