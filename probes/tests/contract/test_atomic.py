"""Files that are replaced whole or not at all."""

from __future__ import annotations

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
