"""Whether it is a user who speaks: the rules of the guard that look at the voice of a draft, not at its facts.

A simulated user that thinks aloud, talks of its instructions, plays the assistant or copies it makes a conversation that no
person would have had. Each rule yields what it objects to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator.draft import Draft, longest, was_asked
from simulator.repeats import content
from simulator.wording import plain, quoted, words

_TAG = re.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|reflection|scratchpad)\s*>|<\|[^|>]*\|>|\[/?(?:INST|THINK)\]", re.I
)
_META = re.compile(
    r"""\bshards?\b | \bshard_id\b | "response"\s*: | \bhidden\ (?:spec|detail|info|instruct)\w* | \bsimulat(?:ed|ion|or|ing)\b
      | \b(?:as|am|i'm)\ the\ user\b | \bthe\ (?:user|assistant)\b | \bsystem\ prompt\b | \b(?:un)?reveal\w*
      | \b(?:my|the)\ instructions\b | \blanguage\ model\b | \bpersona\b | \brole-?play
      | \bi\ should\ (?:only|give|reveal|respond)\b | \b(?:this|that|the|untold)\ facts?\b | \bis\ missing\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ROLE = re.compile(
    r"""^\W*(?:assistant|ai|system|user|human)\W*: | \bas\ an?\ (?:ai|assistant)\b | \bcan\ i\ (?:help|assist)
      | \blet's\ (?:assume|suppose)\b | \bbe\ (?:happy|glad)\ to\ (?:help|assist)
      | \blet\ me\ (?:help|solve|calculate|compute|explain|break)
      | \bi(?:'ll|\ will)\ (?:calculate|solve|compute|help\ you)
      | \bhere(?:'s|\ is|\ are)\ (?:the|a|my|your)\ (?:solution|answer|steps?|code)
      | \b(?:the|your|my)\ (?:final\ )?answer\ (?:is|would)\b | \bstep\ 1\b | \b(?:great|good)\ question\b | \byou're\ welcome\b
      | \bplease\ (?:provide|clarify|specify|share)\b""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


def _without(pattern: re.Pattern[str], draft: Draft) -> Iterator[str]:
    """What a pattern finds in the text but not in what the user has a right to say."""
    known = draft.knows(words)
    for found in pattern.finditer(plain(draft.text)):
        if not set(_spoken(found[0])) <= known:
            yield found[0].strip()
            return


def thinks(draft: Draft) -> Iterator[str]:
    """Tags of a reasoning model or a chat template."""
    if (found := _TAG.search(draft.text)) and not any(map(_TAG.search, draft.known)):
        yield found[0]


def talks_of_the_game(draft: Draft) -> Iterator[str]:
    """Words of the simulation, which no person in the conversation could know."""
    return _without(_META, draft)


def plays_the_assistant(draft: Draft) -> Iterator[str]:
    """Speaker labels, offers of help, requests for data, solutions."""
    return _without(_ROLE, draft)


def asks(draft: Draft) -> Iterator[str]:
    """A question outside quotation marks, unless the shard is one."""
    outside = plain(draft.text)
    for string in quoted(draft.text):
        outside = outside.replace(string, "")
    if "?" in outside and "?" not in draft.own:
        yield ""


#: A run of so many words of the assistant's is a copy; of a short text, so large a part.
COPIED_WORDS, COPIED_PART = 8, 0.7


def copies(draft: Draft) -> Iterator[str]:
    """A run of the assistant's words that are not the user's own."""
    said = _spoken(draft.text)
    run = min(COPIED_WORDS, max(5, round(COPIED_PART * len(said))))
    known = draft.knows(content)
    replies = [" ".join(_spoken(reply)) for reply in draft.replies]
    for start in range(len(said) - run + 1):
        piece = " ".join(said[start : start + run])
        if any(piece in reply for reply in replies) and not content(piece) <= known:
            yield piece
            return


def _spoken(text: str) -> list[str]:
    return re.findall(r"\w+", plain(text).lower())


def has_a_wrong_length(draft: Draft) -> Iterator[str]:
    """Nothing, or far more than it takes to say the shard."""
    if not draft.text.strip():
        yield "empty"
    elif len(draft.text) > longest(len(draft.own)):
        yield f"{len(draft.text)} characters"


def has_nothing_to_say(draft: Draft) -> Iterator[str]:
    """A draft that reveals nothing although nothing was asked."""
    if draft.shard is None and not was_asked(draft.said):
        yield ""
