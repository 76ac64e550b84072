"""The only door to QEMU: its command line, its output and its end."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rcp.lab.errors import LostVMError, MissingToolError, RunTimeoutError
from rcp.lab.rootfs import NVDIMM_ALIGN_BYTES, Rootfs

QEMU = "qemu-system-x86_64"
# One instruction takes 2**0 ns of virtual time: close to a 1 GHz in-order CPU.
ICOUNT_SHIFT = 0
FIRST_DATE = "2026-01-01T00:00:00"
_POLL_S = 0.1


@dataclass(frozen=True)
class Machine:
    """A machine to start.

    *mode* is timing (one CPU, virtual time) or functional (two CPUs, the host's time). *accel* is
    tcg or kvm. *memory_mb* is in MiB. *seed* seeds the guest's RDRAND in timing mode. *kernel* is
    the kernel's name in result.json: stock, or the cache entry of a built one.
    """

    mode: str
    rootfs: Rootfs
    accel: str = "tcg"
    memory_mb: int = 2048
    seed: int = 1
    kernel: str = "stock"

    @property
    def virtual_time(self) -> bool:
        """Whether the guest's clock counts instructions."""
        return self.mode == "timing" and self.accel == "tcg"

    @property
    def cpus(self) -> int:
        """Return the number of virtual CPUs."""
        # Under icount all CPUs share one host thread, which distorts latencies.
        return 1 if self.mode == "timing" else 2


@dataclass(frozen=True)
class Files:
    """A machine's files on the host: NVDIMMs *input* and *output*, serial logs in folder *out*."""

    input: Path
    output: Path
    out: Path

    @property
    def console(self) -> Path:
        """The log of the kernel's console, with the lab's stage lines."""
        return self.out / "console.log"

    @property
    def stdout(self) -> Path:
        """The standard output of the guest's command."""
        return self.out / "stdout.txt"

    @property
    def stderr(self) -> Path:
        """The standard error of the guest's command."""
        return self.out / "stderr.txt"


def _cpu_options(machine: Machine) -> list[str]:
    options = ["-smp", str(machine.cpus)]
    if machine.accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host", *options]
    if machine.virtual_time:
        # sleep=off skips idle time; the seed makes the guest's random numbers repeat, and every
        # run begins at the same date.
        options += ["-icount", f"shift={ICOUNT_SHIFT},sleep=off"]
        options += ["-rtc", f"base={FIRST_DATE},clock=vm"]
        options += ["-seed", str(machine.seed)]
        return ["-accel", "tcg,thread=single", "-cpu", "max", *options]
    # Without CMPXCHG16B: QEMU before 8.0 leaves wrong EFLAGS behind it, and an interrupt just then
    # kills the guest. The kernel of a CPU without it does without. Not so in virtual time, where it
    # would change each figure; run.py says what is done there.
    return ["-accel", "tcg,thread=multi", "-cpu", "max,-cx16", *options]


def _memory_options(machine: Machine, files: Files) -> list[str]:
    # bootstrap.sh says why NVDIMMs. With share=off writes stay private; output's reach the file.
    modules = (
        ("rcp-root", machine.rootfs.image, "off"),
        ("rcp-in", files.input, "off"),
        ("rcp-out", files.output, "on"),
    )
    # --dry-run has no files yet and shows the smallest size.
    sizes = {
        path: path.stat().st_size if path.exists() else NVDIMM_ALIGN_BYTES for _, path, _ in modules
    }
    total = sum(sizes.values())
    options = ["-machine", "q35,nvdimm=on"]
    # Address space for one more NVDIMM, for alignment.
    options += [
        "-m",
        f"{machine.memory_mb}M,slots={len(modules)},"
        f"maxmem={machine.memory_mb + ((total + NVDIMM_ALIGN_BYTES) >> 20)}M",
    ]
    for name, path, share in modules:
        # In a QEMU option a comma is written as two.
        escaped = str(path).replace(",", ",,")
        size = sizes[path]
        options += [
            "-object",
            f"memory-backend-file,id={name},share={share},mem-path={escaped},size={size}",
            "-device",
            f"nvdimm,memdev={name}",
        ]
    return options


def command(machine: Machine, files: Files, interactive: bool = False) -> list[str]:
    """Return QEMU's argument list; *interactive* puts the console on this terminal."""
    cmdline = [
        # With -no-reboot a panic ends QEMU, and no report means a lost machine.
        "console=ttyS0 loglevel=4 panic=-1 oops=panic",
        # The same addresses in every run, and a second less spent relocating.
        "nokaslr norandmaps",
    ]
    if interactive:
        serial = ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    else:
        serial = []
        for path in (files.console, files.stdout, files.stderr):
            name = path.stem
            escaped = str(path).replace(",", ",,")
            serial += ["-chardev", f"file,id={name},path={escaped}", "-serial", f"chardev:{name}"]
    return [
        QEMU,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        *_memory_options(machine, files),
        *_cpu_options(machine),
        "-kernel",
        str(machine.rootfs.kernel),
        "-initrd",
        str(machine.rootfs.initramfs),
        "-append",
        " ".join(cmdline),
        *serial,
    ]


def require() -> str:
    """Return the path of QEMU; raise MissingToolError if it is not installed."""
    path = shutil.which(QEMU)
    if path is None:
        raise MissingToolError(QEMU, "qemu-system-x86")
    return path


class _Tail:
    """Pass on what was appended to a file since the last poll."""

    def __init__(self, path: Path, sink: Callable[[bytes], None]) -> None:
        self._path, self._sink, self._offset = path, sink, 0

    def poll(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as handle:
            handle.seek(self._offset)
            data = handle.read()
        if data:
            self._offset += len(data)
            self._sink(data)


def _with_parent(argv: Sequence[str]) -> list[str]:
    # QEMU must not go on running if rcp-lab is killed.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=KILL", *argv] if setpriv else list(argv)


def run(
    argv: Sequence[str],
    files: Files,
    timeout_s: float,
    sinks: dict[Path, Callable[[bytes], None]],
) -> None:
    """Run the machine *argv* until it powers off; pass the output of its serial ports to *sinks*.

    Raises RunTimeoutError after *timeout_s* seconds of wall time, LostVMError if QEMU itself fails.
    QEMU's own messages go to qemu.log in the output folder.
    """
    require()
    tails = [_Tail(path, sink) for path, sink in sinks.items()]
    log_path = files.out / "qemu.log"
    with log_path.open("wb") as log:
        # Its own session: Ctrl-C reaches only rcp-lab, which ends QEMU below.
        process = subprocess.Popen(
            _with_parent(argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _watch(process, tails, timeout_s)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for tail in tails:
                tail.poll()
    if process.returncode != 0:
        lines = log_path.read_text(errors="replace").strip().splitlines()
        fault = lines[-1] if lines else f"exit status {process.returncode}"
        raise LostVMError(f"QEMU failed ({fault})")
    log_path.unlink()


def _watch(process: "subprocess.Popen[bytes]", tails: list[_Tail], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while process.poll() is None:
        if time.monotonic() >= deadline:
            raise RunTimeoutError(
                f"the run took longer than {timeout_s:g} s of wall time and was ended: "
                "raise --timeout if the host is only slow"
            )
        for tail in tails:
            tail.poll()
        time.sleep(_POLL_S)


def run_interactive(argv: Sequence[str], timeout_s: float) -> None:
    """Run *argv* on this terminal; raise RunTimeoutError or LostVMError as run() does."""
    require()
    process = subprocess.Popen(_with_parent(argv))
    try:
        if process.wait(timeout=timeout_s) != 0:
            raise LostVMError(f"QEMU failed (exit status {process.returncode})")
    except subprocess.TimeoutExpired:
        raise RunTimeoutError(f"the shell was ended after {timeout_s:g} s of wall time") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def version() -> str:
    """Return the first line of QEMU's own --version."""
    done = subprocess.run([require(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def kvm_usable() -> bool:
    """Whether this user may open /dev/kvm; a guest may still fail to boot on it."""
    return os.access("/dev/kvm", os.R_OK | os.W_OK)
