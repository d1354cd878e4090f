# SPDX-License-Identifier: Apache-2.0
"""The source: for Python 3.9, with types and docstrings."""

import ast
import inspect
import pathlib
import shutil
import subprocess

import pytest

import tagbus
from conftest import ALL

HERE = pathlib.Path(__file__).resolve().parents[1]
SOURCES = sorted([*HERE.glob("tagbus/*.py"), *HERE.glob("examples/*.py")])


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_python_3_9_reads_it(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
    # X | Y as a type is for 3.10: as an annotation it is not evaluated, as anything else it is.
    assert any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body) or "_cdef" in path.name or path.name in ("__init__.py", "spectrum.py")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            assert not any(k.arg == "strict" for k in node.keywords if getattr(node.func, "id", "") == "zip"), node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            new = {"TypeAlias", "ParamSpec", "Self", "Never", "TypeGuard", "Concatenate", "assert_never", "override"}
            assert not new & {n.name for n in node.names}, node.lineno


@pytest.mark.skipif(not ALL, reason="TAGBUS_TESTS=all")
def test_another_interpreter_of_3_9_imports_it():
    """If there is one: without cffi, which is in the place of a stand-in."""
    python = shutil.which("python3.9")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode != 0:
        pytest.skip("needs python3.9")
    code = "import sys, unittest.mock as m; sys.modules['cffi'] = m.MagicMock(); import tagbus; print(len(tagbus.__all__))"
    done = subprocess.run([python, "-c", code], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def public():
    """Yield what users see: names, and what is behind them."""
    for name in tagbus.__all__:
        thing = getattr(tagbus, name)
        yield name, thing
        if inspect.isclass(thing):
            for attribute, value in vars(thing).items():
                value = value.fget if isinstance(value, property) else value
                if not attribute.startswith("_") and inspect.isfunction(value):
                    yield f"{name}.{attribute}", value


@pytest.mark.parametrize("name, thing", public(), ids=lambda x: x if isinstance(x, str) else "")
def test_docstrings_and_types(name, thing):
    assert (thing.__doc__ or "").strip(), name
    if inspect.isfunction(thing):
        missing = [p.name for p in inspect.signature(thing).parameters.values() if p.annotation is p.empty and p.name != "self"]
        assert not missing and inspect.signature(thing).return_annotation is not inspect.Signature.empty, (name, missing)


@pytest.mark.skipif(not ALL, reason="TAGBUS_TESTS=all")
def test_mypy():
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("needs mypy (Debian: mypy)")
    examples = [f"examples/{x}.py" for x in ("receiver", "sender", "request", "readout", "monitor")]
    for what in (["tagbus"], examples):
        done = subprocess.run(
            [mypy, "--strict", "--python-version", "3.9", "--cache-dir", "/dev/null", *what],
            cwd=HERE, env={"PATH": "/usr/bin:/bin", "MYPYPATH": ".:examples"}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
