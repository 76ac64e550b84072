import itertools
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rcp.fixtures.processes import HANG_S
from rcp.lab import rootfs, vm
from rcp.lab.errors import LostVMError, MissingToolError, RunTimeoutError


@pytest.fixture
def root(tmp_path: Path) -> rootfs.Rootfs:
    image = tmp_path / "rootfs.img"
    with image.open("wb") as handle:
        handle.truncate(256 << 20)
    return rootfs.Rootfs(image, tmp_path / "vmlinuz", tmp_path / "initramfs", "6.12.1", "rootfs-0")


@pytest.fixture
def files(tmp_path: Path) -> vm.Files:
    (tmp_path / "out").mkdir()
    for name in ("in,put", "output"):
        with (tmp_path / name).open("wb") as handle:
            handle.truncate(128 << 20)
    return vm.Files(tmp_path / "in,put", tmp_path / "output", tmp_path / "out")


def _fake_qemu(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "bin" / vm.QEMU
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")


def _pairs(argv: list[str], option: str) -> list[str]:
    return [argv[i + 1] for i, word in enumerate(argv) if word == option]


def test_timing_mode_counts_instructions_on_one_cpu(root, files):
    argv = vm.command(vm.Machine("timing", root), files)
    assert _pairs(argv, "-accel") == ["tcg,thread=single"]
    assert _pairs(argv, "-icount") == ["shift=0,sleep=off"]
    assert _pairs(argv, "-smp") == ["1"]


def test_functional_mode_has_two_cpus_and_the_hosts_clock(root, files):
    machine = vm.Machine("functional", root)
    argv = vm.command(machine, files)
    assert _pairs(argv, "-accel") == ["tcg,thread=multi"]
    assert _pairs(argv, "-cpu") == ["max,-cx16"]
    assert _pairs(argv, "-smp") == ["2"]
    assert "-icount" not in argv
    assert not machine.virtual_time


def test_kvm_never_claims_virtual_time(root, files):
    machine = vm.Machine("timing", root, accel="kvm")
    assert not machine.virtual_time
    assert "-icount" not in vm.command(machine, files)


def test_machine_has_no_network_no_reboot_and_ends_on_panic(root, files):
    argv = vm.command(vm.Machine("timing", root), files)
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} <= set(argv)
    assert not {"-net", "-netdev", "-nic"} & set(argv)
    devices = _pairs(argv, "-device")
    assert [device.split(",")[0] for device in devices] == ["nvdimm"] * 3
    (cmdline,) = _pairs(argv, "-append")
    assert "panic=-1" in cmdline
    assert _pairs(argv, "-initrd") == [str(root.initramfs)]


def test_only_the_output_is_written_to_and_commas_stay_whole(root, files):
    of_root, of_input, of_output = _pairs(vm.command(vm.Machine("timing", root), files), "-object")
    assert "share=off" in of_root
    assert "share=off" in of_input
    assert "in,,put" in of_input
    assert "share=on" in of_output


def test_machine_has_no_disk_of_the_host_to_wait_for(root, files):
    assert "-drive" not in vm.command(vm.Machine("timing", root), files)


@pytest.mark.parametrize(
    ("wanted", "size"),
    [(0, 128 << 20), (1, 128 << 20), (128 << 20, 128 << 20), ((128 << 20) + 1, 256 << 20)],
)
def test_nvdimms_are_whole_multiples_of_128_mib(wanted, size):
    assert rootfs.nvdimm_bytes(wanted) == size


def test_image_is_ext4_of_a_size_an_nvdimm_may_have(tmp_path):
    if shutil.which("mke2fs") is None:
        pytest.skip("mke2fs is not installed: run `make setup`")
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    (tree / "etc" / "hostname").write_text("rcp-lab\n")
    rootfs.make_image(tree, tmp_path / "disk")
    disk = (tmp_path / "disk").read_bytes()
    assert len(disk) % (128 << 20) == 0
    # The ext4 superblock's magic.
    assert disk[1080:1082] == b"\x53\xef"


def test_missing_qemu_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="install package qemu-system-x86 "):
        vm.require()


def test_what_the_machine_says_is_passed_on_while_it_runs(root, files, tmp_path, monkeypatch):
    heard_one = tmp_path / "heard"
    body = (
        f"path, heard = {str(files.stdout)!r}, {str(heard_one)!r}\n"
        "open(path, 'a').write('one\\n')\n"
        "while not os.path.exists(heard): time.sleep(0.01)\n"
        "open(path, 'a').write('two\\n')"
    )
    _fake_qemu(tmp_path, body, monkeypatch)
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        heard.append(data)
        heard_one.touch()

    vm.run(vm.command(vm.Machine("timing", root), files), files, HANG_S, {files.stdout: hear})
    assert heard == [b"one\n", b"two\n"]


def test_run_past_its_limit_is_killed(root, files, tmp_path, monkeypatch):
    pid_file = tmp_path / "pid"
    body = f"open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    _fake_qemu(tmp_path, body, monkeypatch)

    looks = itertools.count()

    def now_s() -> float:  # begins at 0, and stands still until the machine is there
        is_first = next(looks) == 0
        return 2.0 if not is_first and pid_file.exists() and pid_file.read_text() else 0.0

    monkeypatch.setattr(vm, "time", SimpleNamespace(monotonic=now_s, sleep=time.sleep))
    with pytest.raises(RunTimeoutError, match=r"longer than 1\.5 s of wall time") as caught:
        vm.run(vm.command(vm.Machine("timing", root), files), files, 1.5, {})
    assert caught.value.exit_status == 124
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_qemu_is_killed_when_the_run_is_interrupted(root, files, tmp_path, monkeypatch):
    pid_file = tmp_path / "pid"
    body = (
        f"open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
        f"open({str(files.stdout)!r}, 'w').write('up')\ntime.sleep(600)"
    )
    _fake_qemu(tmp_path, body, monkeypatch)

    def interrupt(data: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        argv = vm.command(vm.Machine("timing", root), files)
        vm.run(argv, files, HANG_S, {files.stdout: interrupt})
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_qemus_own_failure_is_a_lost_machine_with_its_words(root, files, tmp_path, monkeypatch):
    _fake_qemu(tmp_path, "sys.exit('cannot set up guest memory')", monkeypatch)
    with pytest.raises(LostVMError, match="QEMU failed \\(cannot set up guest memory\\)"):
        vm.run(vm.command(vm.Machine("timing", root), files), files, HANG_S, {})
