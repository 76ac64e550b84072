"""One run of a guest: input disk, machine, artefacts, result.json."""

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rcp.lab import payload, vm
from rcp.lab.errors import LabError, LostVMError, OutputDirError, RunTimeoutError
from rcp.lab.progress import Progress
from rcp.lab.rootfs import nvdimm_bytes

_STAGE = re.compile(rb"rcp-lab: stage (\w+) ([0-9.]+)")
_CONSOLE_LINES_SHOWN = 8
_OOPS = "Oops: "
# QEMU before 8.1 may run a breakpoint that another virtual CPU has already taken out of the code,
# because it translated the code while that CPU wrote it. The kernel then finds no reason for the
# breakpoint and dies. Each change of a static key is a chance for it: seen in up to 1 boot of 2.
_STALE_BREAKPOINT = "int3: 0000"
# QEMU before 8.0 computes the flags after CMPXCHG16B from what an earlier instruction left. The
# kernel's allocator uses it; after an interrupt just then, the CPU goes on with flags such as VM.
# Bits 3, 5, 15 and from 22 on are 0 in every CPU.
_EFLAGS = re.compile(r"\bEFLAGS: ([0-9a-f]+)")
_NEVER_SET = ~0x3FFFFF | 1 << 3 | 1 << 5 | 1 << 15
_ATTEMPTS = 5


@dataclass(frozen=True)
class Request:
    """One run: *name* is for messages, *timeout_s* is wall time, *output_mb* is in MiB."""

    name: str
    job: payload.Job
    machine: vm.Machine
    out: Path
    timeout_s: float
    output_mb: int


def prepare_out(out: Path) -> None:
    """Make the empty folder *out*; delete the results of an earlier run in it.

    Raises OutputDirError if it contains anything else.
    """
    if out.is_dir() and any(out.iterdir()):
        if not (out / "result.json").is_file():
            raise OutputDirError(
                f"{out} is not empty and not from an earlier run: pass another folder with --out"
            )
        shutil.rmtree(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputDirError(f"{out}: {error.strerror}: pass another folder with --out") from error


def default_out(name: str) -> Path:
    """Return build/lab/NAME-TIME below the working folder, which does not exist yet."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    base = Path("build") / "lab" / f"{name}-{stamp}"
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


@contextmanager
def disks(request: Request) -> Iterator[vm.Files]:
    """Yield the machine's files: the written input disk and an empty output disk."""
    with tempfile.TemporaryDirectory(prefix="rcp-lab-") as scratch:
        files = vm.Files(
            input=Path(scratch) / "input.tar",
            output=Path(scratch) / "output.img",
            out=request.out.resolve(),
        )
        payload.write_input(files.input, request.job)
        for path, wanted in (
            (files.input, files.input.stat().st_size),
            (files.output, request.output_mb << 20),
        ):
            with path.open("ab") as disk:
                disk.truncate(nvdimm_bytes(wanted))
        yield files


class _Stages:
    """Report the stage lines of the console as progress."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._texts = {
            b"up": "guest up",
            b"running": f"running {name}",
            b"finished": f"{name} finished",
        }
        self._progress = progress
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            match = _STAGE.search(line)
            if match and match[1] in self._texts:
                guest_s = match[2].decode()
                self._progress.stage(f"{self._texts[match[1]]} (guest clock {guest_s} s)")


def _to_stream(stream_name: str) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        # Looked up at each call, so that a redirected stream is used.
        stream = getattr(sys, stream_name)
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()

    return write


def execute(request: Request, progress: Progress) -> payload.GuestReport:
    """Run *request*, write artefacts, logs and result.json to its folder, return the report.

    Raises RunTimeoutError or LostVMError with the end of the console; result.json then has the
    error and no exit status.
    """
    facts = _facts(request)
    begin = time.monotonic()
    try:
        report = _boot_until_sound(request, progress, facts)
    except LabError as error:
        outcome = "timeout" if isinstance(error, RunTimeoutError) else "lost"
        facts |= {"outcome": outcome, "error": str(error), "exit_status": None}
        raise
    else:
        facts |= {
            "outcome": "exited",
            "exit_status": report.exit_status,
            "kernel": report.kernel,
            "guest_command_s": round(report.command_end_s - report.command_start_s, 3),
            "guest_uptime_s": report.command_end_s,
        }
    finally:
        facts["wall_s"] = round(time.monotonic() - begin, 3)
        (request.out / "result.json").write_text(json.dumps(facts, indent=2) + "\n")
    return report


def _boot_until_sound(
    request: Request, progress: Progress, facts: dict[str, object]
) -> payload.GuestReport:
    """Boot; boot again after a fault of the emulator; count these in *facts*."""
    for faults in range(_ATTEMPTS):
        # In virtual time it would die of the same again, unless it is dealt other interleavings.
        shift = request.job.shift + (faults if request.machine.virtual_time else 0)
        attempt = replace(request, job=replace(request.job, shift=shift))
        facts |= {"emulator_faults": faults, "shift": shift}
        with disks(attempt) as files:
            try:
                return _boot(attempt, files, progress)
            except LostVMError:
                fault = _emulators_fault(attempt.machine, files.console)
                if not fault or faults + 1 == _ATTEMPTS:
                    raise
                progress.stage(f"{fault}: booting again")
    raise AssertionError("the last attempt returns or raises")


def _emulators_fault(machine: vm.Machine, console: Path) -> str:
    """Return what QEMU did wrong if the guest died of that; "" if of what ran in it."""
    if machine.accel != "tcg" or not console.exists():
        return ""
    first = console.read_text(errors="replace").partition(_OOPS)[2]
    flags = _EFLAGS.search(first)
    if flags and int(flags[1], 16) & _NEVER_SET:
        return f"QEMU set flags that no CPU has ({flags[1]})"
    if machine.cpus > 1 and first.startswith(_STALE_BREAKPOINT):
        return "QEMU ran a breakpoint that was no longer there"
    return ""


def _facts(request: Request) -> dict[str, object]:
    machine = request.machine
    clock = (
        f"virtual: one instruction is 2^{vm.ICOUNT_SHIFT} ns, idle time is skipped; "
        "not the speed of any hardware"
        if machine.virtual_time
        else "the host's: includes the host's noise, no latency here is a measurement"
        if machine.accel == "tcg"
        else "the host's"
    )
    return {
        "scenario": request.name,
        "command": request.job.command,
        "mode": machine.mode,
        "outcome": "interrupted",
        "exit_status": None,
        "accel": machine.accel,
        "virtual_time": machine.virtual_time,
        "icount_shift": vm.ICOUNT_SHIFT if machine.virtual_time else None,
        "clock": clock,
        "cpus": machine.cpus,
        "memory_mb": machine.memory_mb,
        "qemu": vm.version(),
        "kernel": machine.rootfs.release,
        "kernel_build": machine.kernel,
        "rootfs": machine.rootfs.key,
        "wheel": request.job.wheel.name,
        "shift": request.job.shift,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _boot(request: Request, files: vm.Files, progress: Progress) -> payload.GuestReport:
    progress.stage(f"booting ({request.machine.mode} mode, {request.machine.accel})")
    sinks = {
        files.console: _Stages(request.name, progress).feed,
        files.stdout: _to_stream("stdout"),
        files.stderr: _to_stream("stderr"),
    }
    try:
        vm.run(vm.command(request.machine, files), files, request.timeout_s, sinks)
        return payload.read_output(files.output, request.out)
    except LostVMError as error:
        raise type(error)(f"{error}; {_console_end(files.console)}") from error
    except RunTimeoutError as error:
        raise RunTimeoutError(f"{error}; {_console_end(files.console)}") from error


def _console_end(console: Path) -> str:
    text = console.read_text(errors="replace") if console.exists() else ""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    shown = "".join(f"\n  | {line}" for line in lines[-_CONSOLE_LINES_SHOWN:])
    return f"the console is in {console}" + (f", its last lines:{shown}" if shown else " (empty)")
