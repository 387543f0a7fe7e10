"""Translation: what the user says, what is embedded, and the published documents where they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.errors import DatasetError
from tasks.translation import TranslationTask

PUBLISHED = Path(__file__).parents[2] / "../shared/data/sharded_translation.json"
TASK = TranslationTask()


def row(**changes: object) -> dict[str, object]:
    """A row as published."""
    return {
        "task_id": "wmt-0",
        "task": "translation",
        "document_de": "Guten Morgen.\nEs regnet.\nWir bleiben zu Hause.",
        "document_en": "Good morning.\nIt is raining.\nWe are staying at home.",
        "shards": [
            {"shard_id": 1, "shard": "Guten Morgen.\nEs regnet."},
            {"shard_id": 2, "shard": "Wir bleiben zu Hause."},
        ],
    } | changes


def write(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_published_row(tmp_path: Path) -> None:
    [instance] = TASK.load(write(tmp_path, row()))
    assert [s.text for s in instance.shards] == ["Guten Morgen.\nEs regnet.", "Wir bleiben zu Hause."]
    assert instance.instruction == row()["document_de"]
    assert instance.target == [row()["document_en"]]


@pytest.mark.parametrize("changes", [{"document_en": " "}, {"document_de": 3}, {"shards": []}])
def test_row_that_cannot_be_scored(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match=r"rows\.json, row 1"):
        TASK.load(write(tmp_path, row(**changes)))


@pytest.mark.parametrize("target", [None, [], "a text", [""]])
def test_own_row_without_reference(tmp_path: Path, target: object) -> None:
    own = {"id": "a", "task": "translation", "instruction": "x", "target": target, "shards": [{"id": 1, "text": "x"}]}
    with pytest.raises(DatasetError, match="target"):
        TASK.load(write(tmp_path, own))


def test_embedded_documents() -> None:
    instances = TASK.load()
    assert len({i.id for i in instances}) == len(instances) >= 24
    assert {i.strata["difficulty"] for i in instances} == {"easy", "medium", "hard"}
    for instance in instances:
        assert 3 <= len(instance.shards) <= 9
        assert "\n".join(s.text for s in instance.shards) == instance.instruction
        assert instance.target[0].count("\n") == len(instance.shards) - 1  # chunk for chunk


async def test_targets_and_mutated_targets() -> None:
    for instance in TASK.load():
        right = await TASK.extract(TASK.right_answer(instance), instance)
        wrong = await TASK.extract(TASK.wrong_answer(instance), instance)
        assert right is not None
        assert wrong is not None
        score = await TASK.score(right, instance)
        assert score.value == 1.0
        assert score.correct
        assert (await TASK.score(wrong, instance)).value < 0.5


async def test_the_german_text_is_no_translation() -> None:
    values = [(await TASK.score(i.instruction, i)).value for i in TASK.load()]
    assert max(values) < 0.1


def test_user_transcribes_live(tmp_path: Path) -> None:
    [instance] = TASK.load(write(tmp_path, row()))
    first, second = TASK.say(instance, 0), TASK.say(instance, 1)
    assert "Guten Morgen.\nEs regnet." in first
    assert "Wir bleiben" not in first
    assert "Wir bleiben zu Hause." in second
    assert "Guten Morgen" not in second
    assert "whole text so far" in first
    assert "whole text so far" in second
    assert (first.count("Chunk 1"), second.count("Chunk 2")) == (1, 1)


def test_modes_differ_in_disclosure_alone(tmp_path: Path) -> None:
    [instance] = TASK.load(write(tmp_path, row()))
    full, concat = TASK.full(instance), TASK.concat(instance, instance.shards)
    assert instance.instruction in full
    assert full.split("\n")[0] in concat.replace(". It comes", ".\nIt comes").split("\n")[0] + "."
    for shard in instance.shards:
        assert concat.count(shard.text) == 1
    assert concat.index("Chunk 1:\nGuten") < concat.index("Chunk 2:\nWir")


async def test_every_reply_is_an_attempt() -> None:
    instance = TASK.load()[0]
    assert await TASK.classify("Good morning.", instance) == "answer_attempt"
    assert await TASK.classify("\n ", instance) == "missing"
    assert await TASK.extract(" \n", instance) is None


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published translations are not here")
async def test_published_documents() -> None:
    instances = TASK.load(PUBLISHED)
    assert len(instances) == 30
    assert sorted({len(i.shards) for i in instances}) == [3, 4, 5]
    for instance in instances:
        answer = await TASK.extract(TASK.right_answer(instance), instance)
        assert answer is not None
        assert (await TASK.score(answer, instance)).value == 1.0
        assert (await TASK.score(TASK.wrong_answer(instance), instance)).value < 0.6
