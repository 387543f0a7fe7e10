"""The notebooks are executed stories: their outputs are there, show nothing of a machine, and come again from a fresh kernel.

`python tests/test_notebooks.py` executes all of them in place, on runs made anew, and writes their outputs.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
STORIES = ["1_first_run", "2_lost_in_conversation", "3_failure_modes", "4_interventions", "5_planning"]
#: Real logs, where they are at hand: beside the repository, as `3_failure_modes` looks for them.
SHARED = ROOT.parent / "shared"

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
MACHINE = re.compile(
    r"(?<![\w.~-])/(?:work|root|home|tmp|Users|opt|mnt|usr|var|private)\b|[A-Z]:\\\\|site-packages|\b\d+\.\d+\.\d+\.\d+\b"
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def executed(path: Path) -> NotebookNode:
    """The notebook after a fresh kernel went through it in its own folder. Raises `CellExecutionError`.

    Nothing of when and where is kept, so that the outputs of two machines can be compared.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    here = {"metadata": {"path": str(path.parent)}}
    asyncio.run(NotebookClient(notebook, timeout=300, record_timing=False, resources=here).async_execute())
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Every output of a notebook, kind and text; pictures stay encoded."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "stream":
                yield output.name, output.text
            else:
                yield from output.get("data", {}).items()


def words(notebook: NotebookNode) -> str:
    return "\n".join(text for kind, text in shown(notebook) if not kind.startswith("image/"))


def check(notebook: NotebookNode) -> None:
    """What holds for every executed notebook, committed or fresh."""
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert {output.output_type for cell in cells for output in cell.outputs} <= {
        "stream",
        "execute_result",
        "display_data",
    }
    assert "stderr" not in {kind for kind, _ in shown(notebook)}
    assert not MACHINE.findall(words(notebook))
    picture = cells[-1].outputs[-1].data["image/png"]
    assert len(base64.b64decode(picture)) > 5_000
    if "synthetic" in "".join(cell.source for cell in cells):
        assert "**synthetic**" in notebook.cells[0].source


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> NotebookNode:
    return nbformat.read(request.param, as_version=4)


def test_the_five_stories_are_there():
    assert [path.stem for path in NOTEBOOKS] == STORIES


def test_outputs_are_committed_and_show_nothing_of_a_machine(notebook):
    check(notebook)


def test_a_notebook_defines_nothing(notebook):
    for cell in code_cells(notebook):
        assert not [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, DEFINITIONS)], cell.source


def test_nothing_of_when_and_where_is_kept(notebook):
    assert notebook.metadata == METADATA
    assert not any(cell.metadata for cell in notebook.cells)
    assert not MACHINE.findall("\n".join(cell.source for cell in notebook.cells))


def test_a_story_begins_with_its_number_and_title(notebook):
    assert re.match(r"# [1-5] · \w", notebook.cells[0].source)


@pytest.mark.parametrize(
    ("text", "found"),
    [("in /tmp/x", True), ("'/home/ann'", True), ("../runs/tmp/home", False), ("10.0.0.1", True), ("4.26.0", False)],
)
def test_what_a_machine_would_leave_is_found(text, found):
    assert bool(MACHINE.search(text)) == found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "logs"), [*((name, False) for name in STORIES), ("3_failure_modes", True)])
def test_a_fresh_kernel_tells_the_story_twice(name, logs, tmp_path, monkeypatch):
    """On runs made anew, then again on what is stored: the engine resumes, nothing changes."""
    if logs and not (SHARED / "data" / "reference_logs").exists():
        pytest.skip("the real logs are not at hand")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    place = tmp_path / "main" / "notebooks"
    place.mkdir(parents=True)
    shutil.copy(FOLDER / f"{name}.ipynb", place)
    if logs:
        (tmp_path / "shared").symlink_to(SHARED, target_is_directory=True)
    first, second = (executed(place / f"{name}.ipynb") for _ in range(2))
    check(first)
    assert list(shown(first)) == list(shown(second))
    sources = "\n".join(cell.source for cell in first.cells)
    if socket.gethostname() not in sources:
        assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", words(first))
    if name == "3_failure_modes":
        assert ("SYNTHETIC" in words(first)) != logs


if __name__ == "__main__":
    shutil.rmtree(ROOT / "runs" / "notebooks", ignore_errors=True)
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.name)
