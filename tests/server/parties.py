"""All parties of a conversation as one function, for the loopback server: `--handler tests/server/parties.py:speak`.

Each reads our prompts as a model would and answers as a pure function of what it was asked, so a run over HTTP can be compared
with another one reply by reply.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def speak(body: Mapping[str, Any]) -> str:
    """What the model that is asked for says."""
    name = str(body["model"])
    texts = [str(message.get("content") or "") for message in body["messages"]]
    if name.startswith("user"):
        return user(texts[-1])
    if name.startswith("judge"):
        return judge(texts[-1])
    return assistant(texts)


def user(asked: str) -> str:
    """Says the first untold fact in its own words."""
    untold = re.search(r"^(\d+): (.+)$", asked.rsplit("Untold", 1)[-1], re.MULTILINE)
    if untold is None:
        return "{}"
    return msgspec.json.encode({"shard_id": int(untold[1]), "response": untold[2]}).decode()


def judge(asked: str) -> str:
    """An attempt is what says "the answer is"."""
    reply = asked.rsplit('"""', 2)[-2] if '"""' in asked else asked
    said = re.search(r"The answer is (\S+?)\.?\s*$", reply)
    label = "answer_attempt" if said else "clarification" if "?" in reply else "discussion"
    return msgspec.json.encode({"response_type": label, "answer": said[1] if said else ""}).decode()


def assistant(texts: list[str]) -> str:
    """Asks back, chats, or answers with one of the numbers it was told."""
    told = "\n".join(texts)
    chance = zlib.crc32(told.encode())
    numbers = NUMBER.findall(told)
    if not numbers or chance % 5 == 0:
        return "Could you tell me a little more about it?"
    return f"Let me work through this. The answer is {numbers[chance % len(numbers)].rstrip(',.')}."
