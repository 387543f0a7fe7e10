"""Prompts are package files; this module fills them.

A template is a Markdown file with `{{slots}}`. All slots are filled in one pass, so text that itself holds `{{…}}` is
never expanded, and a missing or unused variable raises (a prompt that silently lost its shards costs a whole run).
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources

from tasks.errors import PromptError

_SLOT = re.compile(r"\{\{(\w+)\}\}")


class Prompt:
    """One template. `digest` identifies its wording in records and in the identity of a run."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.slots = frozenset(_SLOT.findall(text))
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:12]

    def fill(self, **values: str) -> str:
        """The text with every slot filled, once. Raises `PromptError` on a missing or unused variable."""
        if values.keys() != self.slots:
            raise PromptError(
                f"prompt {self.name}: variables do not fit the template",
                got=", ".join(sorted(values)) or "none",
                allowed=", ".join(sorted(self.slots)) or "none",
            )
        return _SLOT.sub(lambda slot: values[slot[1]], self.text)


@cache
def prompt(package: str, name: str) -> Prompt:
    """The template `prompts/{name}.md` of `package`; its last newline does not belong to it."""
    file = resources.files(package) / "prompts" / f"{name}.md"
    return Prompt(f"{package}/{name}", file.read_text(encoding="utf-8").removesuffix("\n"))
