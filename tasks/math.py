"""The math task: word problems whose answer is one number.

Protocol as in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. C and I; data from GSM8K); wording and
scoring are our own. Numbers are compared as numbers (`tasks/numbers.py`). The shipped instances are made by
`tasks/families`, so that anybody can make fresh ones that no model has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.classify import classify_reply
from tasks.families import generate
from tasks.nouns import Ask, Instance, Score, Shard, TurnClass
from tasks.numbers import equal, find_answer, parse
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.task import Task


class MathTask(Task):
    """Word problems with a numeric answer; an answer is right if it is the same number."""

    name = "math"
    summary = "word problems with one number as the answer"
    scoring = "equal as a number: 1 or 0"
    answer_form = "one number; it may be negative, a decimal or a fraction"
    prompts = ("math/system", "math/full", "math/concat")
    sharding_hints = "math/sharding"

    def read_row(self, row: Row) -> Instance:
        """A row of sharded GSM8K: `question`, and `answer`, a worked solution that ends in `#### number`."""
        solution = row.text("answer")
        _, marker, gold = solution.rpartition("####")
        if parse(gold) is None:
            raise row.error("answer", solution[-60:], "a worked solution that ends in '#### number', or a number alone")
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=row.text("question"),
            target=gold.strip(),
            data={"solution": solution} if marker else {},
        )

    def check(self, instance: Instance, row: Row) -> None:
        """The target of our own rows is a number written as a text."""
        if not isinstance(instance.target, str) or parse(instance.target) is None:
            raise row.error("target", instance.target, 'a number as a text, such as "24", "-3.5" or "1/3"')

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """Word problems of all families and tiers in turn."""
        return generate(n, seed)

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """A solver's role; nothing about turns or missing information."""
        return prompt("tasks", "math/system").fill()

    def full(self, instance: Instance) -> str:
        """The whole question."""
        return prompt("tasks", "math/full").fill(instruction=instance.instruction)

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets."""
        return prompt("tasks", "math/concat").fill(shards="\n".join(f"- {shard.text}" for shard in shards))

    # -- answers --------------------------------------------------------------------------------------------------

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """By the generic rules, given the number that could be its answer."""
        number = find_answer(reply)
        return classify_reply(reply, has_answer=number is not None, stated=number)

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The number the reply gives as its answer, as written there."""
        return find_answer(reply)

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the answer is the target as a number, else 0. The answer may be a sentence (a judge model extracted it)."""
        number = find_answer(answer)
        if number is None:
            return Score(0.0, False, "unreadable" if answer.strip() else "no_answer")
        right = equal(number, instance.target)
        return Score(float(right), right, details={"answer": number, "target": instance.target})

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The target at the end of a sentence."""
        return f"Working through all of it step by step, the answer is {instance.target}."

    def wrong_answer(self, instance: Instance) -> str:
        """One more than the target."""
        value = parse(instance.target)
        return f"Working through all of it step by step, the answer is {0 if value is None else value + 1}."
