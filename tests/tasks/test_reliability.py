"""The reliability tasks: instances that do not read alike and whose two forms say the same, scores and their details."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random

import msgspec
import pytest
from click.testing import CliRunner

from simulator.cli import cli
from tasks.errors import DatasetError
from tasks.nouns import Instance, Message, Score, ToolCall
from tasks.registry import TASKS, get_task
from tasks.reliability.registered import RELIABILITY_TASKS
from tasks.reliability.sentences import count_sentences
from tasks.reliability.tools import LABELS, NO_TOOL

NAMES = list(RELIABILITY_TASKS)
FLAGS = ("change", "chat", "others")
INSTRUCTION, TOOLS, ENTITIES = (get_task(name) for name in NAMES)


@pytest.fixture(scope="module")
def made() -> dict[str, list[Instance]]:
    """500 fresh instances of each task."""
    return {name: list(get_task(name).generate(500, 7)) for name in NAMES}


def user_turns(instance: Instance) -> list[str]:
    return [exchange["user"] for exchange in instance.data["dialogue"]]


def of_form(name: str, instances: list[Instance], **strata: object) -> Instance:
    return next(i for i in instances if all(i.strata[key] == value for key, value in strata.items()))


# -- instances --------------------------------------------------------------------------------------------------------


def test_they_are_registered_and_shipped() -> None:
    for name in NAMES:
        assert TASKS[name].modes == ("single", "multi")
        instances = get_task(name).load()
        assert len(instances) >= 24
        assert (Path(__file__).parents[2] / "tasks" / "data" / f"{name}.jsonl").stat().st_size < 1_000_000
        assert {i.strata["turns"] for i in instances} == set(range(5, 16))
        assert len({tuple(i.strata[flag] for flag in FLAGS) for i in instances}) == 8


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_instances_are_what_the_generator_makes(name: str) -> None:
    assert get_task(name).load() == list(get_task(name).generate(44, 1))


def test_another_process_makes_the_same_instances() -> None:
    code = (
        "from tasks.registry import get_task\n"
        f"print(*[i.digest() for name in {NAMES} for i in get_task(name).generate(12, 3)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [i.digest() for name in NAMES for i in get_task(name).generate(12, 3)]
    assert done.stdout.split() == here
    assert [i.digest() for i in TOOLS.generate(5, 3)] == here[12:17]
    assert [i.digest() for i in TOOLS.generate(5, 4)] != here[12:17]


@pytest.mark.parametrize("name", NAMES)
def test_every_length_and_every_combination_of_scenarios(name: str, made: dict[str, list[Instance]]) -> None:
    for instance in made[name]:
        assert len(user_turns(instance)) == instance.strata["turns"]
        assert len(set(user_turns(instance))) >= instance.strata["turns"] - 2
    met = {(i.strata["turns"], *(i.strata[flag] for flag in FLAGS)) for i in made[name]}
    assert len(met) == 11 * 8


def grams(text: str, n: int = 4) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + n]) for at in range(len(words) - n + 1)}


@pytest.mark.parametrize("name", NAMES)
def test_500_instances_do_not_read_alike(name: str, made: dict[str, list[Instance]]) -> None:
    """By runs of four words: two instances share few of them, and no two conversations are near copies."""
    singles, talks = [i.instruction for i in made[name]], [" ".join(user_turns(i)) for i in made[name]]
    assert len(set(singles)) == len(set(talks)) == 500
    for texts, mean, most in ((singles, 0.05, 0.85), (talks, 0.05, 0.4)):
        sets = [grams(text) for text in Random(0).sample(texts, 120)]
        shared = [len(one & other) / len(one | other) for one, other in combinations(sets, 2)]
        assert sum(shared) / len(shared) < mean
        assert max(shared) < most
    openings = Counter(" ".join(talk.split()[:6]) for talk in talks)
    assert openings.most_common(1)[0][1] < 60


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_the_pair_agree(name: str, made: dict[str, list[Instance]]) -> None:
    """What decides the answer stands in the single message, in the conversation and in the shards."""
    for instance in made[name]:
        talk, pieces = "\n".join(user_turns(instance)), "\n".join(shard.text for shard in instance.shards)
        if name == INSTRUCTION.name:
            needed = [(aspect, aspect) for aspect in instance.facts["aspects"]] + [("five sentences", "five sentences")]
        elif name == TOOLS.name:
            needed = [(instance.instruction, instance.shards[1].text.split()[-1].strip(".'"))]
        else:
            last = {said["slot"]: said["words"] for said in instance.facts["said"]}
            needed = [(words, words) for words in last.values()]
        for said, piece in needed:
            assert said in instance.instruction or name == ENTITIES.name
            assert said.lower() in talk.lower()
            assert said.lower() in instance.instruction.lower()
            assert piece.lower() in pieces.lower()


def test_given_answers_keep_the_rule(made: dict[str, list[Instance]]) -> None:
    for instance in made[INSTRUCTION.name]:
        for exchange in instance.data["dialogue"][:-1]:
            count = count_sentences(exchange["assistant"])
            assert 1 <= count.strict <= 5
            assert count.strict == count.lenient


def test_a_changed_limit_was_looser_before(made: dict[str, list[Instance]]) -> None:
    for instance in made[INSTRUCTION.name]:
        alone, first, *later = instance.facts["rules"]
        assert (alone["limit"], instance.target) == (5, 5)
        assert [rule["limit"] for rule in later] == ([5] if instance.strata["change"] == "yes" else [])
        assert (first["limit"] > 5) == bool(later)
        assert user_turns(instance)[0] == first["text"]


def test_tools_are_mixed_and_the_last_differs_from_the_one_before(made: dict[str, list[Instance]]) -> None:
    for instance in made[TOOLS.name]:
        needed = [request["tool"] for request in instance.facts["requests"]]
        assert needed[-1] == instance.target != needed[-2] == instance.facts["previous"]
        assert len(set(needed)) == instance.strata["tools"]
        talk = " ".join(user_turns(instance))
        assert all(request["text"] in talk for request in instance.facts["requests"])
    assert {i.strata["tools"] for i in made[TOOLS.name]} == {2, 3, 4, 5, 6}
    assert {i.target for i in made[TOOLS.name]} == set(LABELS)


def test_the_last_turn_never_says_the_whole_booking(made: dict[str, list[Instance]]) -> None:
    for instance in made[ENTITIES.name]:
        *_, before, _ = instance.data["dialogue"]
        assert any(value is not None for value in json.loads(before["assistant"]).values())
        values = [instance.target, *instance.facts["others"]]
        for slot in instance.target:
            said = [booking[slot] for booking in values if slot in booking]
            assert len(set(said)) == len(said)  # nobody else has a value of the user's booking
        assert bool(instance.facts["others"]) == (instance.strata["others"] == "yes")
        assert (instance.strata["changed"] != "none") == (instance.strata["change"] == "yes")
    forms = Counter(i.strata["date_form"] for i in made[ENTITIES.name])
    assert set(forms) == {"explicit", "holiday", "relative"}


# -- presentations ----------------------------------------------------------------------------------------------------


def roles(messages: list[Message]) -> str:
    return "".join(message.role[0] for message in messages)


@pytest.mark.parametrize("name", NAMES)
def test_every_presentation_asks_the_last_question_last(name: str) -> None:
    task = get_task(name)
    for instance in task.load()[:12]:
        turns = user_turns(instance)
        scripts = {way: task.script(instance, way) for way in task.presentations}
        for way, script in scripts.items():
            answered = [message.content for message, asked in script.lines if asked]
            assert answered == (turns if way == "multi_live" else answered[-1:]), way
            assert script.lines[-1][1]
            assert turns[-1] in answered[-1] or way.startswith("single")
        assert scripts["single"].lines[0][0].content == instance.instruction == task.full(instance)
        assert all(turn in scripts["multi_joined"].lines[0][0].content for turn in turns)
        given = scripts["multi" if name == INSTRUCTION.name else "multi_given"]
        assert roles([message for message, _ in given.lines]) == "ua" * (len(turns) - 1) + "u"
        apart = scripts["multi_consecutive" if name == INSTRUCTION.name else "multi"]
        assert [message.content for message, _ in apart.lines] == turns
        assert len({script.system for way, script in scripts.items() if not way.endswith("native")}) == 1


def test_only_native_presentations_offer_tools() -> None:
    instance = TOOLS.load()[0]
    for way in TOOLS.presentations:
        names = [tool["function"]["name"] for tool in TOOLS.script(instance, way).tools]
        assert names == ([label.lower() for label in LABELS] if way.endswith("native") else [])
    assert all(label in TOOLS.system(instance) for label in (*LABELS, NO_TOOL))
    assert not any(label in TOOLS.script(instance, "multi_native").system for label in LABELS)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_compared_with_a_presentation_there_is(name: str) -> None:
    task = get_task(name)
    assert set(task.compare_to) == set(task.presentations) - {"single"}
    assert set(task.compare_to.values()) <= set(task.presentations)
    assert task.compare_to["multi"] == "single"


# -- scores -----------------------------------------------------------------------------------------------------------


async def judged(name: str, reply: str, instance: Instance) -> Score | None:
    task = get_task(name)
    answer = await task.extract(reply, instance)
    return None if answer is None else await task.score(answer, instance)


@pytest.mark.parametrize("name", NAMES)
async def test_right_and_wrong_answers(name: str, made: dict[str, list[Instance]]) -> None:
    task = get_task(name)
    for instance in made[name]:
        right = await judged(name, task.right_answer(instance), instance)
        wrong = await judged(name, task.wrong_answer(instance), instance)
        assert right is not None
        assert wrong is not None
        assert (right.value, right.correct) == (1.0, True)
        assert (wrong.value, wrong.correct) == (0.0, False)
        assert wrong.details["errors"]
        assert await task.classify(task.right_answer(instance), instance) == "answer_attempt"


async def test_no_words_are_no_attempt() -> None:
    assert await INSTRUCTION.extract("  ", INSTRUCTION.load()[0]) is None
    assert (await INSTRUCTION.score("…", INSTRUCTION.load()[0])).status == "no_answer"
    for task in (TOOLS, ENTITIES):
        assert await task.extract("Which one do you mean?", task.load()[0]) is None
        assert await task.classify("Which one do you mean?", task.load()[0]) == "clarification"
        assert await task.classify("", task.load()[0]) == "missing"


async def test_a_list_does_not_keep_the_rule_and_the_counts_disagree() -> None:
    tips = "\n".join(f"- tip number {n} is as long as a sentence" for n in range(8))
    score = await INSTRUCTION.score(tips, INSTRUCTION.load()[0])
    assert (score.value, score.details["counts_disagree"]) == (0.0, True)
    assert (score.details["sentences"], score.details["lenient"], score.details["errors"]) == (8, 1, ["too_long"])


def said_in(instance: Instance, lengths: list[int]) -> list[tuple[str, str]]:
    return [(turn, "Well. " * n) for turn, n in zip(user_turns(instance), lengths, strict=True)]


def test_the_rule_is_watched_at_every_turn() -> None:
    score = Score(1.0, True)
    steady = of_form("", INSTRUCTION.load(), change="no")
    n = steady.strata["turns"]
    assert INSTRUCTION.review(score, said_in(steady, [5] * n), steady).details["kept_at_every_turn"] is True
    seen = INSTRUCTION.review(score, said_in(steady, [5, 5, 6, 7, *[1] * (n - 4)]), steady)
    assert (seen.details["first_broken_turn"], seen.details["kept_at_every_turn"]) == (3, False)
    assert seen.details["sentences_by_turn"][:4] == [5, 5, 6, 7]
    assert seen.value == 1.0
    # the given turns of `multi` are not the assistant's; only its one reply is looked at
    alone = INSTRUCTION.review(score, [(user_turns(steady)[-1], "Well. " * 6)], steady)
    assert alone.details["first_broken_turn"] == 1


def test_each_turn_is_held_to_the_limit_then_in_force() -> None:
    changed = of_form("", INSTRUCTION.load(), change="yes", turns=10)
    _, first, later = changed.facts["rules"]
    at = user_turns(changed).index(later["text"])
    before = [first["limit"]] * at
    kept = INSTRUCTION.review(Score(1.0, True), said_in(changed, [*before, *[5] * (10 - at)]), changed)
    assert kept.details["kept_at_every_turn"]
    late = INSTRUCTION.review(Score(1.0, True), said_in(changed, [*before, *[6] * (10 - at)]), changed)
    assert late.details["first_broken_turn"] == at + 1
    early = INSTRUCTION.review(Score(1.0, True), said_in(changed, [*[13] * at, *[5] * (10 - at)]), changed)
    assert early.details["first_broken_turn"] == 1


def test_before_the_rule_is_said_there_is_none_to_break() -> None:
    instance = INSTRUCTION.load()[0]
    turns = [(shard.text, "Well. " * n) for shard, n in zip(instance.shards, [9, 5, 5, 5, 5, 5], strict=True)]
    assert INSTRUCTION.review(Score(1.0, True), turns, instance).details["kept_at_every_turn"]
    paraphrased = [
        ("Tell me about it", "Well. " * 9),
        ("Be brief", "Well."),
    ]  # the rule in words nobody knows: it always holds
    assert INSTRUCTION.review(Score(1.0, True), paraphrased, instance).details["first_broken_turn"] == 1


async def test_wrong_tools_are_told_apart() -> None:
    instance = of_form("", TOOLS.load(), tools=4)
    needed = [request["tool"] for request in instance.facts["requests"]]
    earlier = next(tool for tool in needed if tool not in needed[-2:])
    other = next(label for label in LABELS if label not in needed)
    errors = {needed[-2]: "previous_tool", earlier: "earlier_tool", other: "other_tool", NO_TOOL: "no_tool"}
    for label, error in errors.items():
        assert (await TOOLS.score(label, instance)).details["errors"] == [error]
    both = await TOOLS.score(f"{instance.target} or {other}", instance)
    assert (both.value, both.status, both.details["errors"]) == (0.0, "unreadable", ["ambiguous"])
    assert (await TOOLS.score("the usual one", instance)).details["errors"] == ["none"]


async def test_native_calls_are_answers() -> None:
    instance = TOOLS.load()[0]
    called = [ToolCall("1", instance.target.lower(), "")]
    assert (await TOOLS.score(TOOLS.called(called), instance)).correct
    again = ToolCall("2", instance.target.lower(), '{"place": "Oslo"}')
    assert (await TOOLS.score(TOOLS.called([*called, again]), instance)).correct  # the same tool twice is one choice
    other = ToolCall("2", next(label for label in LABELS if label != instance.target).lower(), "{}")
    assert (await TOOLS.score(TOOLS.called([*called, other]), instance)).details["errors"] == ["ambiguous"]


async def test_each_slot_is_scored_and_its_error_named() -> None:
    instance = of_form("", ENTITIES.load(), change="yes", others="yes", changed="time")
    target, said = instance.target, instance.facts["said"]
    earlier = next(each["value"] for each in said if each["slot"] == "time")
    other = next(booking for booking in instance.facts["others"] if "date" in booking)
    wrong = {"date": other["date"], "time": earlier, "people": 99}
    score = await ENTITIES.score(json.dumps(wrong), instance)
    assert score.details["errors"] == ["date:other_booking", "time:earlier_value", "people:other_value"]
    score = await ENTITIES.score(json.dumps({**target, "date": None, "people": "2 or 3"}), instance)
    assert score.details["errors"] == ["date:missing", "people:unreadable"]
    assert score.details["parts"] == {"date": 0.0, "time": 1.0, "people": 0.0}
    assert not score.correct


# -- datasets and the command line --------------------------------------------------------------------------------------


def test_own_slots_can_be_brought(tmp_path: Path) -> None:
    instance = msgspec.to_builtins(ENTITIES.load()[0])
    instance["target"] = {"area": "centre", "stay": 90, "date": "tomorrow", "table": "any"}
    instance["data"]["slots"] = {"area": "text", "stay": "duration", "date": "date", "table": "text"}
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(instance | {"id": "own"}))
    with pytest.raises(DatasetError, match=r"target\.stay"):
        ENTITIES.load(file)
    instance["target"]["stay"] = "1h30"
    file.write_text(json.dumps(instance | {"id": "own"}))
    (own,) = ENTITIES.load(file)
    assert own.target["stay"] == "1h30"


async def test_own_slots_are_scored() -> None:
    kinds = {"area": "text", "stay": "duration"}
    own = msgspec.structs.replace(
        ENTITIES.load()[0], target={"area": "any", "stay": "1h30"}, data={**ENTITIES.load()[0].data, "slots": kinds}
    )
    assert (await ENTITIES.score('{"area": "no preference", "stay": "90 min"}', own)).correct
    assert not (await ENTITIES.score('{"area": null, "stay": "90 min"}', own)).correct


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("reliability-tools", {"target": "Maps"}, "target"),
        ("reliability-instruction", {"target": "five"}, "target"),
        ("reliability-entities", {"target": {"date": "someday"}}, "target.date"),
        ("reliability-entities", {"data": {"single": "a", "dialogue": [{"user": "a"}]}}, "data"),
        ("reliability-tools", {"data": {"single": "a"}}, "data"),
        ("reliability-tools", {"data": {"single": "a", "dialogue": []}}, "data.dialogue"),
    ],
)
def test_unusable_instances_are_refused(name: str, change: dict[str, object], field: str, tmp_path: Path) -> None:
    instance = msgspec.to_builtins(get_task(name).load()[0]) | change
    (tmp_path / "own.jsonl").write_text(json.dumps(instance))
    with pytest.raises(DatasetError, match=re.escape(f"field {field}")):
        get_task(name).load(tmp_path / "own.jsonl")


def test_published_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([{"task_id": "a", "shards": [{"shard_id": 1, "shard": "x"}]}]))
    with pytest.raises(DatasetError, match="tasks generate"):
        TOOLS.load(tmp_path / "rows.json")


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_validates_and_runs_them(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["tasks", "validate", name])
    assert result.exit_code == 0, result.output
    run = [
        "run",
        "--tasks",
        name,
        "--limit",
        "2",
        "--runs",
        "1",
        "--assistant",
        "fake:text=Weather.",
        "--out",
        str(tmp_path / "run"),
    ]
    result = CliRunner().invoke(cli, [*run, "--quiet"])
    assert result.exit_code == 0, result.output
    planned = CliRunner().invoke(
        cli, ["plan", "--tasks", name, "--modes", ",".join(get_task(name).presentations), *run[3:]]
    )
    assert planned.exit_code == 0, planned.output
