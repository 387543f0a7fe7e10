"""The rules of the house, held by reading the source: who may import whom, what stays light, what every command says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulator.cli import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PACKAGES = ("tasks", "simulator", "sharding", "analysis")
#: package -> what of ours it may import; a dot names single modules.
ALLOWED = {
    "tasks": ("tasks",),
    "simulator": ("simulator", "tasks"),
    # the nouns, the store and what it is made of; never the engine or the graph
    "analysis": (
        "analysis",
        *(f"simulator.{name}" for name in ("record", "store", "writer", "columns", "errors")),
        "tasks",
    ),
    "sharding": ("sharding", "simulator", "tasks"),
}
FILES = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every module imported, with the node that does it; `from a import b` counts as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def ours(name: str) -> bool:
    return name.split(".")[0] in PACKAGES


def test_there_is_something_to_check():
    assert len(FILES) > 30


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_point_one_way(file):
    package = file.relative_to(ROOT).parts[0]
    for _, name in imports(ast.parse(file.read_text())):
        if ours(name):
            assert any(name == ok or name.startswith(ok + ".") for ok in ALLOWED[package]), f"{file}: {name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_import_of_ours_hides_in_a_function(file):
    tree = ast.parse(file.read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            assert not [name for _, name in imports(function) if ours(name)], f"{file}: {function.name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_randomness_that_all_share(file):
    """Of the modules `random` and `numpy.random` only generators may be made, never the shared state used."""
    if "inside" in file.parts:  # runs within the sandbox, where nothing is shared
        return
    makers = {"Random", "Generator", "default_rng", "SeedSequence", "BitGenerator"}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("random", "np.random", "numpy.random"):
            assert node.attr in makers, f"{file}: {ast.unparse(node)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_says_what_it_owns(package):
    for file in sorted((ROOT / package).rglob("*.py")):
        assert ast.get_docstring(ast.parse(file.read_text())), file


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("simulator", ("langgraph", "langchain_core", "pandas", "numpy", "aiohttp")),
        ("simulator.store", ("langgraph", "langchain_core", "pandas", "aiohttp")),
        ("simulator.shown", ("langgraph", "langchain_core", "pandas", "aiohttp")),
        ("simulator.cli", ("langgraph", "langchain_core", "pandas", "numpy", "matplotlib", "aiohttp")),
        ("analysis", ("langgraph", "langchain_core", "matplotlib")),
        ("tasks.registry", ("langgraph", "langchain_core", "pandas", "matplotlib", "sacrebleu", "scipy")),
    ],
)
def test_what_is_light_stays_light(module, heavy):
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_defaults(command):
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0, result.output
    assert "--help" in result.output


def test_every_dependency_is_used():
    """Each line of pyproject's dependencies earns its place by an import."""
    names = {"langchain-core": "langchain_core", "genai-prices": "genai_prices"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    source = "\n".join(file.read_text() for file in FILES)
    for line in project["dependencies"]:
        name = re.split(r"[<>=\[ ]", line)[0]
        module = names.get(name, name.replace("-", "_"))
        # data packages are found, not imported
        assert re.search(rf"\b(import|from) {module}\b|find_spec\(\"{module}\"\)", source), f"{name} is not used"


def test_no_host_and_no_machine_path_is_pinned():
    for name in ("constraints.txt", "pyproject.toml", "Makefile", ".ci/run"):
        text = (ROOT / name).read_text()
        assert not re.search(r"https?://|file:|/(?:opt|home|root|work)/", text), name
