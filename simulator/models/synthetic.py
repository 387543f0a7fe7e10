"""A synthetic assistant of known aptitude and unreliability, for tests and for planning: what should be measured is known.

    synthetic:aptitude=0.9,unreliability=0.3[,luck=0.5][,seed=0]
              [,multi_aptitude=0.8,multi_unreliability=0.5][,restated_aptitude=0.85,restated_unreliability=0.4]
              [,premature=0.2][,clarify=0.1]

Every instance is of one of three kinds, drawn from the seed and the instance's content: *solid* (always solved), *coin*
(solved in a share `luck` of its runs, each drawn from the conversation's key) or *hopeless* (never solved). The share of
solid and coin instances together is `aptitude`, that of coin instances alone is `unreliability`. With scores of 0 and 1
these are the A90 and the U90_10 of the paper ("LLMs Get Lost In Multi-Turn Conversation", Laban et al. 2025, section 6.2)
for many runs, since an instance's 90th percentile is then 1 unless it is hopeless and its 10th is 0 unless it is solid; for
few runs `expected` says what numpy's percentiles give. Mean performance is `aptitude − unreliability · (1 − luck)`.

Conversations of more than one user turn use the `multi_` parameters (by default the same), those among them whose last user
turn says everything once more (RECAP, SNOWBALL, with a verbatim user) the `restated_` ones (by default the `multi_` ones):
effects of known size, on the same instances. Until everything has been said, such a conversation gets a wrong answer with
probability `premature`, a question with probability `clarify`, and an acknowledgement otherwise.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from simulator.errors import CallFailed, ModelError
from simulator.models import prices
from simulator.models.access import Access
from simulator.models.tokens import estimate
from tasks.errors import UnknownName
from tasks.nouns import Instance, Message, Options, Reply
from tasks.task import Task


class Traits(msgspec.Struct, frozen=True):
    """The parameters; see the module. All but the seed are probabilities, unreliability at most aptitude."""

    aptitude: float = 0.9
    unreliability: float = 0.3
    luck: float = 0.5
    multi_aptitude: float | None = None
    multi_unreliability: float | None = None
    restated_aptitude: float | None = None
    restated_unreliability: float | None = None
    premature: float = 0.0
    clarify: float = 0.0
    seed: int = 0

    def shares(self, *, multi: bool, restated: bool = False) -> tuple[float, float]:
        """(aptitude, unreliability) of single-turn conversations, multi-turn ones, and those that end by saying all again."""
        shares = self.aptitude, self.unreliability
        if multi:
            shares = _given(shares, self.multi_aptitude, self.multi_unreliability)
        if restated:
            shares = _given(shares, self.restated_aptitude, self.restated_unreliability)
        return shares


class Expected(NamedTuple):
    """What a run should measure, each in [0, 1]: mean over instances of mean, 90th percentile, and 90th − 10th."""

    mean: float
    aptitude: float
    unreliability: float


def expected(traits: Traits, runs: int, *, multi: bool = False, restated: bool = False) -> Expected:
    """P̄, A90 and U90_10 of infinitely many instances with `runs` runs each, scored 0 or 1, by linear percentiles."""
    aptitude, unreliability = traits.shares(multi=multi, restated=restated)
    solid = aptitude - unreliability
    successes = np.arange(runs + 1)
    chance = np.ones(1)
    for _ in range(runs):
        chance = np.convolve(chance, [1 - traits.luck, traits.luck])  # ends as the binomial distribution
    outcomes = (np.arange(runs) >= runs - successes[:, None]).astype(float)  # row k: k successes, sorted
    low, high = (np.percentile(outcomes, q, axis=1) @ chance for q in (10, 90))
    return Expected(
        mean=solid + unreliability * traits.luck,
        aptitude=float(solid + unreliability * high),
        unreliability=float(unreliability * (high - low)),
    )


class SyntheticModel:
    """Answers only once it is bound to a conversation; the name says what it is wherever results are shown.

    Attributes:
        knows_answers: the engine has to call `bind` with the instance and its task for each conversation.
    """

    knows_answers = True

    def __init__(self, name: str, traits: Traits) -> None:
        self.name, self.traits = name, traits

    def bind(self, instance: Instance, task: Task, key: str) -> BoundSynthetic:
        """The model for one conversation; all it does follows from the traits, the instance and `key`."""
        return BoundSynthetic(self.name, self.traits, instance, task, key)

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """Always fails: only a bound one knows the answers."""
        raise CallFailed(
            "bad_request", f"{self.name} can only be the assistant: it has to know the answers", stop_run=True
        )

    async def close(self) -> None:
        """Nothing is open."""


class BoundSynthetic:
    """A synthetic assistant within one conversation."""

    def __init__(self, name: str, traits: Traits, instance: Instance, task: Task, key: str) -> None:
        self.name = name
        self._traits, self._instance, self._task, self._key = traits, instance, task, key

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """What this assistant says next."""
        said = Message("assistant", self._says([m.content for m in messages if m.role == "user"]))
        usage = estimate(messages, [said], self.name)
        return Reply((said,), model=self.name, usage=usage, cost=prices.free(usage))

    async def close(self) -> None:
        """Nothing is open."""

    def _says(self, heard: Sequence[str]) -> str:
        if self._task.answers_every_turn or self._knows_all(heard):
            solved = self._solves(multi=len(heard) > 1, restated=len(heard) > 1 and self._says_all(heard[-1]))
            return self._task.right_answer(self._instance) if solved else self._task.wrong_answer(self._instance)
        chance = _draw(self._key, "turn", len(heard))
        if chance < self._traits.premature:
            return self._task.wrong_answer(self._instance)
        if chance < self._traits.premature + self._traits.clarify:
            return "Before I go on: is there anything else I should know?"
        return "I see. Please go on."

    def _knows_all(self, heard: Sequence[str]) -> bool:
        """Everything has been said: word for word, in the full prompt, or in as many turns as there are shards."""
        shards = self._instance.shards
        if len(heard) >= len(shards) or heard[-1] == self._task.full(self._instance):
            return True
        return self._says_all("\n".join(heard))

    def _says_all(self, text: str) -> bool:
        """Every shard of some wording is there, word for word."""
        wordings = [self._instance.shards, *self._instance.variants.values()]
        return any(all(shard.text in text for shard in wording) for wording in wordings)

    def _solves(self, *, multi: bool, restated: bool) -> bool:
        """The outcome of this conversation; one draw an instance, one a conversation."""
        aptitude, unreliability = self._traits.shares(multi=multi, restated=restated)
        kind = _draw(self._traits.seed, self._instance.digest())
        if kind < aptitude - unreliability:
            return True
        return kind < aptitude and _draw(self._key, "outcome") < self._traits.luck


def make_synthetic(spec: str, parameters: str, access: Access) -> SyntheticModel:
    """`synthetic:NAME=VALUE,…`. Raises `UnknownName` or `ModelError` for parameters that do not exist or cannot be."""
    given = dict(part.partition("=")[::2] for part in parameters.split(",") if part)
    for name in given:
        if name not in Traits.__struct_fields__:
            raise UnknownName("parameter of the synthetic assistant", name, Traits.__struct_fields__)
    try:
        traits = msgspec.convert(given, Traits, strict=False)
    except msgspec.ValidationError as problem:
        raise ModelError(f"{spec}: {problem}", got=parameters, allowed="NAME=NUMBER,…") from problem
    _check(spec, traits)
    return SyntheticModel(spec, traits)


#: The kinds of conversations: how an error names them, whether of several turns, whether all was said again.
_KINDS = (("", False, False), (" in several turns", True, False), (" where all is said again", True, True))


def _check(spec: str, traits: Traits) -> None:
    for where, multi, restated in _KINDS:
        aptitude, unreliability = traits.shares(multi=multi, restated=restated)
        if not 0 <= unreliability <= aptitude <= 1:
            raise ModelError(
                f"{spec}: no assistant can be like that",
                got=f"aptitude {aptitude}, unreliability {unreliability}{where}",
                allowed="0 <= unreliability <= aptitude <= 1",
            )
    rates = (traits.luck, traits.premature, traits.clarify, traits.premature + traits.clarify)
    if not all(0 <= rate <= 1 for rate in rates):
        raise ModelError(f"{spec}: luck, premature, clarify and the sum of the last two are probabilities")


def _given(before: tuple[float, float], aptitude: float | None, unreliability: float | None) -> tuple[float, float]:
    """What is given, else what was before."""
    return before[0] if aptitude is None else aptitude, before[1] if unreliability is None else unreliability


def _draw(*key: object) -> float:
    """Uniform in [0, 1), a function of the key alone."""
    seed = hashlib.sha256("/".join(map(str, key)).encode()).digest()
    return random.Random(seed).random()
