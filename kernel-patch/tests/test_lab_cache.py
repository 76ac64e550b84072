import subprocess
import sys
from pathlib import Path

import pytest

from rcp.fixtures.processes import comes_true
from rcp.lab import cache, rootfs, sources, wheel
from rcp.lab.errors import CheckoutError, LabError

ROOT = Path(__file__).parents[2]


def _touch(folder: Path) -> None:
    (folder / "file").write_text("x" * 5000)


def test_key_changes_with_every_name_and_content():
    keys = {
        cache.key({"a": b"1"}),
        cache.key({"a": b"2"}),
        cache.key({"b": b"1"}),
        cache.key({"a": b"1", "b": b""}),
        cache.key({"a": b"1b0", "": b""}),
    }
    assert len(keys) == 5
    assert cache.key({"a": b"1", "b": b"2"}) == cache.key({"b": b"2", "a": b"1"})


@pytest.mark.parametrize("name", ["packages.txt", "bootstrap.sh", "customize.sh"])
def test_rootfs_is_keyed_by_each_guest_file_baked_in(name, monkeypatch):
    before = rootfs.cache_name(ROOT)
    real = rootfs.guest_file
    extra = b"\nstrace\n"
    monkeypatch.setattr(rootfs, "guest_file", lambda n: real(n) + (extra if n == name else b""))
    assert rootfs.cache_name(ROOT) != before


def test_rootfs_is_keyed_by_the_kernel_that_base_names(tmp_path):
    folder = tmp_path / "kernel-patch"
    folder.mkdir()
    names = set()
    for version in ("6.12.117-1", "6.12.117-2", "6.12.118-1"):
        (folder / "BASE").write_text(f"version {version}\nsha256 {'a' * 64}\n")
        names.add(rootfs.cache_name(tmp_path))
    assert len(names) == 2  # the guest's package is named by the version of Linux


def test_rootfs_with_the_newest_kernel_does_not_depend_on_base(tmp_path):
    folder = tmp_path / "kernel-patch"
    folder.mkdir()
    names = set()
    for version in ("6.12.117-1", "6.12.118-1"):
        (folder / "BASE").write_text(f"version {version}\nsha256 {'a' * 64}\n")
        names.add(rootfs.cache_name(tmp_path, newest=True))
        assert rootfs.cache_name(tmp_path) not in names
    assert len(names) == 1


def test_rootfs_key_ignores_init_which_travels_with_each_run(monkeypatch):
    before = rootfs.cache_name(ROOT)
    real = rootfs.guest_file
    monkeypatch.setattr(rootfs, "guest_file", lambda n: b"" if n == "init.sh" else real(n))
    assert rootfs.cache_name(ROOT) == before


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("RCP_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "own" / "lab"
    monkeypatch.delenv("RCP_CACHE")
    assert cache.root() == tmp_path / "xdg" / "rcp" / "lab"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.root() == tmp_path / ".cache" / "rcp" / "lab"


def test_entry_is_built_once(cache_dir):
    calls = []
    for _ in range(2):
        entry = cache.build_once("thing-1", lambda folder: (calls.append(1), _touch(folder))[1])
    assert entry == cache_dir / "thing-1"
    assert (entry / "file").exists()
    assert len(calls) == 1


def test_entry_wanted_anew_takes_the_place_of_the_old_one(cache_dir):
    entry = cache.build_once("thing-1", _touch)
    (entry / "old").touch()
    cache.build_once("thing-1", _touch, anew=True)
    assert [path.name for path in entry.iterdir()] == ["file"]
    assert sorted(path.name for path in cache_dir.iterdir()) == ["thing-1", "thing-1.lock"]


def test_entry_stays_when_it_can_not_be_built_anew(cache_dir):
    def fail(folder: Path) -> None:
        raise RuntimeError("no")

    entry = cache.build_once("thing-1", _touch)
    with pytest.raises(RuntimeError):
        cache.build_once("thing-1", fail, anew=True)
    assert (entry / "file").exists()


def test_failed_build_leaves_nothing_behind(cache_dir):
    def fail(folder: Path) -> None:
        _touch(folder)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.build_once("thing-1", fail)
    assert [path.name for path in cache_dir.iterdir()] == ["thing-1.lock"]


def test_full_disk_is_a_user_error_with_the_remedy(cache_dir):
    def fill(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(LabError, match=r"No space left on device: free some space or set RCP_CAC"):
        cache.build_once("thing-1", fill)


def test_second_builder_waits_for_the_first(cache_dir, tmp_path):
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    script = (
        "import pathlib, time\n"
        "from rcp.lab import cache\n"
        "def build(folder):\n"
        f"    pathlib.Path({str(started)!r}).touch()\n"
        f"    while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)\n"
        "    (folder / 'file').write_text('first')\n"
        "cache.build_once('thing-1', build)\n"
    )
    first = subprocess.Popen([sys.executable, "-c", script])
    assert comes_true(started.exists)
    # Being built by somebody else: clean must not touch it.
    assert cache.remove(frozenset()) == []
    waited = []

    def waiting() -> None:
        waited.append(1)
        go_on.touch()

    entry = cache.build_once("thing-1", _touch, waiting)
    assert first.wait() == 0
    assert waited == [1]
    assert (entry / "file").read_text() == "first"


def test_remove_keeps_what_is_named_and_counts_bytes(cache_dir):
    for name in ("old-1", "new-2"):
        cache.build_once(name, _touch)
    (cache_dir / ".old-3.abc.tmp").mkdir()
    freed = dict(cache.remove(frozenset({"new-2"})))
    assert freed["old-1"] >= 5000
    assert ".old-3.abc.tmp" in freed
    assert sorted(path.name for path in cache_dir.iterdir()) == ["new-2", "new-2.lock"]


def _checkout(root: Path) -> Path:
    (root / "tool" / "tests").mkdir(parents=True)
    (root / "setup.cfg").write_text(
        "[metadata]\nname = rcp-trace\n[options]\npackage_dir =\n    rcp.tool = tool\n"
    )
    (root / "tool" / "__init__.py").write_text("")
    (root / "tool" / "tests" / "test_x.py").write_text("")
    return root


def test_wheel_is_keyed_by_sources_but_not_by_tests(tmp_path):
    root = _checkout(tmp_path)
    first = wheel.cache_name(root)
    (root / "tool" / "tests" / "test_x.py").write_text("changed")
    assert wheel.cache_name(root) == first
    (root / "tool" / "new.sql").write_text("select 1")
    assert wheel.cache_name(root) != first


def test_checkout_is_found_from_inside_and_refused_elsewhere(tmp_path, monkeypatch):
    root = _checkout(tmp_path / "tree")
    assert sources.find_checkout(root / "tool" / "tests") == root
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "a" / "b" / "c" / "wheel.py"))
    with pytest.raises(CheckoutError, match=r"pass --checkout DIR"):
        sources.find_checkout(tmp_path)
