"""Finding the program in a reply, and the function in it that the tests mean; case ids (XC-…) are the shared cases'."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.code_text import fenced_blocks, find_entry, find_program, is_template

FOUND = {
    "XC-01": (
        "```python\ndef total(xs):\n    return scale(sum(xs))\n\ndef scale(v):\n    return v * 2\n```",
        "total",
        "def total(xs):\n    return scale(sum(xs))\n\ndef scale(v):\n    return v * 2",
    ),
    "XC-03": (
        "```python\ndef add(a, b):\n    return a + b\n```\nTests:\n```python\ndef test_add():\n    assert add(1, 2) == 3\n```",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "XC-04": (
        "Draft:\n```python\ndef add(a, b):\n    return a - b\n```\nFixed:\n```python\ndef add(a, b):\n    return a + b\n```",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "XC-05": (
        "```python\ndef add(a, b):\n    return a + b\n```\nComplexity:\n```markdown\nO(1) time\n```",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "XC-06": ("def add(a, b):\n    return a + b\n```", "add", "def add(a, b):\n    return a + b"),
    "XC-06: import first": (
        "import re\nfrom math import gcd\ndef add(a, b):\n    return gcd(a, b)\n```\nDone.",
        "add",
        "import re\nfrom math import gcd\ndef add(a, b):\n    return gcd(a, b)",
    ),
    "XC-08": (
        "I avoided a class Solution wrapper.\n```python\ndef add(a, b):\n    return a + b\n```",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "XC-08: unclosed": (
        "No class Solution here.\n```python\ndef add(a, b):\n    return a + b",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    # Arguable: what closes a block is a fence indented no deeper than the one that opened it.
    "XC-10": (
        '```python\ndef doc():\n    """Example:\n    ```\n    doc()\n    ```\n    """\n    return 1\n```',
        "doc",
        'def doc():\n    """Example:\n    ```\n    doc()\n    ```\n    """\n    return 1',
    ),
    "XC-15": (
        "def a(x):\n    return b(x)\n\ndef b(x):\n    return x + 1\n",
        "a",
        "def a(x):\n    return b(x)\n\ndef b(x):\n    return x + 1",
    ),
    "XC-16": ("def a(x):\n    return x + 1", "a", "def a(x):\n    return x + 1"),
    "XC-16: name unknown": ("def a(x):\n    return x + 1", "other", "def a(x):\n    return x + 1"),
    "bare among prose": (
        "Here you go:\n\nLIMIT = 3\n\ndef add(a, b):\n    return a + b\n\nThis adds both numbers.\nEnjoy",
        "add",
        "LIMIT = 3\n\ndef add(a, b):\n    return a + b",
    ),
    "prose that starts like code": (
        "import the module as follows,\nfrom the list we take one.\ndef add(a, b):\n    return a + b\nDone",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "in a list item": (
        "1. The code:\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n2. Done.",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "tildes": ("~~~\ndef add(a, b):\n    return a + b\n~~~", "add", "def add(a, b):\n    return a + b"),
    "a longer fence around a shorter": (
        '````python\ndef add(a, b):\n    """\n```\n    """\n    return a + b\n````',
        "add",
        'def add(a, b):\n    """\n```\n    """\n    return a + b',
    ),
    "a helper in another block": (
        "```python\ndef half(x):\n    return x / 2\n```\nand\n```python\ndef add(a, b):\n    return half(2 * a + 2 * b)\n```",
        "add",
        "def half(x):\n    return x / 2\n\ndef add(a, b):\n    return half(2 * a + 2 * b)",
    ),
    "an import in another block": (
        "```python\nimport math\n```\n```python\ndef add(a, b):\n    return math.fsum([a, b])\n```",
        "add",
        "import math\n\ndef add(a, b):\n    return math.fsum([a, b])",
    ),
    "usage after": (
        "```python\ndef add(a, b):\n    return a + b\n```\nUse:\n```python\nprint(add(1, 2))\n```",
        "add",
        "def add(a, b):\n    return a + b",
    ),
    "usage that defines something": (
        "```python\ndef plus(a, b):\n    return a + b\n```\nUse:\n```python\ndef main():\n    print(plus(1, 2))\nmain()\n```",
        "add",
        "def plus(a, b):\n    return a + b",
    ),
    "does not parse, but is an attempt": (
        "```python\ndef add(a, b:\n    return\n```",
        "add",
        "def add(a, b:\n    return",
    ),
    "asynchronous": (
        "```\nasync def add(a, b):\n    return a + b\n```",
        "add",
        "async def add(a, b):\n    return a + b",
    ),
    "a lambda": ("```python\nadd = lambda a, b: a + b\n```", "add", "add = lambda a, b: a + b"),
    "code on the line of the fence": ("```def add(a, b): return a + b\n```", "add", "def add(a, b): return a + b"),
}


@pytest.mark.parametrize(("reply", "entry", "program"), FOUND.values(), ids=FOUND.keys())
def test_the_program_is_found_and_kept_whole(reply: str, entry: str, program: str) -> None:
    assert find_program(reply, entry) == program
    assert find_program(program, entry) == program  # what was found is found again


NO_PROGRAM = [
    "",
    "   \n",
    "Should it return a list, or print it?",
    "I would define a function that imports nothing. Which input do you have?",
    "For example:\n```\n[1, 2] -> 3\n```\nIs that right?",
    "```json\n{\"a\": 1}\n```",
    "The signature could be `def add(a, b)`, or do you want a class?",
    "Done",
]  # fmt: skip


@pytest.mark.parametrize("reply", NO_PROGRAM)
def test_a_reply_without_a_program_has_none(reply: str) -> None:
    assert find_program(reply, "add") is None


def test_xc_11_two_blocks_are_two() -> None:
    assert fenced_blocks("```python\nx = 1\n```\ntext\n```python\ny = 2\n```") == ["x = 1", "y = 2"]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["```", "```python", "~~~", "def f(x):", "    return x", "  ```", "text", "", "import re", '"""']
        )
    )
)
def test_whatever_a_reply_is_made_of_finding_ends_and_repeats(lines: list[str]) -> None:
    found = find_program("\n".join(lines), "f")
    if found is not None:
        assert all(line.strip() in {"", *(part.strip() for part in lines)} for line in found.split("\n"))


HOSTILE = {
    "brackets": "(" * 5000,
    "lists": "def f():\n" + "[" * 5000,
    "signs": "x = " + "-" * 50_000 + "1",
    "thousands of starts": "import x\n" * 3000 + "(",
    "null": "\0def f(): pass",
    "an invalid escape": "def f():\n x='\\d'",
}


@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_parsed_or_refused_without_harm(reply: str) -> None:
    find_program(reply, "f")
    assert find_entry(reply, "f", 0) in (None, "f")


ENTRIES = {
    "by name": ("def helper(x): return x\ndef add(a, b): return a\ndef zzz(a, b): return b", "add", "add"),
    "XC-12: the only one": ("def f(x):\n    return x if x else 0", "solve", "f"),
    "XC-13: a method": (
        "class Solution:\n    def __init__(self):\n        self.memo = {}\n    def climb(self, n):\n        return n",
        "climb",
        "Solution.climb",
    ),
    "a method of another name": (
        "class Solution:\n    def __init__(self): pass\n    def go(self, a, b): return a",
        "add",
        "Solution.go",
    ),
    "in another spelling": ("def other(a, b): pass\ndef twoSum(a, b): pass\ndef zzz(a, b): pass", "two_sum", "twoSum"),
    "the top, not its helper": ("def solve(a, b):\n    return help(a)\ndef help(x):\n    return x", "add", "solve"),
    "the top of recursion": (
        "def go(a, b):\n    return go(b, a) if step(a) else 0\ndef step(a):\n    return a",
        "add",
        "go",
    ),
    "the one that takes as many": ("def one(a): pass\ndef two(a, b): pass\ndef three(a, b, c): pass", "add", "two"),
    "defaults and stars": ("def one(a): pass\ndef two(a, b=1, *rest): pass", "add", "two"),
    "not a test": (
        "def plus(a, b): return a\ndef test_plus():\n    assert plus(1, 2)\ndef main(): pass",
        "add",
        "plus",
    ),
    "a helper of a method": (
        "def helper(a, b): return a\nclass Solution:\n    def go(self, a, b):\n        return helper(a, b)",
        "add",
        "Solution.go",
    ),
    "a method that uses others": (
        "class Solution:\n    def go(self, a, b):\n        return self.step(a, b)\n    def step(self, a, b):\n        return a",
        "add",
        "Solution.go",
    ),
    "a function with a class": (
        "class Node:\n    def put(self, a): pass\ndef go(a, b):\n    return Node().put(a)",
        "add",
        "go",
    ),
    "under if": ("if True:\n    def add(a, b): return a\nelse:\n    add = None", "add", "add"),
    "an alias of a method": ("class Solution:\n    def go(self, a, b): return a\nadd = Solution().go", "add", "add"),
    "none": ("x = 1", "add", None),
    "only a test": ("def test_add(): pass", "add", None),
}


@pytest.mark.parametrize(("code", "name", "entry"), ENTRIES.values(), ids=ENTRIES.keys())
def test_the_entry_point_is_found(code: str, name: str, entry: str | None) -> None:
    assert find_entry(code, name, 2) == entry


@pytest.mark.parametrize(
    ("code", "template"),
    [
        ("def f(x):\n    pass", True),
        ('def f(x):\n    """Sums."""\n    ...', True),
        ("def f(x):\n    # your code here\n    raise NotImplementedError('later')", True),
        ("class Solution:\n    def f(self, x):\n        pass", True),
        ("def f(x):\n    return None", False),
        ("def g(x): pass\ndef f(x):\n    return x", False),
        ("print(1)", False),
        ("def f(x:", False),
    ],
)
def test_a_template_is_told_from_a_program(code: str, template: bool) -> None:
    assert is_template(code) is template
