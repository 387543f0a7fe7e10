"""Figures draw what they are given, all of it, without a warning, and the same bytes each time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib.figure import Figure

from analysis import drawing, figures
from tasks.nouns import TURN_CLASSES

LABELS = {"task": "math", "mode": "sharded", "assistant": "m"}


def groups(**more) -> pd.DataFrame:
    rows = [
        LABELS | {"mode": mode, "assistant": assistant, "p10": 0.1 * k, "mean": 0.1 * k + 0.2, "aptitude": 0.1 * k + 0.4,
                  "unreliability": 0.4, "mean_low": 0.1 * k + 0.1, "mean_high": 0.1 * k + 0.3, "cost_each": 0.001 * (k + 1)}
        for assistant in ("m", "n") for k, mode in enumerate(("full", "concat", "sharded"))
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**more)


def by_turn(name="turn", n=4, **columns) -> pd.DataFrame:
    return pd.DataFrame([LABELS | {name: k} | {c: f(k) for c, f in columns.items()} for k in range(1, n + 1)])


RATES = by_turn(replies=lambda k: 50 - 10 * k, **{name: (lambda k: 1 / 7) for name in TURN_CLASSES})
ATTEMPTS = pd.concat(
    [
        by_turn("fifth", 5, conversations=lambda k: 4 * k, score=lambda k: k / 10).assign(clock=c)
        for c in ("turns", "shards")
    ]
)
BLOAT = pd.concat(
    [
        by_turn("attempt", attempts=lambda k: 20, chars=lambda k: 9.0 * k),
        by_turn("attempt", 1, attempts=lambda k: 20, chars=lambda k: 5.0).assign(mode="full"),
    ]
)
VERBOSITY = by_turn("quintile", 5, conversations=lambda k: 20, score=lambda k: 0.7 - k / 10)
MIDDLE = pd.DataFrame(
    [LABELS | {"turn": t, "introduced": i, "share": 1 / t} for t in range(1, 4) for i in range(1, t + 1)]
)
GRADUAL = pd.DataFrame(
    [{"task": "math", "assistant": "m", "pieces": k, "p10": 0.1, "mean": 0.5, "aptitude": 0.9} for k in (1, 2, 4, 8)]
)
PAIRS = pd.DataFrame(
    [
        {
            "task": t,
            "assistant": "m",
            "a": "recap",
            "b": "full",
            "measure": "mean",
            "difference": d,
            "low": d - 0.1,
            "high": d + 0.1,
        }
        for t, d in (("math", 0.1), ("code", -0.2))
    ]
)
TALKS = pd.DataFrame(
    [
        LABELS | {"key": f"k{k}", "instance": f"i{k}", "repeat": 0, "turn": t, "label": label, "correct": correct}
        for k in range(2)
        for t, label, correct in (
            (1, "clarification", None),
            (2, "answer_attempt", False),
            (3, "answer_attempt", k == 1),
        )
    ]
).astype({"correct": "boolean"})
POWER = pd.DataFrame([{"instances": i, "runs": r, "power": 0.5} for i in (20, 50) for r in (1, 10)])

DRAWN = [
    (figures.box, groups()), (figures.scatter, groups()), (figures.cost, groups()), (figures.gradual, GRADUAL),
    (figures.classes, RATES), (figures.attempts, ATTEMPTS), (figures.bloat, BLOAT), (figures.verbosity, VERBOSITY),
    (figures.middle, MIDDLE), (figures.differences, PAIRS), (figures.power, POWER), (figures.timeline, TALKS),
]  # fmt: skip
NAMES = [function.__name__ for function, _ in DRAWN]


def texts(figure: Figure) -> list[str]:
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")) if text.get_text()]


def heights(figure: Figure) -> list[float]:
    """Every y of every marker and line that lies in a panel."""
    return [float(y) for axis in figure.axes for line in axis.lines for y in np.ravel(line.get_ydata())]


@pytest.mark.parametrize(("function", "table"), DRAWN, ids=NAMES)
def test_a_figure_is_a_figure_with_named_axes_and_the_same_bytes_each_time(function, table):
    figure = function(table)
    assert isinstance(figure, Figure)
    assert drawing.rendered(figure, "svg") == drawing.rendered(function(table), "svg")
    assert any(axis.get_xlabel() or axis.get_ylabel() for axis in figure.axes)
    width, height = figure.get_size_inches()
    assert 3 <= width <= 15
    assert 1.4 <= height <= 15


@pytest.mark.parametrize(("function", "table"), DRAWN, ids=NAMES)
def test_a_single_row_is_enough(function, table):
    assert texts(function(table.head(1)))


@pytest.mark.parametrize(("function", "table"), DRAWN, ids=NAMES)
def test_long_and_odd_names_do_no_harm(function, table):
    named = table.assign(
        **{name: table[name].astype(str) + "$x^2$_" + "y" * 60 for name in ("task", "assistant") if name in table}
    )
    assert len(drawing.rendered(function(named), "png")) > 5000


@pytest.mark.parametrize(("function", "table"), DRAWN[:-2], ids=NAMES[:-2])  # those last know no assistants
def test_thirty_assistants_fit_or_are_said_to_be_more(function, table):
    one = table[table["assistant"] == table["assistant"].iloc[0]]
    figure = function(pd.concat([one.assign(assistant=f"provider/model-{k:02}-instruct") for k in range(30)]))
    found = texts(figure)
    assert max(figure.get_size_inches()) < 26
    shown = {text for text in found if "model-" in text}
    assert len(shown) >= 30 or any("the first" in text for text in found)


@pytest.mark.parametrize(("function", "table"), DRAWN, ids=NAMES)
def test_legends_lie_within_the_figure(function, table):
    figure = function(table)
    figure.draw_without_rendering()
    for legend in figure.legends:
        extent = legend.get_window_extent()
        assert extent.x0 >= 0
        assert extent.x1 <= figure.bbox.x1


def test_boxes_stand_from_p10_to_aptitude_around_the_mean():
    figure = figures.box(groups())
    (axis,) = figure.axes
    spans = sorted((round(bar.get_y()), round(bar.get_y() + bar.get_height())) for bar in axis.patches)
    assert spans == sorted([(0, 40), (10, 50), (20, 60)] * 2)
    assert {"m", "n", "full", "concat", "sharded"} <= set(texts(figure))
    means = [round(line.get_ydata()[0]) for line in axis.lines if len(line.get_ydata()) == 1]
    assert sorted(means) == [20, 20, 30, 30, 40, 40]


def test_one_assistant_is_named_once_and_modes_below_their_boxes():
    figure = figures.box(groups().head(3))
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["full", "concat", "sharded"]
    assert "math · m" in texts(figure)


def test_limits_that_are_missing_are_not_drawn():
    whole, bare = figures.box(groups().head(3)), figures.box(groups(mean_low=np.nan, mean_high=np.nan).head(3))
    assert len(whole.axes[0].lines) == len(bare.axes[0].lines) + 3


def test_turns_with_few_replies_are_left_out_unless_there_are_no_others():
    figure = figures.classes(RATES)
    assert figure.axes[0].get_xlim() == (1, 4)
    assert figures.classes(RATES.assign(replies=[50, 20, 10, 9])).axes[0].get_xlim() == (1, 3)
    assert figures.classes(RATES.assign(replies=[4, 3, 2, 1])).axes[0].get_xlim() == (1, 4)


def test_points_that_rest_on_few_are_hollow_and_said_to_be():
    figure = figures.attempts(ATTEMPTS)
    assert "hollow: fewer than 10" in texts(figure)
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert hollow[0].get_xdata().tolist() == [1, 2]
    assert "hollow: fewer than 10" not in texts(figures.attempts(ATTEMPTS.assign(conversations=30)))


def test_conversations_without_an_attempt_have_no_place_on_the_clock():
    never = ATTEMPTS.head(1).assign(fifth=0, score=0.99)
    assert 99 not in {round(y) for y in heights(figures.attempts(pd.concat([ATTEMPTS, never])))}


def test_every_cell_of_the_citations_is_written():
    assert sorted(t for t in texts(figures.middle(MIDDLE)) if t in ("100", "50", "33")) == [
        "100",
        "33",
        "33",
        "33",
        "50",
        "50",
    ]


def test_differences_are_named_by_what_differs_and_unknown_ones_left_out():
    figure = figures.differences(pd.concat([PAIRS, PAIRS.head(1).assign(task="none", difference=np.nan)]))
    assert {"recap − full · math", "recap − full · code"} <= set(texts(figure))
    assert not any("none" in text for text in texts(figure))


def test_differences_of_several_measures_say_which():
    figure = figures.differences(pd.concat([PAIRS.head(1), PAIRS.head(1).assign(measure="unreliability")]))
    assert {"recap − full · mean", "recap − full · unreliability", "difference, points (95 % limits)"} <= set(
        texts(figure)
    )
    assert "difference of mean, points (95 % limits)" in texts(figures.differences(PAIRS))


def test_what_all_differences_have_in_common_is_said_once():
    figure = figures.differences(PAIRS.assign(task="math"))
    assert figure.axes[0].get_title(loc="left") == "math · m"
    assert "recap − full" in texts(figure)


def test_what_an_axis_means_is_not_cut_off_beside_long_names():
    figure = figures.differences(PAIRS.assign(task=[f"{'y' * 30}{k}" for k in range(len(PAIRS))]))
    figure.draw_without_rendering()
    extent = figure.axes[0].xaxis.label.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.x1


def test_a_timeline_has_a_box_a_turn_and_says_what_was_right():
    figure = figures.timeline(TALKS)
    found = texts(figure)
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["i0", "i1"]
    assert (found.count("✓"), found.count("✗")) == (1, 3)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["answer_attempt", "clarification"]
    boxes = [bar for bar in figure.axes[0].patches if bar.get_width() > 0]
    assert sorted((round(bar.get_y() + 0.4), round(bar.get_x() + 0.47)) for bar in boxes) == [
        (y, turn) for y in range(2) for turn in (1, 2, 3)
    ]


def test_a_long_timeline_is_cut_and_says_so():
    many = pd.concat([TALKS.assign(key=TALKS["key"] + str(k)) for k in range(30)])
    figure = figures.timeline(many)
    assert f"the first {figures.MOST_TALKS} of 60" in texts(figure)
    assert len(figure.axes[0].get_yticks()) == figures.MOST_TALKS
    assert figure.get_figheight() < 15


@pytest.mark.parametrize(("function", "table"), DRAWN, ids=NAMES)
def test_a_notebook_shows_a_figure_by_itself(function, table):
    figure = function(table)
    shown, about = DisplayFormatter().format(figure)
    width, height = figure.get_size_inches()
    assert shown["image/png"] == drawing.rendered(function(table), "png")
    assert about["image/png"] == {"width": round(96 * width), "height": round(96 * height)}


def test_unpriced_rows_have_no_place_on_the_cost_axis():
    figure = figures.cost(groups(cost_each=[0.001, np.nan, 0.003, np.nan, np.nan, np.nan]))
    assert "n" not in texts(figure)


def test_saving_writes_both_forms(tmp_path):
    paths = drawing.save(figures.box(groups()), tmp_path / "a.b")
    assert [path.name for path in paths] == ["a.b.png", "a.b.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"<script" not in paths[1].read_bytes()


def test_no_global_state_of_pyplot_is_touched():
    code = "import sys, analysis.figures; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
