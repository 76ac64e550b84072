"""The pages of docs/howto are true: what they change applies, and the tests they name then pass."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("add-a-wait-reason", "add-a-knob", "add-a-chart", "add-a-record-type")
LONG = ("add-a-knob", "add-a-chart", "add-a-record-type")
"""Pages that name a minute's worth of tests: CI applies what they change, no more."""
FILES_MAX = 4
MAKE_EVENTS = "from rcp.probes.contract.c_header import c_header; print(c_header(), end='')"

FOLDERS = ("probes", "analyzer", "tuner", "ui", "fixtures", "kernel-patch/lab", "kernel-patch/mark")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as it would be committed, importable as rcp from its folder ``path``."""
    folder = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = filter(None, listed.stdout.split(b"\0"))
    files = [name for name in names if (ROOT / os.fsdecode(name)).exists()]
    packed = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-"],
        cwd=ROOT,
        input=b"\0".join(files),
        capture_output=True,
        check=True,
    )
    subprocess.run(["tar", "--extract"], cwd=folder, input=packed.stdout, check=True)
    (folder / "path/rcp").mkdir(parents=True)
    for name in FOLDERS:
        (folder / "path/rcp" / Path(name).name).symlink_to(folder / name)
    return folder


def changes(page: Path) -> str:
    """Return what the diffs of a page change, as one patch."""
    return "\n".join(re.findall(r"^```diff\n(.*?)^```$", page.read_text(), re.DOTALL | re.M))


def named_tests(page: Path) -> list[str]:
    (command,) = re.findall(r"^\$ \.venv/bin/pytest (.*)$", page.read_text(), re.MULTILINE)
    return str(command).split()


def python(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python on the modules of the copy."""
    path = {**os.environ, "PYTHONPATH": str(copy / "path")}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=copy, env=path, capture_output=True, text=True, check=False)


@contextmanager
def followed(copy: Path, page: Path) -> Iterator[None]:
    """The copy as a page has it changed, generated files too."""
    patch = changes(page)
    assert 1 <= len(re.findall(r"^\+\+\+ b/", patch, re.MULTILINE)) <= FILES_MAX
    apply = ["git", "apply", "-C1", "-"]
    header = copy / "probes/bpf/events.h"
    before = header.read_text()
    subprocess.run(apply, cwd=copy, input=patch, text=True, check=True)
    try:
        if "\n$ make events\n" in page.read_text():
            made = python(copy, "-c", MAKE_EVENTS)
            assert made.returncode == 0, made.stderr
            header.write_text(made.stdout)
        yield
    finally:
        header.write_text(before)
        subprocess.run([*apply, "--reverse"], cwd=copy, input=patch, text=True, check=True)


@pytest.mark.parametrize("name", LONG)
def test_what_a_page_changes_applies(copy: Path, name: str) -> None:
    page = ROOT / f"docs/howto/{name}.md"
    with followed(copy, page):
        named = {test.partition("::")[0] for test in named_tests(page)}
        assert [path for path in sorted(named) if not (copy / path).exists()] == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.heavy] * (name in LONG)) for name in PAGES]
)
def test_a_page_can_be_followed(copy: Path, name: str) -> None:
    page = ROOT / f"docs/howto/{name}.md"
    with followed(copy, page):
        ended = python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named_tests(page))
        assert ended.returncode == 0, ended.stdout[-3000:]


def test_every_page_is_followed_or_has_no_changes() -> None:
    with_changes = {
        page.stem for page in (ROOT / "docs/howto").glob("*.md") if "```diff" in page.read_text()
    }
    assert with_changes == set(PAGES)
