"""Where a model's thinking ends and its answer begins.

Reasoning models write their thinking between tags into the same text as the answer. It must never be shown to another
party, extracted from or scored.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Opening and closing tags as models write them. In backticks they are quoted, not used.
_TAG = re.compile(r"(?<!`)(?:<(/?)(?:think|thinking|thought|seed:think)>|\[(/?)THINK\])(?!`)", re.IGNORECASE)


class Thought(NamedTuple):
    """One text taken apart. `closed` is False when the text ends inside its thinking."""

    text: str
    reasoning: str
    closed: bool


def split_thinking(text: str, *, separated: bool = False) -> Thought:
    """Takes thinking out of `text`, in one pass.

    - A closed block goes, wherever it stands; a tag inside a block is part of the thinking.
    - An unclosed block goes up to the end; what was said before it stays.
    - A closing tag alone means that the chat template wrote the opening one: all before it is thinking. Servers that take
      thinking apart themselves never leave such a tag, so with `separated` (the reply carried its reasoning in a field of
      its own) it is ordinary text.
    """
    if "<" not in text and "[" not in text:
        return Thought(text, "", True)
    said: list[str] = []
    thought: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        closing = bool(tag[1] or tag[2])
        if closing == inside:
            (thought if inside else said).append(text[at : tag.start()])
            at, inside = tag.end(), not inside
        elif closing and not separated:
            thought, said = [*thought, *said, text[at : tag.start()]], []
            at = tag.end()
    if at == 0:
        return Thought(text, "", True)
    (thought if inside else said).append(text[at:])
    return Thought(_joined(said), _joined(thought), not inside)


def _joined(parts: list[str]) -> str:
    """Parts without the blank lines that stood around the tags."""
    return "\n".join(part.strip() for part in parts if part.strip())
