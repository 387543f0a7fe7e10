"""Finding the query in what a model wrote: in a fence, between backquotes, or bare among prose.

Only the place is decided here. Whether it is one statement, and whether it may run, is SQLite's word (`tasks.sql`).
"""

from __future__ import annotations

import re

from tasks.code_text import fenced_blocks

_COMMENT = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
_TOKEN = re.compile(rf"(?P<idle>\s+|;|{_COMMENT})|{_QUOTED}|.", re.DOTALL)

#: `WITH` opens a query only where a table expression follows; it opens many an English sentence too.
_WITH = r"WITH\s+(?:RECURSIVE\s+)?[\w\"\[\]`]+\s*(?:\([^)]{0,500}\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s*)?\("
_CHANGE = (
    r"(?:INSERT|REPLACE)\s+(?:OR\s+\w+\s+)?INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|(?:DROP|CREATE|ALTER)\s+(?:\w+\s+)?"
    r"(?:TABLE|VIEW|INDEX|TRIGGER)|ATTACH\s+\S*\s*'|DETACH\s+DATABASE|PRAGMA\s+\w|EXPLAIN\s+(?:QUERY|SELECT)|VACUUM\s*;"
)
_STATEMENT = rf"(?:SELECT\b|VALUES\s*\(|{_WITH}|{_CHANGE})"
#: "Select the singers from …" is English.
_ENGLISH = r"(?![Ss]elect\s+(?:the|every|each|which|your)\b|Select\s+(?:all|an?|any|one|only)\b)"
#: What may stand before a bare query on its line: quotation and list marks, or words and a colon.
_BEFORE = r"(?:^[ \t>*-]*(?:\d+[.)][ \t]*)?|:[ \t*_]*)"

_OPENING = re.compile(rf"(?:\s|\(|{_COMMENT})*{_STATEMENT}", re.DOTALL | re.IGNORECASE)
_BARE = re.compile(rf"{_BEFORE}(?P<query>[( ]*{_ENGLISH}(?i:{_STATEMENT}))", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)(?P<mark>`+)(?:(?i:sql|sqlite)\s+)?(?P<code>[^`]+)(?P=mark)(?!`)")

_CLAUSES = (
    "select|from|where|and|or|left|right|full|inner|cross|natural|join|on|group|having|order|limit|offset|union|except|"
    "intersect|values|with|window|case|when|else|end"
)
_CLAUSE = re.compile(rf"\s*(?:(?:{_CLAUSES}|{_CLAUSES.upper()})\b|[),(])")
_SENTENCE = re.compile(rf"\s*(?!(?i:{_CLAUSES})\b)[A-Z][a-z']*,? [a-z']+ [a-z']+\b")


def find_query(reply: str) -> str | None:
    """The query in a reply, the last where there are several; None where there is none."""
    for find in (_fenced, _inline, _bare):
        if queries := find(reply):
            return queries[-1]
    return None


def tidy(answer: str) -> str:
    """The statement of an answer: without a fence around it, and without what follows its end (semicolons, comments)."""
    blocks = fenced_blocks(answer) or [span["code"] for span in _INLINE.finditer(answer) if span["mark"] == "```"]
    text = blocks[-1] if blocks else answer
    end = max((token.end() for token in _TOKEN.finditer(text) if token["idle"] is None), default=0)
    return text[:end].strip()


def _fenced(reply: str) -> list[str]:
    return [block.strip() for block in fenced_blocks(reply) if _OPENING.match(block)]


def _inline(reply: str) -> list[str]:
    spans = (span["code"].strip() for span in _INLINE.finditer(reply))
    return [code for code in spans if _OPENING.match(code) and " " in code]


def _bare(reply: str) -> list[str]:
    queries, start = [], 0
    while opening := _BARE.search(reply, start):
        start = _end(reply, opening.end())
        queries.append(reply[opening.start("query") : start])
    return queries


def _end(text: str, start: int) -> int:
    """Where a bare query ends that has begun before `start`: at a semicolon, or where prose goes on."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token[0] == ";" and not _OPENING.match(text, token.end()):
            return token.end()
        if "\n" in token[0] and token["idle"] and _prose_follows(text, token, depth > 0):
            return token.start()
    return len(text)


def _prose_follows(text: str, space: re.Match[str], nested: bool) -> bool:
    if space[0].startswith(("--", "/*")):
        return False
    if space[0].count("\n") > 1 and not nested:
        return not _CLAUSE.match(text, space.end())
    return _SENTENCE.match(text, space.end()) is not None
