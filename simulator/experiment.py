"""`Experiment`: the frozen description of a run, tasks × modes × interventions × models × temperatures × repeats.

A TOML file and the flags of the command line make the same value; flags win. What it asks for is expanded into `Arm`s (all
that conversations of one column of a table share) and, an instance and a repeat at a time, into `Setting`s. Base URLs,
concurrency, budgets and time limits are not part of it: they do not change what is asked.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from simulator.conversation import PROTOCOL, Arm, Mode, Setting
from simulator.errors import ExperimentError
from simulator.interventions import Intervention, get_interventions, label
from simulator.judge import JUDGES
from simulator.modes import get_mode, suited
from simulator.user import USERS
from tasks.errors import UnknownName
from tasks.fetch import DATASETS, published
from tasks.nouns import Instance, Options
from tasks.registry import TASKS, get_task
from tasks.task import Setup, Task

T = TypeVar("T")


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be simulated.

    Attributes:
        tasks: task names, patterns such as `travel-*`, or `all`.
        dataset: a file instead of the embedded instances; `limit`: first so many.
        strata: only instances whose strata have these values, such as {"tier": "1"}.
        modes: empty means each task's own default.
        assistant: models under test. `temperature`, `user_temperature`: one arm each; empty: the task's default (user: 1.0).
        interventions: one arm each; `none` is the plain conversation, `a+b` both at once.
        user, judge: see `USERS` and `JUDGES`; their models in `user_model` and `judge_model`.
        native_tools, databases, require_isolation: see `tasks.task.Setup`.
        runs: repeats of every instance in every arm.
        max_tokens: of a reply of the assistant; None means the task's default.
    """

    tasks: tuple[str, ...] = ("math",)
    dataset: str | None = None
    limit: int | None = None
    strata: dict[str, str] = {}
    modes: tuple[str, ...] = ()
    assistant: tuple[str, ...] = ()
    temperature: tuple[float, ...] = ()
    max_tokens: int | None = None
    interventions: tuple[str, ...] = ("none",)
    user: str = "verbatim"
    user_model: str | None = None
    user_temperature: tuple[float, ...] = ()
    judge: str = "rules"
    judge_model: str | None = None
    classify_single_turn: bool = False
    native_tools: bool = False
    databases: str | None = None
    require_isolation: str | None = None
    runs: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        _positive(runs=self.runs, limit=self.limit, max_tokens=self.max_tokens)
        for name in ("temperature", "user_temperature"):
            for value in getattr(self, name):
                if not 0.0 <= value <= 2.0:
                    raise ExperimentError(f"{name} is out of range", got=value, allowed="0 to 2")

    def asked(self) -> dict[str, Any]:
        """The experiment in JSON types, as a store keeps it."""
        return dict(msgspec.json.decode(msgspec.json.encode(self)))


#: More of these extends a run; all other fields are its protocol, and a change of those is another experiment.
EXTENDABLE = frozenset(
    {
        "tasks",
        "dataset",
        "limit",
        "strata",
        "modes",
        "assistant",
        "interventions",
        "runs",
        "databases",
        "require_isolation",
    }
)


def read_experiment(path: Path | None, flags: Mapping[str, Any]) -> Experiment:
    """The experiment of a TOML file, of flags, or of both. Raises `ExperimentError` naming the field at fault."""
    values: dict[str, Any] = _read_toml(path) if path else {}
    values.update({name: value for name, value in flags.items() if value is not None and value != ()})
    try:
        return msgspec.convert(values, Experiment)
    except msgspec.ValidationError as error:
        fields = ", ".join(Experiment.__struct_fields__)
        raise ExperimentError(f"the experiment is not right: {error}", allowed=f"the fields {fields}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    """A TOML file's values; a single name stands for a list of one. The folder of the file does not matter."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ExperimentError("the experiment file cannot be read", got=str(path), fix=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError("the experiment file is not TOML", got=f"{path}: {error}") from error
    lists = ("tasks", "modes", "assistant", "temperature", "interventions", "user_temperature")
    return {name: [value] if name in lists and not isinstance(value, list) else value for name, value in values.items()}


@dataclass(frozen=True)
class Part:
    """One task of a plan: its instances with their content hashes, and the arms with the ids of the instances each runs on."""

    instances: tuple[Instance, ...]
    digests: tuple[str, ...]
    arms: tuple[tuple[Arm, frozenset[str]], ...]


class Where(msgspec.Struct, frozen=True, array_like=True):
    """The place of a chain of conversations in a plan: all numbers count from 0."""

    part: int
    instance: int
    repeat: int
    number: int


@dataclass(frozen=True)
class Plan:
    """What an experiment expands to. An arm that continues another stands behind it, so a pass meets every parent first."""

    experiment: Experiment
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        """Number of conversations."""
        return sum(n for _, n in self.arms())

    def arms(self) -> Iterator[tuple[Arm, int]]:
        """Every arm and the number of its conversations."""
        for part in self.parts:
            for arm, ids in part.arms:
                yield arm, len(ids) * self.experiment.runs

    def models(self) -> Iterator[tuple[str, str]]:
        """Role and name of every model, as often as an arm has it."""
        return (pair for arm, _ in self.arms() for pair in arm.names.items())

    def chains(self) -> Iterator[tuple[Where, list[Setting]]]:
        """Conversations that follow one another, a SHARDED one and the RECAPs that continue it, or one alone; and where
        each stands in the plan.

        Those of the same instance are near each other, so servers that cache prefixes profit.
        """
        for p, part in enumerate(self.parts):
            for i in range(len(part.instances)):
                for repeat in range(self.experiment.runs):
                    for number, chain in enumerate(_chains(part, i, repeat)):
                        yield Where(p, i, repeat, number), chain

    def chain(self, where: Where) -> list[Setting]:
        """The conversations that stand there: another process finds the same ones."""
        return list(_chains(self.parts[where.part], where.instance, where.repeat))[where.number]


def _chains(part: Part, i: int, repeat: int) -> Iterable[list[Setting]]:
    instance, digest = part.instances[i], part.digests[i]
    chains: dict[str, list[Setting]] = {}
    for arm, ids in part.arms:
        if instance.id not in ids:
            continue
        if arm.parent is None:
            chains[arm.digest] = [arm.setting(instance, digest, repeat, None)]
        else:
            chain = chains[arm.parent.digest]
            chain.append(arm.setting(instance, digest, repeat, chain[0]))
    return chains.values()


def plan(experiment: Experiment) -> Plan:
    """Expands an experiment. Raises `UnknownName`, `DatasetError` or `ExperimentError`; nothing has been paid yet."""
    if not experiment.assistant:
        raise ExperimentError(
            "no model to test",
            allowed="openai:NAME, local:smollm2, anthropic:NAME, python:package.module:object, …",
            fix="give --assistant SPEC",
        )
    setup = Setup(experiment.native_tools, experiment.databases, experiment.require_isolation)
    return Plan(experiment, tuple(_part(experiment, get_task(name, setup)) for name in _task_names(experiment)))


def _part(experiment: Experiment, task: Task) -> Part:
    path = _dataset(experiment.dataset, task) if experiment.dataset else None
    wanted = experiment.strata.items()
    instances = [i for i in task.load(path) if all(str(i.strata.get(name)) == value for name, value in wanted)]
    if not instances:
        raise ExperimentError(f"no instance of task {task.name} has these strata", got=experiment.strata)
    instances = [msgspec.structs.replace(instance, provenance={}) for instance in instances[: experiment.limit]]
    arms: dict[str, Arm] = {}
    for arm in arms_of(experiment, task):
        arms.setdefault(arm.digest, arm)
    fitting = ((arm, frozenset(instance.id for instance in suited(arm.mode, task, instances))) for arm in arms.values())
    return Part(tuple(instances), tuple(instance.digest() for instance in instances), tuple(fitting))


def _dataset(name: str, task: Task) -> Path:
    """A file, or the file of a published dataset by its name. Raises `DatasetError` when that was not fetched."""
    return published(name, task.name) if name in DATASETS else Path(name)


def _task_names(experiment: Experiment) -> list[str]:
    """`all`, names, and patterns such as `travel-*`, each task once."""
    names: list[str] = []
    for name in experiment.tasks:
        names += TASKS if name == "all" else fnmatch.filter(TASKS, name) or [name]
    return list(dict.fromkeys(names))


def arms_of(experiment: Experiment, task: Task) -> Iterator[Arm]:
    """The arms of one task, each behind the one it continues."""
    for assistant in experiment.assistant:
        for temperature in experiment.temperature or (task.temperature,):
            for user_temperature in experiment.user_temperature or (1.0,):
                names, sampling = _models(experiment, task, assistant, temperature, user_temperature)
                for spec in experiment.interventions or ("none",):
                    extra = get_interventions(spec)
                    for mode in experiment.modes or task.modes:
                        yield from _lineage(experiment, task, get_mode(mode, task), extra, names, sampling)


def _lineage(
    experiment: Experiment,
    task: Task,
    mode: Mode,
    extra: tuple[Intervention, ...],
    names: Mapping[str, str],
    sampling: Mapping[str, Options],
) -> Iterator[Arm]:
    """An arm, behind the arm it continues if an intervention only speaks at the end, or is forked from if one begins later."""
    arm = Arm(
        task=task,
        mode=mode,
        interventions=(*mode.interventions, *extra),
        user=named(USERS, "user", experiment.user),
        judge=named(JUDGES, "judge", experiment.judge),
        names=names,
        sampling=sampling,
        seed=experiment.seed,
        classify_single_turn=experiment.classify_single_turn,
    )
    if any(intervention.first_turn > 1 for intervention in arm.interventions):
        parent = _unforked(arm, extra)
    elif any(intervention.continues for intervention in arm.interventions):
        parent = replace(arm, mode=_without_ending(mode), interventions=_not_continuing(arm.interventions))
    else:
        yield arm
        return
    yield parent
    yield replace(arm, parent=parent)


def _unforked(arm: Arm, extra: tuple[Intervention, ...]) -> Arm:
    """The arm without the interventions that begin later. Raises `ExperimentError` where the two could share no turns."""
    if len({intervention.first_turn for intervention in extra}) > 1:
        raise ExperimentError(
            "interventions of one arm begin at the same turn",
            got="+".join(map(label, extra)),
            fix="give them the same @K, or an arm each",
        )
    if arm.mode.policy.single or any(intervention.continues for intervention in arm.interventions):
        raise ExperimentError(
            "an intervention that begins at a later turn needs modes of several turns that do not continue another",
            got=f"{label(extra[0])} in mode {arm.mode.label}",
            allowed="sharded, snowball, gradual:N",
            fix="give --modes sharded",
        )
    return replace(arm, interventions=arm.mode.interventions)


def _without_ending(mode: Mode) -> Mode:
    plain = _not_continuing(mode.interventions)
    return mode if plain == mode.interventions else Mode(mode.policy.name, mode.policy, plain)


def _not_continuing(interventions: tuple[Intervention, ...]) -> tuple[Intervention, ...]:
    return tuple(intervention for intervention in interventions if not intervention.continues)


def _models(
    experiment: Experiment, task: Task, assistant: str, temperature: float, user_temperature: float
) -> tuple[dict[str, str], dict[str, Options]]:
    """Model names and sampling by role; a role that calls no model has neither."""
    names = {"assistant": assistant, "intervention": experiment.judge_model or assistant}
    sampling = {"assistant": Options(temperature=temperature, max_tokens=experiment.max_tokens or task.max_tokens)}
    if named(USERS, "user", experiment.user).needs_model:
        names["user"] = _required(experiment.user_model, "--user llm", "--user-model")
        sampling["user"] = Options(temperature=user_temperature)
    if named(JUDGES, "judge", experiment.judge).needs_model:
        names["judge"] = _required(experiment.judge_model, f"--judge {experiment.judge}", "--judge-model")
    if experiment.judge_model:
        names["scorer"] = experiment.judge_model
    return names, sampling


def _required(model: str | None, wanted_by: str, flag: str) -> str:
    if model is None:
        raise ExperimentError(f"{wanted_by} needs a model", fix=f"give {flag} SPEC")
    return model


def named(registry: Mapping[str, T], kind: str, name: str) -> T:
    """What a registry holds under a name. Raises `UnknownName` with the close matches."""
    if name not in registry:
        raise UnknownName(kind, name, registry)
    return registry[name]


def _positive(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise ExperimentError(f"{name} is too small", got=value, allowed="1 or more")


def asked_for(experiment: Experiment, arms: Iterable[Arm]) -> dict[str, Any]:
    """An experiment and the digests of all texts that shape it, as a store keeps them."""
    texts = {"protocol": PROTOCOL}
    for arm in arms:
        texts |= {f"prompt {name}": digest for name, digest in arm.prompts.items()}
        texts |= {f"intervention {i.name}": type(i).identity() for i in arm.interventions}
    return experiment.asked() | {"texts": texts}


def differences(earlier: Sequence[Mapping[str, Any]], asked: Mapping[str, Any]) -> list[str]:
    """What makes `asked` another experiment than those of a store, a line each; more of the same is no difference.

    Both are what `asked_for` gives; of texts only those that are in both can differ.
    """
    old = dict(earlier[-1])
    fields = [
        f"{name}: {old.get(name)!r} before, {value!r} now"
        for name, value in asked.items()
        if name not in EXTENDABLE | {"texts"} and old.get(name) != value
    ]
    known = {name: digest for one in earlier for name, digest in one.get("texts", {}).items()}
    texts = [f"{name} has changed" for name, digest in asked["texts"].items() if known.get(name, digest) != digest]
    return fields + texts
