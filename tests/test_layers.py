"""The rooms import downwards only, in Python (import-linter) and Cython (not read by it)."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A room may import itself and the rooms named here (pyproject.toml says the same to import-linter).
MAY_IMPORT = {
    "engine": set[str](),
    "model": {"engine"},
    "selfplay": {"engine", "model"},
    "bots": {"engine", "model"},
    "scripts": {"engine", "model", "selfplay", "bots"},
}
# Compiled code may besides use the standard library and these.
COMPILED_MAY_IMPORT = {"cython", "cpython", "libc", "libcpp", "numpy"} | sys.stdlib_module_names

IMPORT = re.compile(
    r"^\s*(?:from\s+(?P<source>[.\w]+)\s+c?import\b|c?import\s+(?P<names>\w[\w.]*(?:\s*,\s*\w[\w.]*)*))",
    re.MULTILINE,
)


def cython_imports(text: str, module: str) -> Iterator[str]:
    """The full names of what a .pyx or .pxd text of `module` imports or cimports."""
    package = module.rpartition(".")[0]
    for found in IMPORT.finditer(text):
        if source := found["source"]:
            dots = len(source) - len(source.lstrip("."))
            parents = package.split(".")[: len(package.split(".")) - dots + 1] if dots else []
            yield ".".join([*parents, *filter(None, [source.lstrip(".")])])
        elif names := found["names"]:
            yield from (name.strip() for name in names.split(","))


def compiled_modules() -> dict[str, set[str]]:
    """Every Cython module (its .pyx and .pxd together) with the names that it imports."""
    modules: dict[str, set[str]] = {}
    for room in MAY_IMPORT:
        for path in sorted((ROOT / room).rglob("*.p[yx][xd]")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            modules.setdefault(module, set()).update(cython_imports(path.read_text(), module))
    return modules


def test_import_lines_are_understood() -> None:
    text = """
from libc.string cimport memcpy
cimport cython
from engine._types cimport Rules
from . cimport _board
from ._types cimport Point
import numpy as np
    from engine.rules import RuleSet
cimport a.b, c
"""
    assert list(cython_imports(text, "engine._position")) == [
        "libc.string", "cython", "engine._types", "engine", "engine._types", "numpy",
        "engine.rules", "a.b", "c",
    ]  # fmt: skip


def test_compiled_code_keeps_the_order_of_the_rooms() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in compiled_modules().items()
        for name in sorted(names)
        if (room := module.split(".")[0]) != (target := name.split(".")[0])
        and target not in MAY_IMPORT[room] | COMPILED_MAY_IMPORT
    ]
    assert not wrong, wrong


def test_compiled_modules_import_each_other_without_a_cycle() -> None:
    modules = compiled_modules()
    waiting = {module: (names & modules.keys()) - {module} for module, names in modules.items()}
    while ready := [module for module, names in waiting.items() if not names & waiting.keys()]:
        for module in ready:
            del waiting[module]
    assert not waiting, f"in a cycle, or above one: {waiting}"


def test_python_code_keeps_the_order_of_the_rooms() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
