"""What a form of answer is: how it is found in a reply, read, and measured against the truth.

`find` gives a piece of the reply and nothing else; `read` is the one place where text becomes a value of the right type and,
where there is a closed list, one of the list: what the rules found and what a judge model copied go through it alike.
Metrics as in BOULDER (arXiv 2603.20133); stricter ones stand in the details of a score.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from tasks.nouns import Score


class Frame(msgspec.Struct, frozen=True):
    """What an instance says about its answers.

    Attributes:
        names: the legal names, or the legal times; empty where there is no closed list.
        about: words the answer may be given in instead (`north` for a question about the north).
    """

    names: tuple[str, ...] = ()
    about: str = ""


class Form:
    """A form of answer.

    Attributes:
        wanted: in words, for a judge model. `target`: the type of a target, as msgspec checks it.
    """

    wanted: ClassVar[str]
    target: ClassVar[Any]

    def fits(self, target: Any, frame: Frame) -> bool:
        """Whether a target can be scored: it is of the right type, and a reply that gives it earns all."""
        try:
            msgspec.convert(target, self.target)
        except msgspec.ValidationError:
            return False
        value = self.read(self.say(target), frame)
        return value is not None and self.measure(value, target, frame).value == 1.0

    def find(self, reply: str, frame: Frame) -> str | None:
        """The part of a reply that is its answer, as written there; None for a reply that gives none."""
        raise NotImplementedError

    def read(self, text: str, frame: Frame) -> Any:
        """The value a text gives, in JSON types; None if it gives none of this form."""
        raise NotImplementedError

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        """The score of a value that was read."""
        raise NotImplementedError

    def say(self, target: Any) -> str:
        """A reply that gives this answer."""
        raise NotImplementedError

    def spoil(self, target: Any, frame: Frame) -> Any:
        """Another answer of the same form, which is wrong."""
        raise NotImplementedError
