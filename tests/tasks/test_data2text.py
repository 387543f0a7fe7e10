"""Tables in one sentence: what the user says, what is generated, and published rows."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from tasks.data2text import Data2TextTask
from tasks.errors import DatasetError
from tasks.nouns import Instance

TASK = Data2TextTask()


def row(**changes: object) -> dict[str, object]:
    """A row as published."""
    return {
        "task_id": "totto-7",
        "task": "data2text",
        "table_html": "<table><tr><td>Rovers</td><td>64</td></tr></table>",
        "table_highlighted_html": "<table><tr><td class='highlighted'>Rovers</td><td>64</td></tr></table>",
        "fewshot_descriptions": "Town won in 1990.\nUnited lost the final.",
        "metadata": {"table_page_title": "A league", "table_section_title": "Final table", "overlap": None},
        "references": ["Rovers won with 64 points.", "With 64 points, Rovers won."],
        "shards": [{"shard_id": 1, "shard": "Describe <table>…"}, {"shard_id": 2, "shard": "The page is A league."}],
    } | changes


def load(folder: Path, *rows: dict[str, object]) -> list[Instance]:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return TASK.load(path)


async def test_published_row(tmp_path: Path) -> None:
    [instance] = load(tmp_path, row())
    full = TASK.full(instance)
    for piece in ("class='highlighted'", "table_page_title: A league", "Town won in 1990.\nUnited lost the final."):
        assert piece in full
    assert TASK.say(instance, 1) == "The page is A league."
    assert [(await TASK.score(r, instance)).correct for r in instance.target] == [True, True]


def test_old_name_of_the_task(tmp_path: Path) -> None:
    assert len(load(tmp_path, row(task="totto"), row(task="math", task_id="other"))) == 1


@pytest.mark.parametrize("changes", [{"references": []}, {"references": "one"}, {"table_highlighted_html": ""}])
def test_row_that_cannot_be_scored(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match=r"rows\.json, row 1"):
        load(tmp_path, row(**changes))


def test_braces_in_a_table_stay(tmp_path: Path) -> None:
    [instance] = load(tmp_path, row(table_highlighted_html="<td>{{examples}} {x}</td>"))
    assert "<td>{{examples}} {x}</td>" in TASK.full(instance)


def test_embedded_tables_are_the_generated_ones() -> None:
    instances = TASK.load()
    assert instances == list(TASK.generate(24, 0))
    assert {i.strata["difficulty"] for i in instances} == {"easy", "medium", "hard"}
    assert len({i.strata["family"] for i in instances}) == 8
    assert all(3 <= len(i.shards) <= 9 and len(i.target) >= 2 for i in instances)


def test_generated_tables_depend_on_the_seed_alone() -> None:
    assert list(TASK.generate(5, 1)) == list(itertools.islice(TASK.generate(30, 1), 5))
    fresh = [i.digest() for i in [*TASK.generate(60, 1), *TASK.generate(60, 2)]]
    assert len(set(fresh)) == len(fresh)


def cells(instance: Instance) -> dict[int, dict[str, str]]:
    """The rows of the table a user shows, read from the text."""
    lines = [line.strip("| ").split(" | ") for line in instance.shards[0].text.split("\n") if line.startswith("|")]
    return {number: dict(zip(lines[0], line, strict=True)) for number, line in enumerate(lines[2:], 1)}


@pytest.mark.parametrize("instance", list(Data2TextTask().generate(72, 5)), ids=lambda i: i.id)
def test_references_say_what_the_table_says(instance: Instance) -> None:
    """Numbers and names of the references, recovered from the table and its context rather than from the templates."""
    table, chosen = cells(instance), instance.shards[1].text
    context = " ".join(s.text for s in instance.shards[2:])
    named = [int(n) for n in re.findall(r"row (\d+):", chosen)]
    for number in named:
        assert all(
            f"{k} {v}" in chosen for k, v in table[number].items() if f"{k} " in chosen.split(f"row {number}:")[1]
        )
    known = {n for row in named for value in table[row].values() for n in re.findall(r"\d+", value.replace(",", ""))}
    known |= set(re.findall(r"\d+", context)) | gaps(table, named)
    for reference in instance.target:
        said = set(re.findall(r"\d+", re.sub(r"(?<=\d),(?=\d{3})", "", reference)))
        assert said <= known, (reference, said - known)


def gaps(table: dict[int, dict[str, str]], rows: list[int]) -> set[str]:
    """Differences between the chosen rows, column by column."""
    if len(rows) < 2:
        return set()
    pairs = zip(table[rows[0]].values(), table[rows[1]].values(), strict=True)
    numbers = [[re.match(r"\d+", v.replace(",", "")) for v in pair] for pair in pairs]
    return {str(abs(int(a[0]) - int(b[0]))) for a, b in numbers if a and b}


async def test_targets_and_mutated_targets() -> None:
    for instance in TASK.load():
        for reference in instance.target:
            answer = await TASK.extract(reference, instance)
            assert answer is not None
            score = await TASK.score(answer, instance)
            assert score.value == 1.0
            assert score.correct
        assert (await TASK.score(TASK.wrong_answer(instance), instance)).value < 0.6
        assert (await TASK.score(TASK.right_answer(instance) + " It was a good year.", instance)).value < 1


def test_modes_differ_in_disclosure_alone() -> None:
    for instance in TASK.load():
        said = [TASK.say(instance, turn) for turn in range(len(instance.shards))]
        full, concat = TASK.full(instance), TASK.concat(instance, instance.shards)
        assert "\n\n".join(said) == full
        assert concat.endswith("\n\n" + full)
        assert all(not any(reference in text for reference in instance.target) for text in said)
