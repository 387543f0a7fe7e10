"""The options of the command line that describe a run, declared once for all commands that take them.

`EXPERIMENT`: what is asked, the fields of `Experiment`. `MEANS`: how it is carried out. An option that is not given leaves the
value of the TOML file, or the default of the field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from simulator.experiment import Experiment, read_experiment
from simulator.means import Means
from simulator.models.access import Access

Command: TypeAlias = Callable[..., Any]
Option: TypeAlias = Callable[[Command], Command]


class Listed(click.ParamType[tuple[Any, ...]]):
    """Values separated by commas, converted one by one."""

    def __init__(self, name: str, convert: Callable[[str], Any] = str) -> None:
        self.name, self._convert = name, convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._convert(part.strip()) for part in value.split(",") if part.strip())
        except ValueError:
            self.fail(f"{value!r} is not of the form {self.name}", param, ctx)


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()


NAMES, NUMBERS = Listed("NAME[,NAME…]"), Listed("T[,T…]", float)
RUN = click.Path(path_type=Path, file_okay=False)


def _given(*flags: str, help: str, **kind: Any) -> Option:
    return click.option(*flags, help=help, **kind)


def _default(*flags: str, help: str, **kind: Any) -> Option:
    return click.option(*flags, help=help, show_default=True, **kind)


_SPECS = (
    "openai:NAME, local:smollm2, local:FILE.gguf, anthropic:NAME, python:package.module:object, synthetic:…, fake:…"
)
_MODES = "full, concat, shuffle_concat, sharded, recap, snowball, gradual:N, or a task's own."
_ARMS = (
    "package.module:Name; repeated: one arm each; a+b: both in one arm; NAME@K: from turn K on; none: the plain arm."
)
_TOML = click.Path(path_type=Path, dir_okay=False)

EXPERIMENT: tuple[Option, ...] = (
    click.argument("experiment", required=False, type=_TOML, metavar="[EXPERIMENT.toml]"),
    _given("--tasks", type=NAMES, help="Tasks, patterns such as travel-*, or `all`.  [default: math]"),
    _given(
        "--dataset", metavar="FILE", help="A file (published JSON list, or our JSON lines), or lost-in-conversation."
    ),
    _given("--limit", type=int, metavar="N", help="First N instances of each task.  [default: all]"),
    _given(
        "--strata",
        type=Listed("NAME=VALUE[,…]", _pair),
        help="Only instances with these strata, such as tier=1.  [default: all]",
    ),
    _given("--modes", type=NAMES, help=f"{_MODES}  [default: the task's]"),
    _given("--assistant", multiple=True, metavar="SPEC", help=f"Model under test, may be repeated: {_SPECS}"),
    _given("--temperature", type=NUMBERS, help="Of the assistant, one arm each.  [default: the task's]"),
    _given("--max-tokens", type=int, metavar="N", help="Longest reply of the assistant.  [default: the task's]"),
    _given("--intervention", "interventions", multiple=True, metavar="NAME", help=f"{_ARMS}  [default: none]"),
    _given("--user", metavar="NAME", help="Simulated user: verbatim or llm.  [default: verbatim]"),
    _given("--user-model", metavar="SPEC", help="Model of the llm user."),
    _given("--user-temperature", type=NUMBERS, help="Of the llm user, one arm each.  [default: 1.0]"),
    _given("--judge", metavar="NAME", help="rules, llm or llm-paper.  [default: rules]"),
    _given("--judge-model", metavar="SPEC", help="Model of the llm judge, and of tasks that a model scores."),
    _given(
        "--classify-single-turn",
        is_flag=True,
        default=None,
        help="In FULL and CONCAT, too, score only what the judge calls an attempt.",
    ),
    _given(
        "--native-tools", is_flag=True, default=None, help="Actions: give functions as native tools; calls are answers."
    ),
    _given(
        "--databases",
        metavar="DIR",
        help="Database: DIR/<db_id>/<db_id>.sqlite, such as Spider's.  [default: embedded]",
    ),
    _given("--require-isolation", metavar="LEVEL", help="Code: refuse to run programs under less, such as bubblewrap."),
    _given("--runs", type=int, metavar="N", help="Repeats of every instance in every arm.  [default: 10]"),
    _given("--seed", type=int, metavar="N", help="Of all randomness that is ours.  [default: 0]"),
)

MEANS: tuple[Option, ...] = (
    _given("--base-url", metavar="URL", help="OpenAI-compatible server, up to /v1.  [default: OpenAI's own]"),
    _given("--user-base-url", metavar="URL", help="Server of the user model.  [default: --base-url]"),
    _given("--judge-base-url", metavar="URL", help="Server of the judge model.  [default: --base-url]"),
    _default("--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="Variable that holds these servers' key."),
    _default("--timeout", type=float, default=600.0, metavar="SECONDS", help="Longest time of one model call."),
    _given("--price", "prices", multiple=True, metavar="SPEC=IN,OUT", help="Dollars per million tokens, in and out."),
    _default(
        "--max-concurrency", type=int, default=128, metavar="N", help="Conversations, and calls to one model, at once."
    ),
    _default("--max-retries", type=int, default=7, metavar="N", help="Tries of one call after the first."),
    _given("--rpm", multiple=True, metavar="[SPEC=]N", help="Requests a minute, of every model or of one."),
    _given("--tpm", multiple=True, metavar="[SPEC=]N", help="Tokens a minute, of every model or of one."),
    _given("--budget-usd", type=float, metavar="USD", help="Stop before the run, all sessions and roles, costs more."),
    _given("--budget-tokens", type=int, metavar="N", help="Stop before the run, all sessions and roles, uses more."),
    _given("--budget-hours", type=float, metavar="HOURS", help="Stop this session after so long."),
    _default("--engine", type=click.Choice(["local", "ray"]), default="local", help="Where conversations are played."),
    _default("--workers", type=int, default=0, metavar="N", help="Processes beside this one; 0: all in this one."),
)


def options(*groups: tuple[Option, ...]) -> Option:
    """Puts groups of options on a command, in the order they are declared."""

    def put(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return put


def experiment_of(values: dict[str, Any]) -> Experiment:
    """What is asked, from the values of `EXPERIMENT`."""
    named = {name: values[name] for name in Experiment.__struct_fields__ if name in values}
    if named.get("strata"):
        named["strata"] = dict(named["strata"])
    return read_experiment(values["experiment"], named)


def means_of(values: dict[str, Any]) -> Means:
    """How it is carried out, from the values of `MEANS`."""
    plain = ("max_concurrency", "max_retries", "budget_usd", "budget_tokens", "budget_hours", "engine", "workers")
    return Means(
        access=_access(values),
        rpm=_limits("--rpm", values["rpm"]),
        tpm=_limits("--tpm", values["tpm"]),
        extend=values.get("extend", False),
        **{name: values[name] for name in plain},
    )


def _access(values: dict[str, Any]) -> dict[str, Access]:
    """How models are reached, by role; the scorer and interventions use the judge's model."""
    prices = dict(_price(text) for text in values["prices"])

    def at(url: str | None) -> Access:
        return Access(base_url=url, api_key_env=values["api_key_env"], timeout=values["timeout"], prices=prices)

    assistant = at(values["base_url"])
    user = at(values["user_base_url"]) if values["user_base_url"] else assistant
    judge = at(values["judge_base_url"]) if values["judge_base_url"] else assistant
    return {"assistant": assistant, "user": user, "judge": judge, "scorer": judge, "intervention": judge}


def _price(text: str) -> tuple[str, tuple[float, float]]:
    spec, _, numbers = text.rpartition("=")
    try:
        paid, got = (float(number) for number in numbers.split(","))
    except ValueError:
        raise click.BadParameter(f"--price {text}: wanted is SPEC=IN,OUT, such as openai:my-model=0.5,1.5") from None
    return spec, (paid, got)


def _limits(flag: str, texts: Sequence[str]) -> dict[str, float]:
    """`N` for every model (`*`), `SPEC=N` for one."""
    limits = {}
    for text in texts:
        spec, _, number = text.rpartition("=")
        try:
            limits[spec or "*"] = float(number)
        except ValueError:
            raise click.BadParameter(f"{flag} {text}: wanted is a number, or SPEC=NUMBER") from None
    return limits
