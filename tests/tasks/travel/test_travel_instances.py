"""Instances: generated the same anywhere, shipped, read back, and refused where they cannot be scored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.datasets import instance_lines, write_instances
from tasks.errors import DatasetError
from tasks.registry import get_task
from tasks.travel.problems import TRAVEL_TASKS

#: How the shipped file was made: the first so many of this seed, problem after problem.
SHIPPED, SEED = 24, 2025


def test_the_shipped_instances_are_those_of_the_generator() -> None:
    file = Path(__file__).parents[3] / "tasks" / "data" / "travel.jsonl"
    made = "".join(line for task in TRAVEL_TASKS.values() for line in instance_lines(task().generate(SHIPPED, SEED)))
    assert file.read_text(encoding="utf-8") == made
    assert file.stat().st_size < 1_500_000


@pytest.mark.parametrize("task", TRAVEL_TASKS)
async def test_shipped_targets_score_1_and_other_answers_less(task: str) -> None:
    own = get_task(task)
    instances = own.load()
    assert len(instances) == SHIPPED
    for instance in instances:
        right = await own.extract(own.right_answer(instance), instance)
        wrong = await own.extract(own.wrong_answer(instance), instance)
        assert right is not None
        assert wrong is not None
        score = await own.score(right, instance)
        assert (score.value, score.correct, score.status) == (1.0, True, "scored")
        assert (await own.score(wrong, instance)).value < 1
        assert await own.classify(own.right_answer(instance), instance) == "answer_attempt"


@pytest.mark.parametrize("task", TRAVEL_TASKS)
def test_instances_are_whole(task: str) -> None:
    own = get_task(task)
    for instance in own.generate(60, seed=3):
        assert 3 <= len(instance.shards) <= 12
        assert [shard.id for shard in instance.shards] == list(range(1, len(instance.shards) + 1))
        assert instance.strata
        assert instance.facts
        assert "{{" not in instance.instruction + "".join(shard.text for shard in instance.shards)
        assert all(shard.text == shard.text.strip() and shard.text for shard in instance.shards)


def test_ids_are_unique_and_contents_differ() -> None:
    made = [instance for task in TRAVEL_TASKS.values() for instance in task().generate(60, seed=3)]
    assert len({instance.id for instance in made}) == len(made)
    assert len({instance.digest() for instance in made}) == len(made)


def test_the_same_seed_makes_the_same_instances_in_any_process() -> None:
    code = (
        "from tasks.travel.problems import TRAVEL_TASKS\n"
        "for task in TRAVEL_TASKS.values(): print(*(instance.digest() for instance in task().generate(5, 8)))"
    )
    here = [[instance.digest() for instance in task().generate(5, 8)] for task in TRAVEL_TASKS.values()]
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        made = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert [line.split() for line in made.stdout.splitlines()] == here


def test_fewer_instances_are_the_first_of_more() -> None:
    for task in TRAVEL_TASKS.values():
        assert list(task().generate(2, 8)) == list(task().generate(5, 8))[:2]


def test_a_file_of_all_problems_serves_each(tmp_path: Path) -> None:
    made = [instance for task in TRAVEL_TASKS.values() for instance in task().generate(2, seed=3)]
    write_instances(made, tmp_path / "all.jsonl")
    for name in TRAVEL_TASKS:
        assert get_task(name).load(tmp_path / "all.jsonl") == [each for each in made if each.task == name]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("target",), "about seven", "field target"),
        (("target",), 12, "field target"),
        (("data", "town", "digest"), "0" * 16, "generate the instances anew"),
        (("data", "town", "size", "hotels"), 10**9, "hotels"),
        (("data", "variant"), 9, "dialogue 9"),
        (("data", "slots"), {"hotel": "x"}, "slots"),
        (("data",), {}, "town"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused(tmp_path: Path, path: tuple[str, ...], value: Any, says: str) -> None:
    (instance,) = get_task("travel-hotel").generate(1, seed=3)
    row = json.loads(next(instance_lines([instance])))
    place = row
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(row))
    with pytest.raises(DatasetError, match=f"row 1 (?s:.*){says}"):
        get_task("travel-hotel").load(file)


def test_there_is_no_published_form(tmp_path: Path) -> None:
    row = {"task_id": "a", "task": "travel-hotel", "shards": [{"shard_id": 1, "shard": "x"}]}
    (tmp_path / "published.json").write_text(json.dumps([row]))
    with pytest.raises(DatasetError, match="tasks generate"):
        get_task("travel-hotel").load(tmp_path / "published.json")
