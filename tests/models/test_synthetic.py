"""The synthetic assistant is what it says it is: measured by numpy's percentiles over its own conversations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import CallFailed, ModelError
from simulator.models.model import make_model
from simulator.models.synthetic import Traits, expected
from tasks.errors import UnknownName
from tasks.nouns import Instance, Message, Options, Shard
from tasks.task import Task


class Sums(Task):
    """Just enough of a task."""

    name = "sums"

    def full(self, instance: Instance) -> str:
        return f"Solve: {instance.instruction}"

    def right_answer(self, instance: Instance) -> str:
        return f"It is {instance.target}."

    def wrong_answer(self, instance: Instance) -> str:
        return f"It is {instance.target + 1}."


class Chatty(Sums):
    answers_every_turn = True


def problem(n: int) -> Instance:
    shards = (Shard(0, f"What is the sum {n}?"), Shard(1, f"One is {n}."), Shard(2, "The other is 1."))
    return Instance(id=str(n), task="sums", shards=shards, instruction=f"What is {n} + 1?", target=n + 1)


async def says(model, instance: Instance, key: str, *heard: str, task: Task | None = None) -> str:
    turns = itertools.chain.from_iterable((Message("user", text), Message("assistant", "…")) for text in heard)
    bound = model.bind(instance, task or Sums(), key)
    return (await bound.call(list(turns)[:-1], Options())).text


async def scores(spec: str, instances: int, runs: int, *, multi: bool = False) -> np.ndarray:
    """instances × runs, 0 or 1."""
    model = make_model(spec)
    rows = []
    for n in range(instances):
        one = problem(n)
        heard = [s.text for s in one.shards] if multi else [Sums().full(one)]
        replies = [await says(model, one, f"{n}/{r}", *heard) for r in range(runs)]
        rows.append([reply == Sums().right_answer(one) for reply in replies])
    return np.array(rows, dtype=float)


def measured(table: np.ndarray) -> tuple[float, float, float]:
    high, low = (np.percentile(table, q, axis=1) for q in (90, 10))
    return table.mean(), high.mean(), (high - low).mean()


@pytest.mark.parametrize("multi", [False, True])
async def test_what_is_measured_is_what_was_expected(multi) -> None:
    spec = "synthetic:aptitude=0.9,unreliability=0.3,multi_aptitude=0.8,multi_unreliability=0.6,luck=0.4,seed=1"
    table = await scores(spec, instances=600, runs=10, multi=multi)
    wanted = expected(make_model(spec).traits, 10, multi=multi)
    # Three standard errors of a share over 600 instances are at most 0.061.
    assert measured(table) == pytest.approx(tuple(wanted), abs=0.061)


async def test_saying_all_again_has_an_effect_of_its_own_on_the_same_instances() -> None:
    spec = "synthetic:aptitude=1,unreliability=0,multi_aptitude=0.3,multi_unreliability=0"
    model, helped = make_model(spec), make_model(f"{spec},restated_aptitude=0.8")
    arms = {"plain": [], "again": [], "unmoved": []}  # type: ignore[var-annotated]
    for n in range(400):
        one = problem(n)
        texts = [shard.text for shard in one.shards]
        recap = [*texts, "Once more: " + " ".join(texts)]
        for arm, who, heard in (("plain", helped, texts), ("again", helped, recap), ("unmoved", model, recap)):
            arms[arm].append(await says(who, one, f"{arm}/{n}", *heard) == Sums().right_answer(one))
    assert arms["unmoved"] == arms["plain"]  # without unreliability only the instance decides
    assert all(again or not plain for plain, again in zip(arms["plain"], arms["again"], strict=True))
    assert (np.mean(arms["plain"]), np.mean(arms["again"])) == pytest.approx((0.3, 0.8), abs=0.07)
    assert expected(helped.traits, 10, multi=True, restated=True).mean == pytest.approx(0.8)
    assert expected(model.traits, 10, multi=True, restated=True) == expected(model.traits, 10, multi=True)


def test_the_parameters_are_a90_and_u90_in_the_limit() -> None:
    mean, aptitude, unreliability = expected(Traits(aptitude=0.9, unreliability=0.3, luck=0.5), 1000)
    assert (mean, aptitude, unreliability) == pytest.approx((0.75, 0.9, 0.3))


def test_few_runs_by_hand() -> None:
    # One run: both percentiles are that run, so an unreliable instance shows 0.5 on average and no unreliability.
    assert expected(Traits(aptitude=1.0, unreliability=1.0), 1) == pytest.approx((0.5, 0.5, 0.0))
    # Two runs of a coin: 00, 01, 10, 11; the percentiles of (0, 1) are 0.9 and 0.1.
    assert expected(Traits(aptitude=1.0, unreliability=1.0), 2) == pytest.approx((0.5, (0.9 + 0.9 + 1) / 4, 0.4))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 30))
@settings(deadline=None)
def test_expectations_stay_in_range(aptitude, share, luck, runs) -> None:
    traits = Traits(aptitude=aptitude, unreliability=aptitude * share, luck=luck)
    mean, high, spread = expected(traits, runs)
    assert -1e-9 <= spread <= high + 1e-9 <= aptitude + 2e-9
    assert -1e-9 <= mean <= aptitude + 1e-9


async def test_a_conversation_is_a_function_of_its_key() -> None:
    model = make_model("synthetic:aptitude=1,unreliability=1,premature=0.5,clarify=0.2")
    one = problem(5)
    first, again = [[await says(model, one, f"k{i}", one.shards[0].text) for i in range(50)] for _ in range(2)]
    assert first == again
    assert len(set(first)) == 3


async def test_it_waits_until_everything_has_been_said() -> None:
    model = make_model("synthetic:aptitude=1,unreliability=0")
    one = problem(7)
    texts = [s.text for s in one.shards]
    right = Sums().right_answer(one)
    assert await says(model, one, "k", texts[0]) != right
    assert await says(model, one, "k", *texts[:2]) != right
    assert await says(model, one, "k", *texts) == right
    assert await says(model, one, "k", "paraphrased", "in three", "turns") == right
    assert await says(model, one, "k", "- " + "\n- ".join(texts)) == right  # CONCAT
    assert await says(model, one, "k", texts[0], f"{texts[0]} {texts[1]} {texts[2]}") == right  # RECAP, SNOWBALL
    assert await says(model, one, "k", texts[0], task=Chatty()) == right


async def test_premature_attempts_are_wrong_and_questions_are_questions() -> None:
    one = problem(7)
    hasty = make_model("synthetic:premature=1")
    assert await says(hasty, one, "k", one.shards[0].text) == Sums().wrong_answer(one)
    asking = make_model("synthetic:clarify=1")
    assert (await says(asking, one, "k", one.shards[0].text)).endswith("?")


async def test_it_costs_nothing_and_is_called_what_it_is() -> None:
    model = make_model("synthetic:aptitude=0.5,unreliability=0.1")
    reply = await model.bind(problem(1), Sums(), "k").call([Message("user", "hello")], Options())
    assert reply.model == "synthetic:aptitude=0.5,unreliability=0.1"
    assert (reply.cost, reply.usage.estimated) == (0.0, True)


async def test_only_an_assistant_knows_the_answers() -> None:
    with pytest.raises(CallFailed, match="assistant") as failed:
        await make_model("synthetic:aptitude=0.5,unreliability=0").call([Message("user", "x")], Options())
    assert failed.value.stop_run


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ("aptitud=1", UnknownName),
        ("aptitude=high", ModelError),
        ("aptitude=0.2,unreliability=0.3", ModelError),
        ("aptitude=1.5", ModelError),
        ("multi_aptitude=0.1", ModelError),
        ("restated_unreliability=0.95", ModelError),
        ("premature=0.7,clarify=0.7", ModelError),
        ("luck=nan", ModelError),
        ("seed=0.5", ModelError),
    ],
)
def test_parameters_that_cannot_be(parameters, error) -> None:
    with pytest.raises(error):
        make_model(f"synthetic:{parameters}")
