"""The one seam to models: every call of every role goes through `Line.ask`. Journal, limits, retries and replay live here.

A `Line` belongs to one conversation; its `Switchboard` is shared by all conversations of a process and holds the models, the
journal and the gates that bound how many calls are under way. The key of a call is conversation + role + site + ordinal, so
repeats are different samples by construction and a resumed conversation finds the replies it already paid for.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from simulator.conversation import Setting
from simulator.errors import CallFailed, Failure, Halt
from simulator.limits import Budget, Gate
from simulator.models.model import Model
from simulator.record import Call, Journalled
from tasks.nouns import Ask, Instance, Message, Options, Reply, Retry
from tasks.task import Task

#: The waits between the tries of one call double from the first to the longest, seconds.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
#: A reply with nothing in it at all is asked for again so often; often that helps.
EMPTY = 2
#: An endpoint that never answered and could not be reached so often is down: the run stops.
UNREACHABLE = 3

#: Causes that are the doing of the party whose turn it was; all others are the infrastructure's.
OWN_FAULT = frozenset({"content_filter", "context_exceeded", "tool_loop"})


class Caller(Protocol):
    """What a conversation needs of its line; `endpoints` says which roles have a model."""

    @property
    def endpoints(self) -> Mapping[str, object]: ...

    def bound(self, role: str, site: str) -> Ask:
        """A model for one role at one place in the conversation: all that tasks, judges and interventions see of it."""

    async def ask(self, role: str, site: str, messages: Sequence[Message], options: Options) -> Reply:
        """One reply. Raises `Failure` with the party at fault."""


class Journal(Protocol):
    """Where paid replies are kept until their conversation is stored; `Writer` is one."""

    def journal(self, conversation: str, call: str, request: str, reply: Reply) -> None: ...


@runtime_checkable
class KnowsAnswers(Protocol):
    """A model that has to know the right answer to play its part: a synthetic assistant."""

    def bind(self, instance: Instance, task: Task, key: str) -> Model:
        """The model for one conversation; a pure function of its arguments."""


@dataclass(frozen=True)
class Endpoint:
    """A model and the gate before it."""

    model: Model
    gate: Gate

    def bound(self, setting: Setting) -> Endpoint:
        """The same for one conversation: a synthetic assistant learns what the right answer is."""
        if isinstance(self.model, KnowsAnswers):
            return Endpoint(self.model.bind(setting.instance, setting.task, setting.key), self.gate)
        return self


class Switchboard:
    """What the conversations of a worker share: endpoints by role and model name, the journal, the budget, who is waiting."""

    def __init__(
        self, endpoints: Mapping[tuple[str, str], Endpoint], journal: Journal, budget: Budget, retries: int = 7
    ) -> None:
        self.endpoints, self.journal, self.budget, self.retries = endpoints, journal, budget, retries
        self.waiting: Counter[str] = Counter()
        self.halted = ""
        self._halting = asyncio.Event()

    def line(self, setting: Setting, paid: Mapping[str, Journalled]) -> Line:
        """The line of one conversation; `paid`: the replies an interrupted run left behind."""
        endpoints = {role: self.endpoints[role, name].bound(setting) for role, name in setting.arm.names.items()}
        return Line(self, setting.key, endpoints, setting.arm.sampling, paid)

    def halt(self, why: str) -> None:
        """No further call starts; those under way are waited for."""
        self.halted = self.halted or why
        self._halting.set()
        for endpoint in self.endpoints.values():
            endpoint.gate.halt(self.halted)

    def admit(self) -> None:
        """Books a call. Raises `Halt` when the run is being stopped or a budget is used up, which stops it."""
        if not self.halted and (why := self.budget.admit()):
            self.halt(why)
        if self.halted:
            raise Halt(self.halted)

    async def wait(self, retry: Retry) -> None:
        """The pause before a call is made again; cut short when the run is being stopped."""
        self.waiting[retry.cause] += 1
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._halting.wait(), retry.waited)
        finally:
            self.waiting[retry.cause] -= 1


class Line:
    """The calls of one conversation, in order, and the models they may go to."""

    def __init__(
        self,
        switchboard: Switchboard,
        conversation: str,
        endpoints: Mapping[str, Endpoint],
        sampling: Mapping[str, Options],
        paid: Mapping[str, Journalled],
    ) -> None:
        self.switchboard, self.conversation = switchboard, conversation
        self.endpoints, self.sampling, self.paid = endpoints, sampling, paid
        self.calls: list[Call] = []
        self._ordinals: Counter[tuple[str, str]] = Counter()

    def bound(self, role: str, site: str) -> Ask:
        """See `Caller.bound`."""

        async def ask(messages: Sequence[Message], options: Options = _DEFAULT) -> Reply:
            return await self.ask(role, site, messages, options)

        return ask

    async def ask(self, role: str, site: str, messages: Sequence[Message], options: Options = Options()) -> Reply:  # noqa: B008
        """One reply, from the journal or from the model. Raises `Failure` with the party at fault."""
        endpoint = self.endpoints[role]
        ordinal = self._ordinals[role, site]
        self._ordinals[role, site] += 1
        key = f"{self.conversation}/{role}/{site}/{ordinal}"
        options = merged(self.sampling.get(role, _DEFAULT), options)
        request = digest(endpoint.model.name, messages, options)
        kept = self.paid.get(key)
        if kept is not None and kept.request == request:
            return self._note(role, site, kept.reply, replayed=kept.counted)
        reply = await self._pay(role, endpoint, messages, options, key)
        self.switchboard.journal.journal(self.conversation, key, request, reply)
        return self._note(role, site, reply, replayed=False)

    async def _pay(
        self, role: str, endpoint: Endpoint, messages: Sequence[Message], options: Options, key: str
    ) -> Reply:
        """Calls the model, again where that may help; the waits never undercut what the server asked for."""
        retries: list[Retry] = []
        empty: list[Reply] = []
        while True:
            try:
                reply = await self._try(endpoint, messages, options)
                if reply.finish != "empty" or len(empty) == EMPTY:
                    return _with_history(reply, empty, retries)
                empty.append(reply)
                retries.append(Retry("empty", pause(0, None, f"{key}/{len(retries)}")))
            except CallFailed as failure:
                down = failure.cause == "connection" and not endpoint.gate.answered and len(retries) + 1 >= UNREACHABLE
                if down or not failure.retry or len(retries) >= self.switchboard.retries:
                    raise _failure(role, failure, down=down) from failure
                wait = pause(len(retries), failure.after, f"{key}/{len(retries)}")
                retries.append(Retry(failure.cause, wait))
            await self.switchboard.wait(retries[-1])

    async def _try(self, endpoint: Endpoint, messages: Sequence[Message], options: Options) -> Reply:
        """One try, through budget and gate."""
        self.switchboard.admit()
        reply, failure, entered = None, None, None
        try:
            entered = await endpoint.gate.enter()
            reply = await endpoint.model.call(messages, options)
        except CallFailed as error:
            failure = error
            raise
        finally:
            self.switchboard.budget.settle(reply)
            if entered is not None:
                endpoint.gate.leave(entered, reply, failure)
        return reply

    def _note(self, role: str, site: str, reply: Reply, *, replayed: bool) -> Reply:
        self.calls.append(
            Call(
                role=role,
                site=site,
                model=reply.model,
                finish=reply.finish,
                usage=reply.usage,
                cost=reply.cost,
                seconds=reply.seconds,
                retries=reply.retries,
                replayed=replayed,
            )
        )
        return reply


_DEFAULT = Options()
_canonical = msgspec.json.Encoder(order="deterministic")


def digest(model: str, messages: Sequence[Message], options: Options) -> str:
    """What was asked, as a hash: a reply is replayed only for the very same request."""
    return hashlib.blake2b(_canonical.encode((model, messages, options)), digest_size=12).hexdigest()


def merged(defaults: Options, given: Options) -> Options:
    """`given`, with what it leaves open taken from the role's defaults."""
    if given is _DEFAULT:
        return defaults
    return Options(
        temperature=defaults.temperature if given.temperature is None else given.temperature,
        max_tokens=defaults.max_tokens if given.max_tokens is None else given.max_tokens,
        seed=defaults.seed if given.seed is None else given.seed,
        schema=defaults.schema if given.schema is None else given.schema,
        tools=given.tools or defaults.tools,
        logprobs=given.logprobs or defaults.logprobs,
    )


def pause(tries: int, after: float | None, seed: str) -> float:
    """Seconds to wait after `tries` + 1 failed tries: what the server said or a doubling wait, plus up to half of it.

    The jitter (a function of the seed) only ever adds, so nobody wakes earlier than told and clients do not wake together.
    """
    least = min(LONGEST_WAIT, FIRST_WAIT * 2**tries) if after is None else after
    jitter = random.Random(seed).uniform(0.0, max(0.5, 0.5 * min(least, LONGEST_WAIT)))
    return math.ceil((least + jitter) * 1000) / 1000


def _with_history(reply: Reply, empty: Sequence[Reply], retries: Sequence[Retry]) -> Reply:
    """The reply with the tries before it; what empty replies cost was paid too."""
    if not retries:
        return reply
    every = [reply, *empty]
    costs = [one.cost for one in every]
    usage = msgspec.structs.replace(
        reply.usage,
        input=sum(one.usage.input for one in every),
        output=sum(one.usage.output for one in every),
        reasoning=sum(one.usage.reasoning for one in every),
        cached=sum(one.usage.cached for one in every),
    )
    cost = None if None in costs else sum(cost for cost in costs if cost is not None)
    return msgspec.structs.replace(reply, retries=tuple(retries), usage=usage, cost=cost)


def _failure(role: str, failure: CallFailed, *, down: bool) -> Failure:
    party = (
        role if failure.cause in OWN_FAULT and role in ("assistant", "user", "judge", "scorer") else "infrastructure"
    )
    return Failure(party, failure.cause, failure.detail, stop_run=failure.stop_run or down)
