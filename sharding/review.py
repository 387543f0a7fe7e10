"""Review: one self-contained page that shows every item, and the decisions it saves, merged into the items.

All that a model or a dataset wrote reaches the page as JSON and is put into it as text, never as HTML.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from sharding.checks import certain, check
from sharding.gradual import variants
from sharding.items import Change, provenance, texts, with_provenance
from sharding.nouns import Sharding
from tasks.errors import DatasetError
from tasks.nouns import Instance
from tasks.prompts import Prompt


class Decision(msgspec.Struct, frozen=True):
    """What a reviewer decided about an item; `shown`: the shards the page showed."""

    id: str
    decision: Literal["accept", "refuse"]
    shown: tuple[str, ...]
    comment: str = ""
    at: str = ""


class _Decisions(msgspec.Struct, frozen=True):
    decisions: list[Decision]


# -- the page -----------------------------------------------------------------------------------------------------------


def page(items: Sequence[Instance], title: str) -> str:
    """The page as HTML. Its policy lets it run its own script and nothing else."""
    template = (resources.files("sharding") / "review.html").read_text(encoding="utf-8")
    script = re.findall(r"<script>(.*?)</script>", template, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shown = {"title": title, "items": [_shown(item) for item in items]}
    data = msgspec.json.encode(shown).decode().replace("<", "\\u003c")  # so that no text can end the element
    return Prompt("review", template).fill(script=f"sha256-{digest}", data=data)


def _shown(item: Instance) -> dict[str, Any]:
    made = provenance(item)
    return {
        "id": item.id,
        "task": item.task,
        "instruction": item.instruction,
        "target": str(item.target),
        "shards": texts(item),
        "certain": [certain(objection) for objection in made.objections],
        "provenance": msgspec.to_builtins(made),
    }


# -- what it saves --------------------------------------------------------------------------------------------------------


def read_decisions(path: Path) -> list[Decision]:
    """The decisions a page saved. Raises `DatasetError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Decisions).decisions
    except (OSError, msgspec.DecodeError) as error:
        raise DatasetError(f"{path}: no file of decisions", got=str(error), fix="save it on the review page") from error


def merged(items: Sequence[Instance], decisions: Sequence[Decision]) -> tuple[list[Instance], list[str]]:
    """The items after edits and decisions, and a line for each decision that could not be followed."""
    problems: list[str] = []
    shown = {item.id: (provenance(item).texts, texts(item)) for item in items}
    after = {item.id: edited(item) for item in items}
    for decision in decisions:
        if decision.shown not in shown.get(decision.id, ()):
            problems.append(f"{decision.id}: the page showed other shards, or another folder; make it anew")
            continue
        item = after[decision.id]
        faults = [str(objection) for objection in provenance(item).objections if certain(objection)]
        if decision.decision == "accept" and faults and shown[item.id][0] != texts(item):
            problems.append(f"{decision.id}: not accepted, since its edit has faults: {'; '.join(faults)}")
        else:
            after[item.id] = _decided(item, decision)
    return list(after.values()), problems


def edited(item: Instance) -> Instance:
    """An item whose shards were edited in its file: linted anew, and what was known of the old ones becomes history."""
    made = provenance(item)
    if texts(item) == made.texts:
        return item
    sharding = Sharding.of(item)
    now = msgspec.structs.replace(
        made,
        status="review",
        texts=texts(item),
        segments=(),
        objections=tuple(check(sharding)),
        verification=None,
        history=(*made.history, Change(before=made.texts, verification=made.verification)),
    )
    return with_provenance(msgspec.structs.replace(item, variants=variants(sharding)), now)


def _decided(item: Instance, decision: Decision) -> Instance:
    made = provenance(item)
    change = Change(decision=decision.decision, comment=decision.comment, at=decision.at)
    if change in made.history:  # the same file again
        return item
    status: Literal["accepted", "refused"] = "accepted" if decision.decision == "accept" else "refused"
    return with_provenance(item, msgspec.structs.replace(made, status=status, history=(*made.history, change)))
