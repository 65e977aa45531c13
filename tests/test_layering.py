"""DESIGN section 3: a module imports only what stands above it; nothing heavy is imported before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "calibrator"
# From the top down; a folder is one layer, within which the order below is left free but for STEPS.
LAYERS = (
    "errors validation texts resources records lexicon reading measurements codec aspects stats tables cells columns "
    "dataset download catalog audit split files journal store hub prompts models criteria metrics judges drafting "
    "evaluation calibration comparison generators studies export report cli"
).split()
STEPS = "draft score select stop refine refit validate freeze".split()


def _modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def _layer(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, wherever in the file, without those for type checkers only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calibrator."):
            found.add(node.module or "")
        elif isinstance(node, ast.ImportFrom) and node.module == "calibrator":
            found |= {f"calibrator.{a.name}" for a in node.names if (PACKAGE / f"{a.name}.py").exists()}
            found |= {f"calibrator.{a.name}" for a in node.names if (PACKAGE / a.name).is_dir()}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("calibrator.")}
    return found


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_above(path: Path) -> None:
    own = LAYERS.index(_layer(path))
    for name in _imports(path):
        layer = name.split(".")[1]
        assert LAYERS.index(layer) <= own, f"{path.name} imports {name}"


def test_steps_never_import_each_other() -> None:
    for step in STEPS:
        others = {f"calibrator.calibration.{s}" for s in STEPS if s != step}
        assert not _imports(PACKAGE / "calibration" / f"{step}.py") & others, step


def test_only_the_two_halves_of_the_loop_import_the_steps() -> None:
    steps = {f"calibrator.calibration.{s}" for s in STEPS}
    importers = {p.stem for p in _modules() if _imports(p) & steps}
    assert importers == {"loop", "search"}


def test_the_core_knows_no_domain() -> None:
    """Names of a domain stand in the catalog, in guesses of column names, and nowhere else in the code."""
    words = ("hatespeech", "hate speech", "counterspeech", "counter-speech", "dialogue")
    allowed = {"catalog.py", "columns.py"}
    for path in _modules():
        if path.name not in allowed:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {
                ast.get_docstring(n, clean=False)
                for n in ast.walk(tree)
                if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)
            }
            strings = {
                n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
            } - docs
            assert not [s for s in strings for w in words if w in s.lower()], path


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    heavy = "numpy scipy pandas pyarrow pydantic yaml jinja2".split()
    code = f"import sys, calibrator.cli.main; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = "import sys, calibrator; print([m for m in sys.modules if m.startswith('calibrator.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
