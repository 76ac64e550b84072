"""The only door to mmdebstrap: build Debian trees and run commands inside them."""

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
    # A half-built root is deleted, so syncing each file to disk gains nothing.
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
# Without root a tree has no devices, and only a user namespace allows mounting them.
_IN_NAMESPACE = (
    'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'
)


def require() -> None:
    """Raise MissingToolError if mmdebstrap is not installed."""
    if shutil.which("mmdebstrap") is None:
        raise MissingToolError("mmdebstrap", "mmdebstrap")


def bootstrap(
    tree: Path, options: Sequence[str], packages: Sequence[str], progress: Progress
) -> None:
    """Build *tree*: Debian SUITE with *packages*; *options* are mmdebstrap's.

    Raises RootfsError with mmdebstrap's first error; its log is then copied to the cache folder.
    """
    # As root, the tree is built in place. Otherwise it comes from mmdebstrap's user namespace as a
    # tar stream and the user owns the files; in the guest everything runs as root anyway.
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
        log_copy = cache.root() / f"{tree.parent.name.lstrip('.').split('-')[0]}-failed.log"
        shutil.copy(log, log_copy)
        errors = [line for line in log_copy.read_text().splitlines() if line.startswith("E:")]
        fault = errors[0] if errors else "no error text"
        raise RootfsError(
            f"mmdebstrap failed ({fault}): see {log_copy}, then run rcp-lab setup again"
        )


def logged(pipe: Sequence[list[str]], log_path: Path, show: Callable[[str], None]) -> int:
    """Run a command or a pipe of two; log the first one's stderr and pass its lines to *show*.

    Return the first exit status that is not 0, else 0. An exception ends the commands too.
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
        # Line buffered: users follow the log of a long build.
        with log_path.open("w", buffering=1) as log:
            for line in first.stderr or ():
                log.write(line)
                show(line)
        codes = [process.wait() for process in (first, second) if process]
    except BaseException:
        # SIGTERM, not SIGKILL: mmdebstrap then unmounts and removes its files.
        os.killpg(first.pid, signal.SIGTERM)
        first.wait()
        raise
    return next((code for code in codes if code), 0)


def inside(tree: Path, script: str, *args: str) -> list[str]:
    """Return the command that runs shell *script* with *args* inside *tree*, as its root user.

    For root it is a plain chroot, since a container may forbid mounting; /proc is then empty.
    """
    shell = ["/usr/bin/env", "-i", f"PATH={_PATH}", "HOME=/root", "LC_ALL=C"]
    # stdout goes to stderr too, so that the log has the output of make and compilers in order.
    shell += ["/bin/sh", "-euc", f"exec >&2\n{script}", "sh", *args]
    if os.geteuid() == 0:
        return ["chroot", str(tree), *shell]
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*namespace, "/bin/sh", "-c", _IN_NAMESPACE, str(tree), *shell]
