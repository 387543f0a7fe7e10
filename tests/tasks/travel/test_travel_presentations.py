"""Each problem in each presentation: what stands where, and that nothing is missing or left unfilled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tasks.nouns import Instance, Message, Script
from tasks.registry import get_task
from tasks.travel.presentations import PRESENTATIONS
from tasks.travel.problems import TRAVEL_TASKS
from tasks.travel.task import TravelTask
from tasks.travel.tools import DOMAINS, schemas
from tasks.travel.wording import variants

#: Who speaks in the dialogue of a problem (user, assistant, call, tool result), as published; k stops for the walk.
SHAPES = {
    "travel-ticket": "AUCTAU",
    "travel-hotel": "AUCTAU",
    "travel-departure": "AUAUCTAU",
    "travel-frequency": "AUCTAU",
    "travel-opening": "AUCTAU",
    "travel-direction": "AUAUCTAUAUCTAU",
    "travel-distance": "AUCTAUCTAUCTAU",
    "travel-path": "AUCTAUCTA" + "UCTA" * 9 + "U",
}


def instances(task: str, n: int = 12) -> list[Instance]:
    return list(get_task(task).generate(n, seed=17))


def each(presentation: str, n: int = 12) -> Iterator[tuple[TravelTask, Instance, Script]]:
    for name in TRAVEL_TASKS:
        task = TRAVEL_TASKS[name]()
        for instance in instances(name, n):
            yield task, instance, task.script(instance, presentation)


def shape(script: Script) -> str:
    letters = {"user": "U", "assistant": "A", "tool": "T"}
    return "".join("C" if message.tool_calls else letters[message.role] for message, _ in script.lines)


def text(script: Script) -> str:
    return "\n".join([script.system, *(message.content for message, _ in script.lines)])


@pytest.mark.parametrize("presentation", PRESENTATIONS)
def test_only_the_last_line_is_asked_and_the_user_says_it(presentation: str) -> None:
    for _, _, script in each(presentation):
        *given, (message, asked) = script.lines
        assert asked
        assert message.role == "user"
        assert not any(answered for _, answered in given)


@pytest.mark.parametrize("presentation", PRESENTATIONS)
def test_nothing_is_left_unfilled(presentation: str) -> None:
    for _, _, script in each(presentation):
        assert "{{" not in text(script)
        assert "}}\n" not in script.system
        assert "\n\n\n" not in text(script)
        assert all(message.content.strip() or message.tool_calls for message, _ in script.lines)


def test_every_dialogue_of_every_template_is_drawn() -> None:
    for name in TRAVEL_TASKS:
        drawn = {instance.data["variant"] for instance in instances(name, 40)}
        assert drawn == set(range(1, variants(name.removeprefix("travel-")) + 1))
        assert len(drawn) > 1


def test_the_dialogue_has_the_published_shape() -> None:
    for task, instance, script in each("dialogue"):
        wanted = SHAPES[task.name]
        if task.name == "travel-path":
            wanted = wanted.replace("UCTA" * 9, "UCTA" * len(instance.facts["stops"]))
        assert shape(script) == wanted


def test_results_in_the_dialogue_are_what_the_calls_really_return() -> None:
    for task, instance, script in each("dialogue", 4):
        messages = [message for message, _ in script.lines]
        for call, result in pairwise(messages):
            if call.tool_calls:
                assert result.tool_call_id == call.tool_calls[0].id
                assert "error" not in json.loads(result.content)
        assert instance.data["town"]["digest"]
        assert task.domains


def test_what_was_asked_for_is_among_the_results() -> None:
    for task, instance, script in each("dialogue"):
        results = " ".join(message.content for message, _ in script.lines if message.role == "tool")
        slots = instance.data["slots"]
        for slot in ("train", "hotel", "restaurant", "attraction"):
            if slot in slots:
                assert slots[slot] in results, (task.name, slot)


def test_only_dialogues_have_functions() -> None:
    for name, presentation in PRESENTATIONS.items():
        for task, _, script in each(name, 1):
            wanted = schemas(task.domains if presentation.own_domains else DOMAINS) if presentation.functions else ()
            assert script.tools == wanted
            assert bool(script.tools) == ("C" in shape(script)) == ("call functions" in script.system)


def test_reduced_domains_are_those_of_the_problem() -> None:
    for task, _, script in each("dialogue_reduced", 1):
        named = [domain for domain in DOMAINS if f"- {domain.capitalize()}:" in script.system]
        assert tuple(named) == tuple(domain for domain in DOMAINS if domain in task.domains)
        assert len(script.tools) < 7


def test_the_concise_dialogue_says_how_many_sentences() -> None:
    for task, instance, script in each("dialogue_concise", 1):
        assert "at most two short sentences" in script.system
        assert script.lines == task.script(instance, "dialogue").lines


def test_the_reasoning_dialogue_differs_by_one_paragraph() -> None:
    for task, instance, script in each("dialogue_reasoning", 1):
        plain = task.script(instance, "dialogue")
        assert script.system.startswith(plain.system + "\n\n")
        assert "step by step" in script.system
        assert (script.lines, script.tools) == (plain.lines, plain.tools)


def test_without_tools_the_data_stand_in_the_system_text() -> None:
    for task, instance, script in each("dialogue_no_tools"):
        with_tools = task.script(instance, "dialogue")
        spoken = [line for line in with_tools.lines if line[0].role != "tool" and not line[0].tool_calls]
        assert list(script.lines) == spoken
        results = [json.loads(m.content) for m, _ in with_tools.lines if m.role == "tool"]
        known = [json.loads(line) for line in script.system.splitlines() if line.startswith("{")]
        rows = [row for each in known for value in each.values() if isinstance(value, list) for row in value]
        assert all(row in rows for each in results for v in each.values() if isinstance(v, list) for row in v)


def test_the_single_turn_holds_the_whole_question() -> None:
    """The published single turn of the walking problem lacks its question."""
    for task, instance, script in each("dialogue_single_turn"):
        assert shape(script) == "U"
        question = script.lines[0][0].content
        assert question in task.full(instance)
        assert question.rstrip().endswith(("?", "pounds?"))
        assert script.system == task.script(instance, "dialogue_no_tools").system


def test_isolated_is_one_user_message_with_all_in_it() -> None:
    for task, instance, script in each("isolated"):
        assert (shape(script), script.system) == ("U", "")
        with_role = task.script(instance, "isolated_role")
        assert with_role.lines[0][0].content.endswith(script.lines[0][0].content)
        assert with_role.lines[0][0].content.startswith("You are the travel assistant of ")


def test_isolated_in_several_turns_has_no_role() -> None:
    for task, instance, script in each("isolated_multi_turn"):
        assert "assistant" not in script.system
        assert script.lines == task.script(instance, "dialogue_no_tools").lines


def test_the_sun_is_in_every_system_text_or_question() -> None:
    for name in PRESENTATIONS:
        for instance in instances("travel-departure", 2):
            assert f"sun sets at {instance.facts['sunset']}" in text(
                get_task("travel-departure").script(instance, name)
            )


def test_ablations_are_compared_with_presentations_that_exist() -> None:
    for task in TRAVEL_TASKS.values():
        assert set(task.compare_to) == set(PRESENTATIONS) - {"isolated"}
        assert set(task.compare_to.values()) <= set(PRESENTATIONS)
        assert set(task.modes) <= set(PRESENTATIONS)


def test_shards_can_be_said_in_any_order(second: SimpleNamespace) -> None:
    """A reader of the shards, the intent first and the others backwards, finds the same answer."""
    for name in TRAVEL_TASKS:
        task = TRAVEL_TASKS[name]()
        for instance in instances(name):
            first, *rest = instance.shards
            for order in (rest, rest[::-1], rest[1:] + rest[:1]):
                said = task.concat(instance, (first, *order))
                reply = second.answer(name, [Message("user", said)])
                value = task.form.read(reply, task.frame(instance))
                assert task.form.measure(value, instance.target, task.frame(instance)).correct, (instance.id, said)
