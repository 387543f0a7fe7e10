"""Summaries with sources: documents over turns, coverage by rules and by a model, citations, published rows."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import DatasetError
from tasks.nouns import Instance, Message, Options, Reply, ScorerFailure
from tasks.summary import SummaryTask

TASK = SummaryTask()


def instance_of(*insights: tuple[str, list[int], list[list[str]]], documents: int = 4) -> Instance:
    """An instance with these insights: text, documents, key facts."""
    return Instance(
        id="s",
        task="summary",
        shards=(),
        instruction="what?",
        data={
            "topic": "tests",
            "documents": list(range(1, documents + 1)),
            "insights": [{"text": t, "documents": d, "facts": f} for t, d, f in insights],
        },
    )


class Judge:
    """A judge model: answers the n-th question with the n-th of `answers`, or by a function of the insight asked for."""

    def __init__(self, answers: Sequence[str] | Callable[[str], str]) -> None:
        self.answers, self.asked, self.options = answers, list[list[Message]](), list[Options]()
        self.running = self.most = 0

    async def __call__(self, messages: Sequence[Message], options: Options = Options()) -> Reply:  # noqa: B008
        self.asked.append(list(messages))
        self.options.append(options)
        insight = re.findall(r"Insight:\n(.*)", messages[0].content)[0]
        text = self.answers(insight) if callable(self.answers) else self.answers[len(self.asked) - 1]
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return Reply((Message("assistant", text),))


def verdict(coverage: str, bullet: object) -> str:
    return json.dumps({"coverage": coverage, "bullet": bullet})


ONE = instance_of(("It costs 12 million crowns.", [1], []))
TWO = instance_of(("It costs 12 million crowns.", [1, 2], []), ("It opens in May 2031.", [3], []))


# -- by a model -------------------------------------------------------------------------------------------------------


async def test_coverage_times_f1() -> None:
    judge = Judge([verdict("FULL_COVERAGE", 1), verdict("PARTIAL_COVERAGE", 2)])
    score = await TASK.score("- it costs 12 million [1][2]\n- opens [3][4]", TWO, judge)
    assert score.value == pytest.approx((1 * 1 + 0.5 * 2 / 3) / 2)
    assert not score.correct
    assert (score.details["coverage"], score.details["judge"]) == (0.75, "model")
    assert score.details["citation"] == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.parametrize("bullet", ["NO_ID", None, 9, 0, -1, "1 and 2"])
async def test_bullet_that_does_not_exist_earns_nothing(bullet: object) -> None:
    """CT-03 and trap 76."""
    score = await TASK.score("- one [1]\n- two [2]", ONE, Judge([verdict("FULL_COVERAGE", bullet)]))
    assert score.value == score.details["citation"] == 0.0
    assert score.details["insights"][0]["bad_bullet"]


@pytest.mark.parametrize("bullet", [1, "1", "Bullet 1", "1."])
async def test_ways_to_name_a_bullet(bullet: object) -> None:
    assert (await TASK.score("- one [1]", ONE, Judge([verdict("FULL_COVERAGE", bullet)]))).correct


async def test_nothing_covered_is_zero() -> None:
    """Trap 78: 0.0 and not NaN, in every number of the details."""
    score = await TASK.score("- other things [4]", TWO, Judge(lambda _: verdict("NO_COVERAGE", 0)))
    assert score.value == 0.0
    assert score.details["citation"] == score.details["precision"] == score.details["recall"] == 0.0
    json.loads(json.dumps(score.details, allow_nan=False))


async def test_insights_are_asked_at_once() -> None:
    judge = Judge(lambda _: verdict("FULL_COVERAGE", 1))
    await TASK.score("- one [1]", instance_of(*[(f"Fact {i}.", [1], []) for i in range(7)]), judge)
    assert judge.most == len(judge.asked) == 7


async def test_judge_sees_the_points_and_a_schema() -> None:
    judge = Judge([verdict("FULL_COVERAGE", 2)])
    await TASK.score("Here you are:\n\n- first {{insight}} [1]\n\n- second [2]", ONE, judge)
    [[question]], [options] = judge.asked, judge.options
    assert "It costs 12 million crowns." in question.content
    assert "1. first {{insight}}\n2. second\n" in question.content
    assert options.temperature == 0.0
    assert options.schema is not None
    assert options.schema["properties"]["coverage"]["enum"] == ["NO_COVERAGE", "PARTIAL_COVERAGE", "FULL_COVERAGE"]


@pytest.mark.parametrize(
    "malformed",
    ["", "I think it does.", "{", "[1]", '{"coverage": "SOME", "bullet": 1}', '{"coverage": "FULL_COVERAGE"}', "{}"],
)
async def test_malformed_verdict_is_asked_again_with_the_reason(malformed: str) -> None:
    judge = Judge([malformed, verdict("FULL_COVERAGE", 1)])
    assert (await TASK.score("- one [1]", ONE, judge)).correct
    said = [m.role for m in judge.asked[1]]
    assert said == ["user", "assistant", "user"]
    assert judge.asked[1][1].content == malformed
    assert "could not be read" in judge.asked[1][2].content


async def test_only_the_malformed_is_asked_again() -> None:
    """In rounds and in the order of the insights: what a call is keyed by does not depend on who answers first."""
    replies = iter(["nonsense", verdict("FULL_COVERAGE", 1), "nonsense", verdict("FULL_COVERAGE", 2)])
    judge = Judge(lambda _: next(replies))
    score = await TASK.score("- one [1][2]\n- two [3]", TWO, judge)
    assert [coverage["bullet"] for coverage in score.details["insights"]] == [2, 1]
    assert [re.findall(r"Insight:\n(.*)", m[0].content)[0][:8] for m in judge.asked] == [
        "It costs", "It opens", "It costs", "It costs",
    ]  # fmt: skip


async def test_judge_that_never_answers_is_the_scorers_failure() -> None:
    judge = Judge(lambda _: "no idea")
    with pytest.raises(ScorerFailure, match="no readable verdict on 1 "):
        await TASK.score("- one [1]", ONE, judge)
    assert len(judge.asked) == 3


async def test_failed_call_leaves_none_running() -> None:
    judge = Judge(lambda insight: verdict("FULL_COVERAGE", 1) if insight.endswith("2031.") else 1 / 0)  # type: ignore[return-value]
    with pytest.raises(ZeroDivisionError):
        await TASK.score("- one [1]", TWO, judge)
    assert judge.running == 0


@pytest.mark.parametrize("answer", ["", "\n\n", "-", "- \n* "])
async def test_no_points_no_calls(answer: str) -> None:
    judge = Judge([])
    score = await TASK.score(answer, TWO, judge)
    assert (score.value, score.status, judge.asked) == (0.0, "no_answer", [])


async def test_answer_in_one_line() -> None:
    score = await TASK.score("It costs 12 million crowns [1].", ONE, Judge([verdict("FULL_COVERAGE", 1)]))
    assert score.correct


async def test_long_summary_is_trimmed_but_keeps_its_sources() -> None:
    """Trap 79: 600 words where 300 are allowed; the judge sees half of each point, the citations count in full."""
    judge = Judge([verdict("FULL_COVERAGE", 1)])
    score = await TASK.score("- " + "word " * 300 + "[1]\n- " + "word " * 300 + "[2]", ONE, judge)
    assert score.correct
    assert score.details["kept"] == 0.5
    assert judge.asked[0][0].content.count("word ") + judge.asked[0][0].content.count("word\n") == 300


# -- by rules ---------------------------------------------------------------------------------------------------------

FACTS = instance_of(
    ("The bridge opens in May 2031 and costs 1,200 crowns.", [1, 3], [["may 2031"], ["1,200", "1.2 thousand"]])
)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("- In May 2031 it opens, for 1200 crowns [1][3]", 1.0),
        ("- In MAY 2031; 1.2 thousand crowns. [1, 3]", 1.0),
        ("- In May 2031 [1][3]", 0.5),
        ("- In May 2031 at 1,200 crowns [1]", 2 / 3),
        ("- In May 2031 at 1,200 crowns", 0.0),
        ("- In May 20311 at 11,200 crowns [1][3]", 0.0),
        ("- May 2031 [2]\n- May 2031, 1,200 crowns, says the mayor [1][3]", 1.0),
        ("- Nothing is known [1][3]", 0.0),
    ],
)
async def test_key_facts(answer: str, value: float) -> None:
    score = await TASK.score(answer, FACTS)
    assert score.value == pytest.approx(value)
    assert score.details["judge"] == "rules"


async def test_number_words_are_numbers() -> None:
    instance = instance_of(("Two thirds vanish within three days.", [1], [["two thirds"], ["3 days"]]))
    assert (await TASK.score("- 2 thirds vanish within Three days [1]", instance)).correct
    assert (await TASK.score("- two-thirds are gone after three days [1]", instance)).correct


async def test_insight_without_facts_is_judged_by_its_words() -> None:
    instance = instance_of(("Farmers demand compensation of 40 percent for lost sheep.", [2], []))
    assert (await TASK.score("- farmers demand 40% compensation for sheep they lost [2]", instance)).value == 1.0
    assert (await TASK.score("- farmers demand compensation [2]", instance)).value == 0.5
    assert (await TASK.score("- the weather was fine [2]", instance)).value == 0.0


@given(st.text(alphabet=st.sampled_from("ab1 2-,.[]()\n*{}%\"'May2031"), max_size=200))
@settings(deadline=None)
def test_any_text_has_a_value(answer: str) -> None:
    score = asyncio.run(TASK.score(answer, FACTS))
    assert 0.0 <= score.value <= 1.0
    json.dumps(score.details, allow_nan=False)


# -- embedded ---------------------------------------------------------------------------------------------------------


def test_embedded_haystacks_are_the_generated_ones() -> None:
    instances = TASK.load()
    assert instances == list(TASK.generate(10, 0))
    assert len({i.data["topic"] for i in instances}) == 10
    assert {i.strata["difficulty"] for i in instances} == {"easy", "medium", "hard"}


def test_generated_haystacks_depend_on_the_seed_alone() -> None:
    assert list(TASK.generate(3, 1)) == list(itertools.islice(TASK.generate(20, 1), 3))
    fresh = [i.digest() for i in [*TASK.generate(40, 1), *TASK.generate(40, 2)]]
    assert len(set(fresh)) == len(fresh)


@pytest.mark.parametrize("instance", list(SummaryTask().generate(30, 4)), ids=lambda i: i.id)
def test_documents_hold_the_insights(instance: Instance) -> None:
    """Every insight stands in the documents it names, by its facts, and in no other."""
    assert len(instance.shards) >= 5
    assert len(instance.data["documents"]) >= 10
    texts = [document for shard in instance.shards for document in shard.text.split("\n\n")]
    for insight in instance.data["insights"]:
        assert 2 <= len(insight["documents"]) <= 3
        holding = [
            number
            for number, text in enumerate(texts, 1)
            if all(any(way.lower() in text.lower() for way in fact) for fact in insight["facts"])
        ]
        assert holding == insight["documents"]
    assert len({s for text in texts for s in text.split("\n")[1:]}) == len(texts)


async def test_targets_and_mutated_targets() -> None:
    for instance in TASK.load():
        answer = await TASK.extract(TASK.right_answer(instance), instance)
        assert answer is not None
        score = await TASK.score(answer, instance)
        assert score.value == 1.0
        assert score.correct
        assert 0 < (await TASK.score(TASK.wrong_answer(instance), instance)).value < 1


async def test_last_documents_alone_are_not_enough() -> None:
    """A summary of what the last turn showed earns less than one of everything."""
    for instance in TASK.load():
        last = {int(n) for n in re.findall(r"Document (\d+):", instance.shards[-1].text)}
        points = [i for i in instance.data["insights"] if last & set(i["documents"])]
        answer = "\n".join(f"- {i['text']} [{min(last & set(i['documents']))}]" for i in points)
        assert (await TASK.score(answer, instance)).value < 0.7


# -- wording ----------------------------------------------------------------------------------------------------------


def shown(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"^Document (\d+):$", text, re.MULTILINE)]


def test_documents_are_shown_once_and_in_order() -> None:
    """Trap 24."""
    for instance in TASK.load():
        turns = [TASK.say(instance, turn) for turn in range(len(instance.shards))]
        assert [n for text in turns for n in shown(text)] == instance.data["documents"]
        assert all(len(shown(text)) == 2 for text in turns)
        assert shown(TASK.full(instance)) == shown(TASK.concat(instance, instance.shards)) == instance.data["documents"]


def test_modes_differ_in_disclosure_alone() -> None:
    """Trap 25: the first turn is the same request, and claims nothing about documents that are still to come."""
    instance = TASK.load()[0]
    bare = [
        re.sub(
            r"(?s)Each has a number\.\n\n.*\n\nWith these documents", "Each has a number.\n\nWith these documents", text
        )
        for text in (TASK.full(instance), TASK.concat(instance, instance.shards), TASK.say(instance, 0))
    ]
    assert bare[0] == bare[1] == bare[2]
    assert str(len(instance.data["documents"])) not in bare[2].replace("300", "")
    assert "Chunk 2:\n\nDocument 3:\n" in TASK.concat(instance, instance.shards)


# -- the published form -----------------------------------------------------------------------------------------------


def row(**changes: object) -> dict[str, Any]:
    """A row as published: shards without text and with ids from 0; references that also name documents not shown."""
    return {
        "task_id": "sharded-summhay/news-1",
        "task": "summary",
        "topic_id": "t",
        "topic": "a bridge",
        "subtopic_id": "s",
        "domain": "news",
        "query": "What does it cost?",
        "documents": [
            {"document_id": f"d{n}", "document_index": n, "document_text": f"text of {n}", "insights_included": []}
            for n in (4, 9, 11, 30)
        ],
        "insights": [
            {"insight_id": "i1", "insight": "The bridge costs 12 million crowns."},
            {"insight_id": "i2", "insight": "The ferry will be sold to Norway."},
            {"insight_id": "i3", "insight": "Nobody shown says this."},
        ],
        "insightid2ref_citations": {"i1": [4, 30, 77], "i2": [9], "i3": [78]},
        "shards": [
            {"shard_id": 0, "shard": "", "doc_idxs": [4, 9]},
            {"shard_id": 1, "shard": "", "doc_idxs": [9, 11, 30]},
        ],
        "original_task_id": "o",
    } | changes


def load(folder: Path, *rows: dict[str, Any]) -> list[Instance]:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return TASK.load(path)


async def test_published_row(tmp_path: Path) -> None:
    """Trap 80: only documents that are shown are asked for, so citation recall can reach 1."""
    [instance] = load(tmp_path, row())
    assert [s.id for s in instance.shards] == [0, 1]
    assert [shown(TASK.say(instance, turn)) for turn in (0, 1)] == [[4, 9], [11, 30]]
    assert [i["documents"] for i in instance.data["insights"]] == [[4, 30], [9]]
    assert (await TASK.score(TASK.right_answer(instance), instance)).value == 1.0
    assert (await TASK.score(TASK.wrong_answer(instance), instance)).value == 0.5


def test_shards_may_name_places_in_the_list(tmp_path: Path) -> None:
    [instance] = load(tmp_path, row(shards=[{"shard_id": 0, "shard": "", "doc_idxs": [0, 3]}]))
    assert shown(TASK.say(instance, 0)) == [4, 30]


@pytest.mark.parametrize(
    "changes",
    [
        {"shards": [{"shard_id": 0, "shard": "", "doc_idxs": [4, 500]}]},
        {"shards": [{"shard_id": 0, "shard": ""}]},
        {"insightid2ref_citations": {}},
        {"insights": []},
        {"documents": [{"document_index": "4", "document_text": "x"}]},
        {"query": ""},
    ],
)
def test_row_that_cannot_be_scored(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match=r"rows\.json, row 1"):
        load(tmp_path, row(**changes))


@pytest.mark.parametrize(
    "data", [{}, {"topic": "t", "documents": [1], "insights": [{"text": "x", "documents": [2]}]}, {"insights": 3}]
)
def test_own_row_that_cannot_be_scored(tmp_path: Path, data: dict[str, object]) -> None:
    own = {"id": "a", "task": "summary", "instruction": "x", "shards": [{"id": 1, "text": "x"}], "data": data}
    with pytest.raises(DatasetError, match=r"rows\.json, row 1"):
        load(tmp_path, own)
