"""Where files are kept that can be made or fetched anew: the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """`$XDG_CACHE_HOME/shardtalk/<name>`, there or not; the environment is read at each call."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardtalk" / name
