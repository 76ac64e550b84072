"""The patch series as files: what it applies to, and bringing a source tree up to date."""

import os
import re
from pathlib import Path

import pytest

from rcp.lab import series
from rcp.lab.errors import SeriesError

ROOT = Path(__file__).parents[1]

PATCH = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
Subject: [PATCH] block: {subject}

---
{diff}"""

CHANGE_A = """\
diff --git a/a.c b/a.c
--- a/a.c
+++ b/a.c
@@ -1 +1 @@
-one
+{line}
"""

NEW_FILE = """\
diff --git a/new/driver.c b/new/driver.c
new file mode 100644
--- /dev/null
+++ b/new/driver.c
@@ -0,0 +1 @@
+{line}
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A builder's work folder with a source of two files, which are old."""
    source = tmp_path / "work" / "source"
    source.mkdir(parents=True)
    for name in ("a.c", "b.c"):
        (source / name).write_text("one\n")
        os.utime(source / name, (1000, 1000))
    return tmp_path / "work"


def _patch(folder: Path, name: str, diff: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(PATCH.format(subject=name, diff=diff))
    return path


def test_patches_are_taken_in_order_without_the_cover_letter(tmp_path):
    for name in ("0002-b.patch", "0000-cover-letter.patch", "0001-a.patch", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [path.name for path in series.patches(tmp_path)] == ["0001-a.patch", "0002-b.patch"]


def test_series_can_be_exchanged_and_taken_away(work, tmp_path):
    tree = series.Source(work)
    first = _patch(tmp_path / "p", "0001.patch", CHANGE_A.format(line="two"))
    second = _patch(tmp_path / "p", "0002.patch", NEW_FILE.format(line="driver"))
    tree.bring_to([first, second])
    assert (work / "source/a.c").read_text() == "two\n"
    assert (work / "source/new/driver.c").read_text() == "driver\n"
    other = _patch(tmp_path / "p", "0001.patch", CHANGE_A.format(line="three"))
    tree.bring_to([other])
    assert (work / "source/a.c").read_text() == "three\n"
    assert not (work / "source/new/driver.c").exists()
    tree.bring_to([])
    assert (work / "source/a.c").read_text() == "one\n"
    assert (work / "source/b.c").stat().st_mtime == 1000


def test_files_whose_content_stays_keep_their_time(work, tmp_path):
    tree = series.Source(work)
    first = _patch(tmp_path / "p", "0001.patch", CHANGE_A.format(line="two"))
    second = _patch(tmp_path / "p", "0002.patch", NEW_FILE.format(line="driver"))
    tree.bring_to([first, second])
    os.utime(work / "source/a.c", (2000, 2000))
    second = _patch(tmp_path / "p", "0002.patch", NEW_FILE.format(line="better"))
    tree.bring_to([first, second])
    # make would compile it again for nothing
    assert (work / "source/a.c").stat().st_mtime == 2000
    assert (work / "source/new/driver.c").read_text() == "better\n"


def test_patch_that_does_not_apply_leaves_the_source_as_it_was(work, tmp_path):
    tree = series.Source(work)
    good = _patch(tmp_path / "p", "0001.patch", CHANGE_A.format(line="two"))
    bad = _patch(tmp_path / "p", "0002-bad.patch", CHANGE_A.format(line="three"))
    with pytest.raises(SeriesError) as caught:
        tree.bring_to([good, bad])
    assert str(caught.value) == (
        "0002-bad.patch does not apply (error: patch failed: a.c:1): regenerate it against BASE"
    )
    assert (work / "source/a.c").read_text() == "one\n"
    tree.bring_to([good])
    assert (work / "source/a.c").read_text() == "two\n"


def test_new_files_can_be_had_without_the_source(tmp_path):
    _patch(tmp_path / "p", "0001.patch", NEW_FILE.format(line="driver") + CHANGE_A.format(line=2))
    (tmp_path / "tree").mkdir()
    folder = series.extract(tmp_path / "p", "new", tmp_path / "tree")
    assert (folder / "driver.c").read_text() == "driver\n"
    with pytest.raises(SeriesError, match=r"no patch in .* creates elsewhere"):
        series.extract(tmp_path / "p", "elsewhere", tmp_path / "tree")


@pytest.mark.parametrize(
    "text",
    ["", "version 6.12.117-1\n", "version 6.12.117-1\nsha256 12\n", "sha256 " + "a" * 64 + "\n"],
)
def test_incomplete_base_is_refused(tmp_path, text):
    path = tmp_path / "BASE"
    path.write_text(text)
    with pytest.raises(SeriesError) as caught:
        series.read_base(path)
    assert str(caught.value) == f"{path}: must hold a line 'version V' and a line 'sha256 H'"


def test_missing_base_is_refused(tmp_path):
    with pytest.raises(SeriesError, match=r"BASE: No such file or directory: run in a checkout"):
        series.read_base(tmp_path / "BASE")


def test_our_base_is_a_point_release_of_debian():
    base = series.read_base(ROOT / "BASE")
    assert re.fullmatch(r"6\.12\.\d+-\d+", base.version)
    assert base.linux == base.version.rpartition("-")[0]


@pytest.mark.parametrize("path", series.patches(ROOT / "patches"), ids=lambda path: path.name)
def test_our_patches_are_signed_and_named_in_order(path):
    text = path.read_text()
    assert re.match(r"From 0{40} ", text), "export with --zero-commit: hashes are of no tree"
    assert re.search(r"^Signed-off-by: .+ <.+>$", text, re.MULTILINE)
    numbers = [int(other.name[:4]) for other in series.patches(ROOT / "patches")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_drivers_for_the_stock_kernel_are_in_our_series(tmp_path):
    from rcp.lab.module import FOLDERS

    for folder in FOLDERS.values():
        found = series.extract(ROOT / "patches", folder, tmp_path)
        assert (found / "Makefile").is_file()
        assert (found / "Kconfig").is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.config")), ids=lambda p: p.name)
def test_our_config_says_each_thing_once_and_why(path):
    seen: set[str] = set()
    told = False
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            told = True
        elif not line:
            told = False
        else:
            assert re.fullmatch(r'CONFIG_[A-Z0-9_]+=(y|m|n|\d+|".*")', line), line
            assert told, f"{line}: no reason above its group"
            name = line.partition("=")[0]
            assert name not in seen, f"{line}: twice"
            seen.add(name)
    assert seen


def test_what_could_be_sent_upstream_is_small_and_needs_nothing_of_ours():
    patches = series.patches(ROOT / "upstream")
    assert len(patches) == 5
    added = [
        line[1:]
        for patch in patches
        for line in patch.read_text().splitlines()
        if line.startswith("+") and not line.startswith("+++")
    ]
    assert len(added) <= 250
    assert [line for line in added if re.search(r"rcp", line, re.IGNORECASE)] == []
    assert all("Signed-off-by: " in patch.read_text() for patch in patches)
