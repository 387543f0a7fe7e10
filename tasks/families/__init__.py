"""Families of generated word problems (none yet)."""

from collections.abc import Iterator

from tasks.nouns import Instance


def generate(n: int, seed: int) -> Iterator[Instance]:
    """No problems yet."""
    return iter(())
