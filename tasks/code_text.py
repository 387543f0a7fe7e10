"""Finding the program in what a model wrote, and the function in it that the tests mean.

The text is only parsed here, never run. Nothing of it is rewritten: helpers, constants, imports and classes stay, and the
entry point is named, not renamed.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_CODE = re.compile(r"(?:async )?def \w|class \w|import \w|from [\w.]+ import\b|@\w|print\s*\(|for \w+ in ")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*[ \t]*=[ \t]*[^=\s]")
#: Names of functions that show or test a solution.
_SHOWING = re.compile(r"(?:run_?)?(?:tests?|main|examples?|demo|usage)(?:_\w*|\d*)$|test[A-Z]", re.IGNORECASE)
#: Text among prose is parsed line by line shorter until it fits; this bounds the work on hostile replies.
_MOST_PARSES, _MOST_TEXT = 40, 30_000


def find_program(reply: str, entry: str | None) -> str | None:
    """The program a reply gives; None where there is none.

    Args:
        entry: the function the tests call; None means a script that reads standard input.

    Of several blocks it is the last that defines the function, or else the last that defines any (the last that reads input,
    for a script), together with the other blocks that define what it uses. Where no block can be parsed, it is the last that
    looks like code: an attempt, though it will not run.
    """
    blocks = [block for block in fenced_blocks(reply) if block.strip()]
    if _is_program(reply):
        programs = [reply.strip("\n")]
    else:
        programs = [block for block in blocks if _is_program(block)] or list(_bare_programs(reply))
    fitting = _reading if entry is None else _defining
    if chosen := fitting(programs, entry or ""):
        return _with_needed(chosen, programs)
    return _broken(blocks, reply)


def find_entry(code: str, name: str, arity: int) -> str | None:
    """What to call: `function` or `Class.method`; None where the program defines nothing that could be meant.

    By name; else, since an assistant may never have been told the name, the only function; else the last one that no other
    uses (the top of the program rather than one of its helpers), among those that take `arity` arguments. Functions that show
    or test the solution do not count.
    """
    tree = _parse(code)
    places = _places(tree) if tree else {}
    for same in (str, _folded):
        if named := [place for place in places if same(_simple(place)) == same(name)]:
            return named[0]
    possible = [place for place in places if not (_SHOWING.match(_simple(place)) or _simple(place).startswith("_"))]
    possible = [place for place in possible if _takes(places[place], arity + place.count("."))] or possible
    used = {name for place, node in places.items() for name in _used(node) - {_simple(place)}}
    tops = [place for place in possible if _simple(place) not in used] or possible
    functions = [place for place in tops if "." not in place]
    return _last(functions or tops)


def is_template(code: str) -> bool:
    """Whether all its functions are still to be written: `pass`, `...`, `raise NotImplementedError`."""
    functions = [
        node for node in _places(_tree(code)).values() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return bool(functions) and all(_is_blank(statement) for function in functions for statement in function.body)


def _is_blank(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


# -- blocks -----------------------------------------------------------------------------------------------------------


def fenced_blocks(text: str) -> list[str]:
    """The contents of all fences, in order; a fence that is never closed reaches to the end.

    Only a line that is a fence, indented no deeper than the opening one, closes it: a fence in a docstring does not.
    """
    blocks: list[list[str]] = []
    opening: re.Match[str] | None = None
    for line in text.split("\n"):
        fence = _FENCE.match(line.rstrip())
        if opening is None:
            if fence:
                opening = fence
                blocks.append([fence["info"]] if _CODE.match(fence["info"]) else [])
        elif fence and _closes(fence, opening):
            opening = None
        else:
            blocks[-1].append(_outdented(line, len(opening["indent"])))
    return ["\n".join(block) for block in blocks]


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    same_mark = fence["mark"].startswith(opening["mark"])
    return same_mark and not fence["info"] and len(fence["indent"]) <= len(opening["indent"])


def _outdented(line: str, width: int) -> str:
    return line[width:] if not line[:width].strip() else line


def _bare_programs(reply: str) -> Iterator[str]:
    """Programs that stand among prose without fences (or with half a one)."""
    lines = ["" if _FENCE.match(line.rstrip()) else line for line in reply[:_MOST_TEXT].split("\n")]
    parses, start = _MOST_PARSES, 0
    while start < len(lines) and parses > 0:
        length = 0
        if _CODE.match(lines[start]) or _ASSIGNMENT.match(lines[start]):
            length, used = _longest_program(lines[start:], parses)
            parses -= used
        if length:
            yield "\n".join(lines[start : start + length]).rstrip()
        start += max(1, length)


def _longest_program(lines: list[str], parses: int) -> tuple[int, int]:
    """How many lines from the first on are a program, and how many times it was parsed to find out."""
    for used in range(1, parses + 1):
        code = "\n".join(lines)
        try:
            tree = _parse_strictly(code)
        except SyntaxError as error:
            lines = lines[: max(0, min((error.lineno or 1) - 1, len(lines) - 1))]
        else:
            return _end_of_code(tree), used
        if not lines:
            return 0, used
    return 0, parses


def _end_of_code(tree: ast.Module) -> int:
    """The last line of the last statement that is not a word of prose ("Done")."""
    statements = [node for node in tree.body if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call)]
    return statements[-1].end_lineno or 0 if statements else 0


def _broken(blocks: list[str], reply: str) -> str | None:
    """What looks like a program but cannot be parsed."""
    looking = re.compile(rf"^[ \t]*(?:{_CODE.pattern})", re.MULTILINE)
    for block in reversed(blocks):
        if looking.search(block) and not _is_program(block):
            return block
    bare = re.compile(r"^(?:async )?def \w+\s*\(", re.MULTILINE).search(reply)
    return reply[bare.start() :] if bare and not blocks else None


# -- choosing ---------------------------------------------------------------------------------------------------------


def _defining(programs: list[str], entry: str) -> str | None:
    showing: list[str] = []
    for program in reversed(programs):
        names = {_simple(place) for place in _places(_tree(program))}
        if entry in names:
            return program
        showing += [program] if any(not _SHOWING.match(name) for name in names) else []
    return showing[0] if showing else None


def _reading(programs: list[str], _: str) -> str | None:
    doing = [program for program in programs if any(not _is_value(node) for node in _tree(program).body)]
    reading = [program for program in doing if re.search(r"\binput\s*\(|\bstdin\b|\bopen\s*\(\s*0", program)]
    return _last(reading or doing)


def _is_value(node: ast.stmt) -> bool:
    """A mere expression, as an example of input or output is."""
    return isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)


def _with_needed(chosen: str, programs: list[str]) -> str:
    """The program, after those of the other blocks that define a name it uses but nowhere sets."""
    missing = _used(_tree(chosen)) - _set(_tree(chosen)) - set(dir(builtins))
    needed = [other for other in programs if other != chosen and missing & _defined(_tree(other))]
    return "\n\n".join([*dict.fromkeys(needed), chosen])


def _last(texts: list[str]) -> str | None:
    return texts[-1] if texts else None


def _simple(place: str) -> str:
    return place.rpartition(".")[2]


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


# -- syntax trees -----------------------------------------------------------------------------------------------------


def _parse_strictly(code: str) -> ast.Module:
    """Raises `SyntaxError` for whatever reason Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a model's strings
            return ast.parse(code)
    except (ValueError, MemoryError, RecursionError) as error:  # null bytes, thousands of nested brackets
        raise SyntaxError(str(error) or "too complex") from error


def _parse(code: str) -> ast.Module | None:
    try:
        return _parse_strictly(code)
    except SyntaxError:
        return None


def _tree(program: str) -> ast.Module:
    return _parse(program) or ast.Module([], [])


def _is_program(block: str) -> bool:
    return bool(_tree(block).body)


def syntax_error(code: str) -> str | None:
    """What keeps a program from being parsed; None where nothing does."""
    try:
        _parse_strictly(code)
    except SyntaxError as error:
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    return None


def _places(tree: ast.Module) -> dict[str, ast.AST]:
    """What could be called: functions, and methods as `Class.method`."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = {f"{owner.name}.{name}": node for owner in classes for name, node in _functions(owner.body)}
    return dict(_functions(tree.body)) | methods


def _functions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Functions by name, those under `if` and `try` and those assigned to a name as well."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                yield name, function
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(value=ast.Call()) as method):
                yield name, method  # solve = Solution().solve
            case ast.If() | ast.Try():
                for inner in (node.body, node.orelse):
                    yield from _functions(inner)


def _takes(function: ast.AST, arguments: int) -> bool:
    """Whether a function can be called with so many positional arguments."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return True
    named = len(function.args.posonlyargs) + len(function.args.args)
    most = float("inf") if function.args.vararg else named
    return named - len(function.args.defaults) <= arguments <= most


def _used(tree: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    owned = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }
    return names | owned


def _set(tree: ast.AST) -> set[str]:
    """Every name that is bound anywhere in the tree."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    return names.union(*(_defined(node) for node in ast.walk(tree)))


def _defined(tree: ast.AST) -> set[str]:
    """What a block offers to another: functions, classes, constants, imports."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names
