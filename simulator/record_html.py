"""A record as a notebook shows it: a short table of what was said, and what the judge made of it.

A light leaf, like the record. Every text is escaped, since a model may have written it; dollars do not become formulas; nothing
depends on a style sheet, since viewers of notebooks strip them.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.record import Judgement, Record, Turn
    from tasks.nouns import Message

#: Characters shown of one text; `shardtalk show` prints all of it.
LONGEST = 1200
#: What MathJax of either generation leaves alone.
_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"


def page(record: Record) -> str:
    """The conversation as an HTML fragment; a continued one says whose turns come before its own."""
    rows = [_row("", "system", record.system)] if record.system else []
    if record.parent:
        rows.append(_row("", "", f"goes on after the {record.inherited} turns of conversation {record.parent[:12]}"))
    if record.forked:
        rows.append(_row("", "", f"the first {record.shared} turns are those of conversation {record.forked[:12]}"))
    for number, turn in enumerate(record.turns, record.inherited + 1):
        rows += _turn(number, turn)
    return (
        f'<div class="{_NO_FORMULAS}"><p><b>{_text(record.task)} · {_text(record.mode)}</b> · {_text(_head(record))}</p>'
        f"<table>{''.join(rows)}</table><p>{_text(_end(record))}</p></div>"
    )


def line(record: Record) -> str:
    """The conversation in a line, for where there is no HTML."""
    return f"<Record {record.key[:12]}: {record.task} · {record.mode} · {_head(record)} · {_end(record)}>"


# -- parts -----------------------------------------------------------------------------------------------------------------


def _head(record: Record) -> str:
    return f"instance {record.instance.id} · run {record.repeat} · {record.assistant}"


def _end(record: Record) -> str:
    score = "not scored" if record.score is None else f"score {record.score:g}"
    why = " ".join(filter(None, (record.ended, record.cause)))
    return f"ended: {why} · {score} · target: {_short(str(record.instance.target))}"


def _turn(number: int, turn: Turn) -> Iterator[str]:
    shards = f" (shard {', '.join(map(str, turn.reveals))})" if turn.reveals else ""
    place = str(number)
    for message in turn.messages:
        yield _row(place, message.role + (shards if message.role == "user" else ""), _said(message))
        place = ""
    for violation in turn.violations:
        yield _row("", "guard", violation)
    if turn.judgement is not None:
        yield _row("", f"judge: {turn.judgement.by}", _judged(turn.judgement))


def _said(message: Message) -> str:
    calls = [f"→ {call.name}({call.arguments})" for call in message.tool_calls]
    return "\n".join(filter(None, (message.content, *calls)))


def _judged(judgement: Judgement) -> str:
    answer = "" if judgement.answer is None else f" · answer: {judgement.answer}"
    score = judgement.score
    return judgement.label + answer + ("" if score is None else f" · score {score.value:g} ({score.status})")


def _row(place: str, who: str, said: str) -> str:
    cells = (place, who, _short(said))
    return f'<tr style="vertical-align: top">{"".join(map(_cell, cells))}</tr>'


def _cell(text: str) -> str:
    return f'<td style="text-align: left">{_text(text)}</td>'


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"


def _text(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
