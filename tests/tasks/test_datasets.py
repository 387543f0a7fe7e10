"""Files of instances as users bring them: published, in older spellings, our own lines, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.datasets import load_instances, read_rows, write_instances
from tasks.errors import DatasetError, UnknownName
from tasks.nouns import Instance, Shard
from tasks.registry import TASKS, get_task
from tasks.task import Task

PUBLIC_MATH = Path(__file__).parents[2] / "../shared/data/sharded_gsm8k_698.json"

MATH = get_task("math")


def published(**changes: Any) -> dict[str, Any]:
    row = {
        "task_id": "sharded-X/1",
        "task": "math",
        "question": "Ann has 3 pens and buys 4. How many pens has Ann?",
        "answer": "3 + 4 = 7\n#### 7",
        "shards": [
            {"shard_id": 1, "shard": "How many pens has Ann?"},
            {"shard_id": 2, "shard": "Ann had 3 pens."},
            {"shard_id": 3, "shard": "Ann buys 4 pens."},
        ],
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def file_of(folder: Path, content: object, name: str = "data.json") -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


def load_one(folder: Path, row: dict[str, Any], task: Task = MATH) -> Instance:
    [instance] = task.load(file_of(folder, [row]))
    return instance


# -- what is read -----------------------------------------------------------------------------------------------------


def test_a_published_row_becomes_an_instance(tmp_path: Path) -> None:
    instance = load_one(tmp_path, published())
    assert instance.id == "sharded-X/1"
    assert instance.instruction.startswith("Ann has 3 pens")
    assert instance.target == "7"
    assert instance.shards[0] == Shard(1, "How many pens has Ann?")
    assert [shard.id for shard in instance.shards] == [1, 2, 3]


OLDER_FORMS = {
    "shard_text": published(
        shards=[{"shard_id": 1, "shard_text": "How many?"}, {"shard_id": 2, "shard_text": "Ann had 3."}]
    ),
    "hints": published(
        shards=..., initial_query="How many?", hints=[{"hint_id": 0, "hint": "Ann had 3.", "is_required": 1}]
    ),
    "lazy": published(shards=..., lazy={"initial_query": "How many?", "hints": [{"hint_id": 1, "hint": "Ann had 3."}]}),
    "lazy hints": published(
        shards=..., initial_query="How many?", lazy={"hints": [{"hint_id": 1, "hint": "Ann had 3."}]}
    ),
}


@pytest.mark.parametrize("row", OLDER_FORMS.values(), ids=OLDER_FORMS.keys())
def test_older_spellings_of_shards_give_the_same_shards(tmp_path: Path, row: dict[str, Any]) -> None:
    assert load_one(tmp_path, row).shards == (Shard(1, "How many?"), Shard(2, "Ann had 3."))


def test_only_rows_of_the_task_are_taken_from_a_mixed_file(tmp_path: Path) -> None:
    rows = [published(), published(task="database", task_id="d"), published(task=..., task_id="unnamed")]
    assert [i.id for i in MATH.load(file_of(tmp_path, rows))] == ["sharded-X/1", "unnamed"]


def test_a_file_without_rows_of_the_task_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"(?s)no rows of the task math.*2 of database"):
        MATH.load(file_of(tmp_path, [published(task="database"), published(task="database")]))


def test_blank_later_shards_are_dropped(tmp_path: Path) -> None:
    shards = [
        {"shard_id": 1, "shard": "How many?"},
        {"shard_id": 2, "shard": " "},
        {"shard_id": 3, "shard": "Ann had 3."},
    ]
    assert [shard.id for shard in load_one(tmp_path, published(shards=shards)).shards] == [1, 3]


class Scripted(type(MATH)):  # type: ignore[misc]
    """A task whose user says something else than the shards' texts (as the documents of a summary)."""

    scripted_user = True


def test_a_scripted_task_keeps_blank_shards(tmp_path: Path) -> None:
    row = published(shards=[{"shard_id": 0, "shard": ""}, {"shard_id": 1, "shard": ""}])
    assert load_one(tmp_path, row, Scripted()).shards == (Shard(0, ""), Shard(1, ""))


def test_own_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    written = [
        Instance(
            id=f"x-{n}",
            task="math",
            shards=(Shard(1, "How many\u2028pens?"), Shard(2, f"Ann had {n} “pens”.")),
            instruction="…",
            target=str(n),
            facts={"pens": n},
            strata={"tier": 1},
            variants={"2": (Shard(1, "a"), Shard(2, "b"))},
            data={"nested": [1, {"a": None}]},
        )
        for n in range(3)
    ]
    assert write_instances(written, path) == 3
    assert MATH.load(path) == written
    assert [p.name for p in tmp_path.iterdir()] == ["own.jsonl"]


def test_published_rows_may_come_as_lines_and_own_rows_as_a_list(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(published(task_id=name)) for name in "ab")
    assert [i.id for i in MATH.load(file_of(tmp_path, lines))] == ["a", "b"]
    own = {
        "id": "z",
        "task": "math",
        "shards": [{"id": 1, "text": "How many?"}],
        "instruction": "3 and 4?",
        "target": "7",
    }
    assert MATH.load(file_of(tmp_path, [own]))[0].id == "z"


def test_bytes_order_mark_is_no_content(tmp_path: Path) -> None:  # DL-01
    path = tmp_path / "bom.jsonl"
    path.write_bytes(bytes.fromhex("EFBBBF7B2261223A317D0A"))
    assert [row.fields for row in read_rows(path)] == [{"a": 1}]


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:  # DL-03
    path = file_of(tmp_path, '{"a":1}\n\n  \r\n{"a":2}\r\n')
    assert [(row.fields, row.number) for row in read_rows(path)] == [({"a": 1}, 1), ({"a": 2}, 2)]


def test_other_line_separators_stay_inside_their_text(tmp_path: Path) -> None:
    path = file_of(tmp_path, '{"a":"x\u2028y\u0085z"}\n')
    assert [row.fields for row in read_rows(path)] == [{"a": "x\u2028y\u0085z"}]


# -- ids --------------------------------------------------------------------------------------------------------------


def test_one_problem_sharded_twice_gives_two_instances_that_know_of_each_other(tmp_path: Path) -> None:
    again = published(shards=published()["shards"][:2])
    first, second, third = MATH.load(file_of(tmp_path, [published(), again, published(task_id="other")]))
    assert first.id != second.id
    assert first.pair == second.pair == "sharded-X/1"
    assert (third.id, third.pair) == ("other", None)
    reordered = MATH.load(file_of(tmp_path, [again, published(task_id="other"), published()]))
    assert {i.id for i in reordered} == {first.id, second.id, third.id}


def test_a_published_row_given_twice_counts_twice(tmp_path: Path) -> None:
    # Arguable: the public maths file repeats 145 rows, and all its rows are to load.
    first, second = MATH.load(file_of(tmp_path, [published(), published()]))
    assert first.id != second.id
    assert first.pair == second.pair


BAD_IDS = {  # DL-05
    "two problems": [published(), published(question="Another question?")],
    "number": [published(task_id=7)],
    "blank": [published(task_id=" ")],
    "missing": [published(task_id=...)],
}


@pytest.mark.parametrize("rows", BAD_IDS.values(), ids=BAD_IDS.keys())
def test_ids_that_cannot_tell_rows_apart_are_refused(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(DatasetError, match=rf"row {len(rows)}, field task_id"):
        MATH.load(file_of(tmp_path, rows))


def test_our_own_ids_are_never_repeated(tmp_path: Path) -> None:
    own = {
        "id": "z",
        "task": "math",
        "shards": [{"id": 1, "text": "How many?"}],
        "instruction": "3 and 4?",
        "target": "7",
    }
    with pytest.raises(DatasetError, match="row 2, field id: the same as in row 1"):
        MATH.load(file_of(tmp_path, [own, own]))


# -- what is wrong ----------------------------------------------------------------------------------------------------

OWN = {"id": "z", "task": "math", "shards": [{"id": 1, "text": "How many?"}], "instruction": "3 and 4?", "target": "7"}


def second_shard(**piece: object) -> dict[str, Any]:
    return published(shards=[{"shard_id": 1, "shard": "How many?"}, piece])


WRONG = [
    (second_shard(shard_id=2, shard=3), "shards[1].shard", "3"),
    (second_shard(shard_id=2), "shards[1].shard", "None"),
    (second_shard(shard_id="2", shard="x"), "shards[1].shard_id", "2"),
    (second_shard(shard_id=True, shard="x"), "shards[1].shard_id", "True"),
    (second_shard(shard_id=1, shard="x"), "shards[1].shard_id", "1"),
    (published(shards=[{"shard_id": 1, "shard": " "}]), "shards[0].shard", "' '"),
    (published(shards=[]), "shards", "[]"),
    (published(shards=["How many?"]), "shards[0]", "How many?"),
    (published(shards="How many?"), "shards", "How many?"),
    (published(shards=...), "shards", "no such field"),
    (published(shards=..., initial_query="q", hints=[{"hint_id": 1, "hint": None}]), "hints[0].hint", "None"),
    (published(shards=..., hints=[{"hint_id": 1, "hint": "h"}]), "initial_query", "no such field"),
    (published(question=...), "question", "no such field"),
    (published(question=12), "question", "12"),
    (published(answer="it depends"), "answer", "it depends"),
    (published(answer="#### many"), "answer", "#### many"),
    (published(task=3), "task", "3"),
    (published(extra={"x": [1.0, float("nan")]}), "extra.x[1]", "nan"),
    (published(extra=float("inf")), "extra", "inf"),
    (published(question="half a pair \ud800"), "question", "'half a pair"),
    (OWN | {"shards": [{"id": 1, "text": "How many?"}, {"id": 2, "text": 5}]}, "shards[1].text", "5"),
    (OWN | {"shards": [{"id": 1, "text": "How many?"}, {"id": 2, "text": ""}]}, "shards[1].text", "''"),
    (OWN | {"shards": [{"id": 1, "text": "How many?"}, {"id": 1, "text": "x"}]}, "shards[1].id", "1"),
    (OWN | {"shards": []}, "shards", "[]"),
    (OWN | {"id": 5}, "id", "5"),
    (OWN | {"id": " "}, "id", "' '"),
    (OWN | {"instruction": ""}, "instruction", "''"),
    (OWN | {"target": "many"}, "target", "many"),
    (OWN | {"target": 7}, "target", "7"),
    (OWN | {"strata": [1]}, "strata", "[1]"),
]


@pytest.mark.parametrize(("row", "field", "got"), WRONG, ids=[f"{n}-{field}" for n, (_, field, _) in enumerate(WRONG)])
def test_an_error_names_file_row_field_value_and_what_is_allowed(
    tmp_path: Path, row: dict[str, Any], field: str, got: str
) -> None:
    good = published(task_id="good") if "task_id" in row else OWN | {"id": "good"}
    path = file_of(tmp_path, [good, row])
    with pytest.raises(DatasetError) as caught:
        MATH.load(path)
    message = str(caught.value)
    assert f"{path}, row 2, field {field}: " in message
    assert f"got:     {got}" in message
    assert "allowed: " in message


NOT_READABLE = {
    "torn list": ('[{"task_id": "a"}, {"task', "cut off"),
    "torn line": ('{"a": 1}\n{"a": ', r"row 2 \(line 2\)"),
    "comma": ("[{},]", "line 1, column"),
    "nothing": ("", "an empty file"),
    "blank": (" \n\n", "an empty file"),
    "list of texts": ('["a"]', "row 1: not an object"),
    "text": ('"a"', r"row 1 \(line 1\): not an object"),
    "nested": ("[" * 100_000, "not JSON that can be read"),
    "endless number": ("[" + "9" * 5000 + "]", "not JSON that can be read"),
}


@pytest.mark.parametrize(("content", "message"), NOT_READABLE.values(), ids=NOT_READABLE.keys())
def test_files_that_are_no_data(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        MATH.load(file_of(tmp_path, content))
    assert str(tmp_path) in str(caught.value)


def test_the_line_of_a_row_is_named_where_blank_lines_shift_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"row 2 \(line 4\)"):
        MATH.load(file_of(tmp_path, '{"a": 1}\n\n\n{broken}\n'))


def test_missing_folders_and_bytes_are_no_data(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="No such file"):
        MATH.load(tmp_path / "none.json")
    with pytest.raises(DatasetError, match="Is a directory"):
        MATH.load(tmp_path)
    (tmp_path / "latin").write_bytes("[{'ä'}]".encode("latin-1"))
    with pytest.raises(DatasetError, match="not UTF-8 at byte 3"):
        MATH.load(tmp_path / "latin")


def test_a_place_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be written"):
        write_instances([], tmp_path / "no" / "such" / "folder.jsonl")
    assert list(tmp_path.iterdir()) == []


# -- the real thing ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not PUBLIC_MATH.exists(), reason="the public maths rows are not here")
async def test_all_public_maths_rows_load_and_their_solutions_score_one() -> None:
    rows = json.loads(PUBLIC_MATH.read_text(encoding="utf-8"))
    instances = load_instances(MATH, PUBLIC_MATH)
    assert len(instances) == len(rows) == 698
    assert len({i.id for i in instances}) == 698
    for row, instance in zip(rows, instances, strict=True):
        said = [s["shard"] for s in row["shards"] if s["shard"].strip()]
        assert [shard.text for shard in instance.shards] == said
        answer = await MATH.extract(row["answer"], instance)
        assert answer is not None
        assert (await MATH.score(answer, instance)).value == 1.0


def test_tasks_are_found_by_their_names_old_and_new() -> None:
    assert {type(get_task(name)) for name in TASKS} == set(TASKS.values())
    assert get_task(" Math ").name == "math"
    with pytest.raises(UnknownName, match=r"allowed: a00, .*, a23, … 76 more$"):
        raise UnknownName("instance", "nothing like it", (f"a{k:02}" for k in range(100)))
    with pytest.raises(UnknownName, match=r"(?s)no task named 'maths'.*did you mean math"):
        get_task("maths")


def test_every_task_is_registered_under_its_own_name() -> None:
    assert all(name == task.name for name, task in TASKS.items())
