"""Files that are replaced whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from rcp.probes.contract.atomic import atomic_replace


@pytest.mark.parametrize("sync", [False, True])
def test_the_new_content_replaces_the_old(tmp_path: Path, sync: bool) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with atomic_replace(target, sync=sync) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == tmp_path
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_an_exception_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_replace(target) as temporary:
        temporary.write_text("half of the n")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_replace(target):
        pass
    assert target.read_text() == "old"


def test_a_missing_folder_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError), atomic_replace(target) as temporary:
        temporary.write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_where_the_folder_does_not_let_it_the_users_file_is_named(tmp_path: Path) -> None:
    """A file in place of the folder: neither the temporary nor its removal can work."""
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "target"
    with pytest.raises(NotADirectoryError) as error, atomic_replace(target) as temporary:
        temporary.write_text("new")
    assert error.value.filename == str(target)


def test_a_write_that_fails_names_the_users_file(tmp_path: Path, small_files: None) -> None:
    target = tmp_path / "target"
    with pytest.raises(OSError) as error, atomic_replace(target) as temporary:
        temporary.write_bytes(bytes(2000))
    assert (error.value.filename, error.value.strerror) == (str(target), "File too large")
    assert list(tmp_path.iterdir()) == []


def test_a_librarys_words_for_a_full_disk_are_the_systems(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with pytest.raises(OSError) as error, atomic_replace(target):
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space…")
    told = error.value
    assert (told.filename, told.strerror) == (str(target), "No space left on device")


def test_another_error_without_a_file_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(OSError) as error, atomic_replace(tmp_path / "target"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert error.value.filename is None
