"""The only door to mmdebstrap: makes trees of Debian, and runs commands inside them."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rcp.lab import cache
from rcp.lab.errors import MissingToolError, RootfsError
from rcp.lab.progress import Progress

SUITE = "trixie"
SMALL = (
    "--variant=minbase",
    "--architectures=amd64",
    # A half-built root is thrown away, so nothing is won by syncing each file to disk.
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
# An ordinary user's tree has no devices and nobody to mount for him but a user namespace.
_IN_NAMESPACE = (
    'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
)


def require() -> None:
    """Raise MissingToolError when mmdebstrap is not installed."""
    if shutil.which("mmdebstrap") is None:
        raise MissingToolError("mmdebstrap", "mmdebstrap")


def bootstrap(
    tree: Path, options: Sequence[str], packages: Sequence[str], progress: Progress
) -> None:
    """Make *tree*, a Debian of SUITE with *packages*; *options* are mmdebstrap's own.

    Raises RootfsError with mmdebstrap's first error; its log is then kept in the cache folder.
    """
    # Root's tree is built in place. An ordinary user gets it from mmdebstrap's user namespace as
    # a tar stream and owns the unpacked files; in the guest everything runs as root anyway.
    as_root = os.geteuid() == 0
    command = ["mmdebstrap", *options, f"--include={','.join(packages)}", SUITE]
    command.append(str(tree) if as_root else "-")
    pipe = [command]
    if not as_root:
        tree.mkdir()
        pipe.append(["tar", "-x", "-C", str(tree), "--no-same-owner", "--exclude=./dev/*"])
    log = tree.parent / "build.log"

    def show(line: str) -> None:
        if line.startswith("I: ") and line.rstrip().endswith("..."):
            progress.stage(f"  {line[3:].rstrip().rstrip('.')}")

    if logged(pipe, log, show) != 0:
        kept = cache.root() / f"{tree.parent.name.lstrip('.').split('-')[0]}-failed.log"
        shutil.copy(log, kept)
        errors = [line for line in kept.read_text().splitlines() if line.startswith("E:")]
        fault = errors[0] if errors else "no error text"
        raise RootfsError(f"mmdebstrap failed ({fault}): see {kept}, then run rcp-lab setup again")


def logged(pipe: Sequence[list[str]], log_path: Path, show: Callable[[str], None]) -> int:
    """Run one command, or a pipe of two; log the first one's stderr and *show* its lines.

    Returns the first exit status that is not 0. Whatever interrupts it ends the commands too.
    """
    first = subprocess.Popen(
        pipe[0],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if len(pipe) > 1 else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    second = None
    try:
        if len(pipe) > 1:
            second = subprocess.Popen(pipe[1], stdin=first.stdout)
        # By lines: somebody who waits for a compiler looks into the log.
        with log_path.open("w", buffering=1) as log:
            for line in first.stderr or ():
                log.write(line)
                show(line)
        codes = [process.wait() for process in (first, second) if process]
    except BaseException:
        # SIGTERM, not SIGKILL: mmdebstrap unmounts and removes what it made.
        os.killpg(first.pid, signal.SIGTERM)
        first.wait()
        raise
    return next((code for code in codes if code), 0)


def inside(tree: Path, script: str, *args: str) -> list[str]:
    """Return the command that runs shell *script* with *args* inside *tree*, as its root.

    Root gets a plain chroot, since a container may forbid mounting; /proc is empty then.
    """
    shell = ["/usr/bin/env", "-i", f"PATH={_PATH}", "HOME=/root", "LC_ALL=C"]
    # What a compiler or make prints goes to one place, in order.
    shell += ["/bin/sh", "-euc", f"exec >&2\n{script}", "sh", *args]
    if os.geteuid() == 0:
        return ["chroot", str(tree), *shell]
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*namespace, "/bin/sh", "-c", _IN_NAMESPACE, str(tree), *shell]
