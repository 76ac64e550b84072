"""A guest that dies of a fault of the emulator is booted again; one that dies of its own is not."""

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from rcp.fixtures.processes import HANG_S
from rcp.lab import payload, rootfs, run, vm
from rcp.lab.errors import LostVMError
from rcp.lab.progress import Progress

STALE = "[   34.0] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"
OWN = "[   34.0] Oops: general protection fault: 0000 [#1] SMP\n" + STALE
# As QEMU 7.2 left them after CMPXCHG16B; then those of the program that it interrupted.
DOUBLE_FAULT = """
[  124.0] Oops: double fault: 0000 [#1] PREEMPT SMP NOPTI
[  124.0] RIP: 0010:kmem_cache_alloc_noprof+0xc1/0x2f0
[  124.0] RSP: 0018:ffa0000000104b00 EFLAGS: {first}
[  124.0] RIP: 0033:0x7ffff7d193a7
[  124.0] RSP: 002b:00007fffffffe3c0 EFLAGS: {second}
"""
IMPOSSIBLE, POSSIBLE = "221f8e42", "00250ed7"  # the latter: every flag that a program can have
FLAGS = DOUBLE_FAULT.format(first=IMPOSSIBLE, second=POSSIBLE)


def boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, console: str, mode: str
) -> tuple[int, dict[str, object]]:
    """Run a QEMU that dies with this on its console; return how often, and result.json."""
    out, count = tmp_path / "out", tmp_path / "count"
    script = tmp_path / "bin" / vm.QEMU
    script.parent.mkdir()
    console_path = out / "console.log"
    body = (
        "import sys\n"
        "if '--version' in sys.argv: sys.exit()\n"
        f"open({str(count)!r}, 'a').write('x')\nopen({str(console_path)!r}, 'w').write({console!r})"
    )
    script.write_text(f"#!{sys.executable}\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    image, wheel = tmp_path / "rootfs.img", tmp_path / "rcp.whl"
    with image.open("wb") as handle:
        handle.truncate(128 << 20)
    zipfile.ZipFile(wheel, "w").close()
    root = rootfs.Rootfs(image, tmp_path / "vmlinuz", tmp_path / "initramfs", "6.12.1", "rootfs-0")
    run.prepare_out(out)
    machine = vm.Machine(mode, root)
    request = run.Request("toy", payload.Job("true", wheel, shift=7), machine, out, HANG_S, 128)
    count.touch()
    with pytest.raises(LostVMError):
        run.execute(request, Progress(quiet=True))
    return len(count.read_text()), json.loads((out / "result.json").read_text())


def test_a_stale_breakpoint_of_qemus_threads_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_boots, result = boots(tmp_path, monkeypatch, STALE, "functional")
    assert (n_boots, result["emulator_faults"], result["outcome"]) == (5, 4, "lost")


@pytest.mark.parametrize(("mode", "shift"), [("functional", 7), ("timing", 11)])
def test_flags_that_no_cpu_has_are_tried_again_in_virtual_time_under_another_shift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, shift: int
) -> None:
    n_boots, result = boots(tmp_path, monkeypatch, FLAGS, mode)
    assert (n_boots, result["emulator_faults"], result["shift"]) == (5, 4, shift)


@pytest.mark.parametrize(
    ("console", "mode"),
    [
        (STALE, "timing"),
        (OWN, "functional"),
        (FLAGS.replace("Oops: ", ""), "functional"),
        (DOUBLE_FAULT.format(first=POSSIBLE, second=IMPOSSIBLE), "functional"),
    ],
)
def test_what_died_of_its_own_is_lost_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, console: str, mode: str
) -> None:
    n_boots, result = boots(tmp_path, monkeypatch, console, mode)
    assert (n_boots, result["outcome"]) == (1, "lost")
