"""The reliability tasks played through the whole graph, by assistants that read what they are told and nothing else.

The readers here share no code with the product: they know the English of the templates, not the facts of an instance.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from simulator.again import Again, again
from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.judge import JUDGES
from simulator.means import Means
from simulator.models.fake import FakeModel
from simulator.record import Record
from simulator.store import Store
from tasks.nouns import Instance, Message, Options, Reply, ToolCall
from tasks.registry import get_task
from tasks.reliability.registered import RELIABILITY_TASKS

Reader = Callable[[Sequence[Message], bool], str]
GENERAL = ("full", "concat", "shuffle_concat", "sharded", "recap", "snowball")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def heard(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages if message.role == "user")


# -- readers: `last` says whether they hear the last change of mind ---------------------------------------------------


def follow_the_rule(messages: Sequence[Message], last: bool) -> str:
    """As many sentences as the rule allows; limits that other people set do not count."""
    others = r"colleague|last assistant|brother|newsletter|friend of mine"
    said = [line for line in re.split(r"(?<=[.!?])\s+|\n", heard(messages)) if not re.search(others, line)]
    limits = [WORDS.index(word) for line in said for word in re.findall(r"(\w+) sentences", line) if word in WORDS]
    return "This is how it is. " * (limits[-1 if last else 0] if limits else 20)


KEYWORDS = {
    "Weather": r"umbrella|how warm|rain in|thunder|coat or|snow|laundry|windy|clear skies|conditions|weather"
    r"|the forecast for|a forecast|freeze|stays dry",
    "News": r"happened with|any headlines|the headlines|offline|reports on|reports, |announced|papers writing|catch|press cover"
    r"|came out|articles|story of|breaking",
    "Calculator": r"how much is|work out|result of|do i get|compute|invoice|my arithmetic|homework|splitting|the sum"
    r"|spreadsheet|in my head|calculated|sum comes|some arithmetic",
    "Stock": r"shares? |trading|quote|worth on|gained or lost|selling|ticker",
    "Recipe": r"how do i|want to cook|to prepare|prepare it|ingredients|hungry|steps for|be made|used to cook|cooking"
    r"|way to make|a recipe",
    "Dictionary": r"' mean|define|came across|explain the word|synonym|where does the word|look up '|definition|spelled|margin"
    r"|part of speech|opposite|a word",
}


GIVEN_UP = (
    r"forget that\.|skip it\.|ask something else\.|never mind\.|leave it\.|^forget .*?\. |another question\.|for later\."
    r"|any more\.|^please drop .*?\. "
)
CHATTER = (
    "my sister|people here|my father|evening news|mental arithmetic|pocket calculator|my uncle|savings account|my brother can"
    "|the kitchen is|my grandfather|words nobody|raining here|^(?:i mean|it matters|give it|i want it|only what|it should work)"
)


def choose_the_tool(messages: Sequence[Message], last: bool) -> str:
    """The tool that the words of the last request give away, or of the one before, which the user gave up."""
    lines = [re.sub(r"^\d+\. |^- ", "", line).lower() for line in heard(messages).splitlines() if line.strip()]
    given_up, *request = re.split(GIVEN_UP, lines[-1])
    spoken = [*lines[:-1], given_up, *request]
    known = [tool for line in spoken if not re.search(CHATTER, line) for tool in [tool_of(line)] if tool]
    return ["None", *known][-1 if last or not request else -2]


def tool_of(text: str) -> str | None:
    found = [(match.start(), tool) for tool, words in KEYWORDS.items() for match in re.finditer(words, text)]
    return min(found)[1] if found else None


MONTH = r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
HOLIDAYS = {
    "New Year's Eve": "12/31",
    "New Year's Day": "01/01",
    "Valentine's Day": "02/14",
    "St. Patrick's Day": "03/17",
    "Independence Day": "07/04",
    "Halloween": "10/31",
    "Christmas Eve": "12/24",
    "Boxing Day": "12/26",
    "Christmas Day": "12/25",
}
COMPANIES = {
    "my parents and me": 3,
    "my wife and me": 2,
    "my husband, our two kids and me": 4,
    "two adults and three children": 5,
    "four colleagues and me": 5,
    "my three brothers and me": 4,
    "six adults and one child": 7,
    "my grandparents, my mother and me": 4,
    "eight colleagues and me": 9,
    "five friends and me": 6,
    "half a dozen people": 6,
    "a dozen people": 12,
    "four adults and four kids": 8,
}
NOT_OURS = (
    "separate booking|not mine|Another reservation|another reservation|very happy|not joining|different reservation|of its own"
    "|not with us"
)


def take_the_booking(messages: Sequence[Message], last: bool) -> str:
    """The last (or the first) value of each slot, in sentences about the user's own booking."""
    stated = re.search(r"Today is \w+, (\w+ \d+, \d+)", messages[0].content)
    assert stated is not None
    today = datetime.strptime(stated[1], "%B %d, %Y").date()
    booking: dict[str, Any] = {"date": None, "time": None, "people": None}
    for line in heard(messages).splitlines():
        if re.search(NOT_OURS, line):
            continue
        for slot, value in sorted([*days(line, today), *hours(line), *parties(line)], key=lambda each: each[0]):
            name = slot[1]
            booking[name] = value if last or booking[name] is None else booking[name]
    return json.dumps(booking)


Found = Iterator[tuple[tuple[int, str], Any]]


def days(line: str, today: date) -> Found:
    for name, value in HOLIDAYS.items():
        yield from (((match.start(), "date"), value) for match in re.finditer(re.escape(name), line))
    for match in re.finditer(rf"\b{MONTH} (\d+)(?:st|nd|rd|th)?\b|\b(\d+)(?:st|nd|rd|th)?(?: of)? {MONTH}", line):
        day = datetime.strptime(f"{match[1] or match[4]} {match[2] or match[3]} 2024", "%b %d %Y")
        yield (match.start(), "date"), f"{day:%m/%d}"
    for match in re.finditer(r"\b(\d+)/(\d+)\b", line):
        yield (match.start(), "date"), f"{int(match[1]):02d}/{int(match[2]):02d}"
    ahead = r"(day after tomorrow)|(tomorrow)|in (\w+) days|(a week from today)|this (\w+day)"
    for match in re.finditer(ahead, line, re.IGNORECASE):
        weekday = match[5] and next(n for n in range(1, 8) if f"{today + timedelta(n):%A}" == match[5])
        n = 2 if match[1] else 1 if match[2] else WORDS.index(match[3]) if match[3] else 7 if match[4] else weekday
        yield (match.start(), "date"), f"{today + timedelta(n):%m/%d}"


def hours(line: str) -> Found:
    for match in re.finditer(r"\bnoon\b|\bmidnight\b", line, re.IGNORECASE):
        if not line[: match.start()].lower().endswith("quarter to "):
            yield (match.start(), "time"), "12pm" if match[0].lower() == "noon" else "12am"
        else:
            yield (match.start(), "time"), "11:45am"
    for match in re.finditer(r"\b(\d+)(?::(\d\d))?(?: ?([ap])\.?m\b|(?<=:\d\d)(?!:| ?[ap]\.?m))", line):
        hour = int(match[1]) % 12 + (12 if match[3] == "p" else 0) if match[3] else int(match[1])
        yield (match.start(), "time"), clock(60 * hour + int(match[2] or 0))
    spoken = r"\b(?:(half|quarter) (past|to) )?(\w+) in the (morning|afternoon|evening)"
    for match in re.finditer(spoken, line, re.IGNORECASE):
        minute = {"half": 30, "quarter": 15}.get((match[1] or "").lower(), 0) * (-1 if match[2] == "to" else 1)
        dial = (60 * WORDS.index(match[3].lower()) + minute) % 720
        yield (match.start(), "time"), clock(dial + (0 if match[4] == "morning" else 720))


def clock(minutes: int) -> str:
    shown = f"{minutes // 60 % 12 or 12}" + (f":{minutes % 60:02d}" if minutes % 60 else "")
    return shown + ("pm" if minutes >= 720 else "am")


def parties(line: str) -> Found:
    for company, count in COMPANIES.items():
        for match in re.finditer(rf"\b{company}\b", line):
            if not line[: match.start()].endswith(("half ", "grand")):
                yield (match.start(), "people"), count
    for match in re.finditer(r"\b(\w+) (?:people|guests|of us)\b|\ba party of (\w+)", line):
        word = match[1] or match[2]
        if word.isdigit() or word in WORDS:
            yield (match.start(), "people"), int(word) if word.isdigit() else WORDS.index(word)


READERS: dict[str, Reader] = {
    "reliability-instruction": follow_the_rule,
    "reliability-tools": choose_the_tool,
    "reliability-entities": take_the_booking,
}


@pytest.mark.parametrize("name", list(RELIABILITY_TASKS))
def test_fresh_instances_are_solved_by_reading_them(name: str) -> None:
    """Every length with every scenario, in every presentation; two independent readings agree on what is right."""
    task, solve = get_task(name), READERS[name]
    for instance in task.generate(88, 2026):
        for way in spoken_ways(name):
            script = task.script(instance, way)
            messages = [Message("system", script.system), *(message for message, _ in script.lines)]
            changed = instance.strata["change"] == "yes" and way != "single"
            assert asyncio.run(task.score(solve(messages, True), instance)).correct, (way, instance.id)
            assert asyncio.run(task.score(solve(messages, False), instance)).correct != changed, (way, instance.id)


# -- playing ----------------------------------------------------------------------------------------------------------


class Play:
    """Runs instances of a task on an assistant and reads back what was stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self,
        name: str,
        instances: Sequence[Instance],
        answer: Callable[[Sequence[Message], Options], Any],
        modes: Sequence[str],
    ) -> list[Record]:
        data = self.folder / "data.jsonl"
        data.write_bytes(b"".join(msgspec.json.encode(instance) + b"\n" for instance in instances))
        asked = Experiment(tasks=(name,), dataset=str(data), assistant=("mine",), modes=tuple(modes), runs=1)
        means = Means(models={"mine": FakeModel(answer, name="mine")})
        outcome = asyncio.run(run(plan(asked), self.folder / "run", means))
        assert outcome.complete
        return self.records()

    def records(self) -> list[Record]:
        with Store(self.folder / "run") as store:
            return sorted(store.records(), key=lambda record: record.key)


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def spoken_ways(name: str) -> list[str]:
    return [way for way in get_task(name).presentations if not way.endswith("native")]


@pytest.mark.parametrize("name", list(RELIABILITY_TASKS))
def test_who_reads_the_facts_is_right_in_every_presentation(name: str, play: Play) -> None:
    instances = get_task(name).load()[22:]
    records = play(name, instances, lambda messages, options: READERS[name](messages, True), spoken_ways(name))
    assert len(records) == len(instances) * len(spoken_ways(name))
    assert [(r.mode, r.instance.id, r.turns[-1].reply) for r in records if r.score != 1.0] == []


@pytest.mark.parametrize("name", list(RELIABILITY_TASKS))
def test_who_reads_the_facts_is_right_in_the_general_modes(name: str, play: Play) -> None:
    instances = get_task(name).load()[:11]
    records = play(name, instances, lambda messages, options: READERS[name](messages, True), GENERAL)
    assert {record.mode for record in records} == set(GENERAL)
    assert [(r.mode, r.instance.id) for r in records if r.score != 1.0] == []


@pytest.mark.parametrize("name", list(RELIABILITY_TASKS))
def test_who_misses_the_last_change_of_mind_is_not(name: str, play: Play) -> None:
    instances = [instance for instance in get_task(name).load() if instance.strata["change"] == "yes"]
    records = play(name, instances, lambda messages, options: READERS[name](messages, False), spoken_ways(name))
    means = {way: [r.score for r in records if r.mode == way] for way in spoken_ways(name)}
    assert set(means["single"]) == {1.0}
    for way in set(spoken_ways(name)) - {"single"}:
        assert set(means[way]) == {0.0}, way


def test_live_turns_are_all_asked_and_only_the_last_is_scored(play: Play) -> None:
    instances = [i for i in get_task("reliability-entities").load() if i.strata["turns"] == 15]
    records = play("reliability-entities", instances, lambda messages, options: '{"people": 0}', ["multi_live"])
    for record in records:
        assert (len(record.turns), record.ended) == (15, "exhausted")
        assert [turn.judgement.score is not None for turn in record.turns if turn.judgement] == [False] * 14 + [True]


def test_the_rule_is_watched_through_the_graph_and_when_scored_again(play: Play) -> None:
    name = "reliability-instruction"
    instances = [i for i in get_task(name).load() if i.strata["turns"] == 6 and i.strata["change"] == "no"]

    def talkative_at_first(messages: Sequence[Message], options: Options) -> str:
        turn = sum(message.role == "user" for message in messages)
        return "So it is. " * (7 if turn == 2 else 5)

    (live,) = play(name, instances[:1], talkative_at_first, ["multi_live"])
    details = live.turns[-1].judgement.score.details
    assert (live.score, details["first_broken_turn"], details["sentences_by_turn"]) == (1.0, 2, [5, 7, 5, 5, 5, 5])
    for what in (Again(), Again(judge=JUDGES["rules"])):
        asyncio.run(again(play.folder / "run", what, Means()))
        (scored,) = play.records()
        assert scored.turns[-1].judgement.score == live.turns[-1].judgement.score


def test_given_and_joined_turns_are_one_reply(play: Play) -> None:
    name = "reliability-instruction"
    records = play(name, get_task(name).load()[:1], lambda messages, options: "Well. " * 6, ["multi", "multi_joined"])
    for record in records:
        assert len(record.turns) == 1
        details = record.turns[0].judgement.score.details
        assert (details["sentences_by_turn"], details["first_broken_turn"], record.score) == ([6], 1, 0.0)


def test_native_calls_go_through_the_graph(play: Play) -> None:
    name, instances = "reliability-tools", get_task("reliability-tools").load()

    def calls(messages: Sequence[Message], options: Options) -> Reply:
        called = ToolCall("1", choose_the_tool(messages, True).lower(), "{}")
        assert called.name in [tool["function"]["name"] for tool in options.tools]
        return Reply((Message("assistant", tool_calls=(called,)),), finish="tool_calls")

    records = play(name, instances, calls, ["single_native", "multi_native"])
    assert [record.score for record in records] == [1.0] * 2 * len(instances)
    assert all(len(record.calls) == 1 for record in records)  # nobody carries the call out


def test_pairs_are_the_same_instances(play: Play) -> None:
    name = "reliability-tools"
    records = play(name, get_task(name).load()[:5], lambda messages, options: "News", ["single", "multi"])
    by_mode = {way: {r.instance.digest() for r in records if r.mode == way} for way in ("single", "multi")}
    assert by_mode["single"] == by_mode["multi"]
    assert len(by_mode["single"]) == 5
