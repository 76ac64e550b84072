"""The guest's root disk: Debian by mmdebstrap, its stock kernel, one image file."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rcp.lab import cache
from rcp.lab.errors import MissingToolError, RootfsError
from rcp.lab.progress import Progress

SUITE = "trixie"
# An NVDIMM's size must be a multiple of the 128 MiB that Linux plugs memory in.
NVDIMM_ALIGN_BYTES = 128 << 20

_TYPICAL_S = 90
_MIB = 1 << 20
_MMDEBSTRAP_OPTIONS = (
    "--variant=minbase",
    "--architectures=amd64",
    # A half-built root is thrown away, so nothing is won by syncing each file to disk.
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
)
# Fixed, so that two builds of one tree place files alike and virtual times stay comparable.
_FS_UUID = "72637000-6c61-4062-8000-000000000001"


@dataclass(frozen=True)
class Rootfs:
    """A finished root: disk *image*, *kernel* and *initramfs* to boot, *release*, cache *key*."""

    image: Path
    kernel: Path
    initramfs: Path
    release: str
    key: str


def guest_file(name: str) -> bytes:
    """Return the contents of a file shipped in the package's guest folder."""
    return resources.files("rcp.lab").joinpath("guest", name).read_bytes()


def packages() -> list[str]:
    """Return the Debian packages listed in guest/packages.txt."""
    lines = guest_file("packages.txt").decode().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def cache_name() -> str:
    """Return the name of the cache entry for the present inputs."""
    parts = {
        "suite": SUITE.encode(),
        "packages": " ".join(sorted(packages())).encode(),
        "options": " ".join(_MMDEBSTRAP_OPTIONS).encode(),
        "bootstrap": guest_file("bootstrap.sh"),
        "customize": guest_file("customize.sh"),
        "image": f"{_FS_UUID} {NVDIMM_ALIGN_BYTES}".encode(),
    }
    return f"rootfs-{cache.key(parts)}"


def ensure(progress: Progress) -> Rootfs:
    """Return the root disk, building it when the cache has none for these inputs.

    Raises MissingToolError without mmdebstrap or mke2fs, RootfsError when the build fails.
    """
    name = cache_name()
    if cache.find(name) is None:
        for program, package in (("mmdebstrap", "mmdebstrap"), ("mke2fs", "e2fsprogs")):
            if shutil.which(program) is None:
                raise MissingToolError(program, package)
        progress.stage(
            f"building the guest (Debian {SUITE}, {len(packages())} packages and a stock kernel), "
            f"usually {_TYPICAL_S} s, kept in {cache.root()}"
        )
    entry = cache.build_once(
        name,
        lambda folder: _build(folder, progress),
        lambda: progress.stage("another rcp-lab is building the guest; waiting for it"),
    )
    return Rootfs(
        image=entry / "rootfs.img",
        kernel=entry / "vmlinuz",
        initramfs=entry / "initramfs.img",
        release=(entry / "release").read_text().strip(),
        key=name,
    )


def _build(folder: Path, progress: Progress) -> None:
    tree = folder / "tree"
    _bootstrap(folder, tree, progress)
    kernels = sorted((tree / "boot").glob("vmlinuz-*"))
    if len(kernels) != 1:
        raise RootfsError(f"guest root: expected one kernel in /boot, found {len(kernels)}")
    release = kernels[0].name.removeprefix("vmlinuz-")
    shutil.copy(kernels[0], folder / "vmlinuz")
    shutil.copy(tree / "boot" / "initramfs.img", folder / "initramfs.img")
    shutil.copy(tree / "boot" / f"config-{release}", folder / "config")
    (folder / "release").write_text(f"{release}\n")
    progress.stage("writing the root disk")
    make_image(tree, folder / "rootfs.img")
    shutil.rmtree(tree)
    progress.stage(f"guest ready: Debian {SUITE}, kernel {release}")


def _mmdebstrap_command(folder: Path, target: str) -> list[str]:
    bootstrap = folder / "bootstrap.sh"
    bootstrap.write_bytes(guest_file("bootstrap.sh"))
    return [
        "mmdebstrap",
        *_MMDEBSTRAP_OPTIONS,
        f"--include={','.join(packages())}",
        f"--customize-hook=upload {bootstrap} /usr/sbin/rcp-bootstrap",
        # As text: in unshare mode the hook runs as a user who may not read this checkout.
        f"--customize-hook={guest_file('customize.sh').decode()}",
        SUITE,
        target,
    ]


def _bootstrap(folder: Path, tree: Path, progress: Progress) -> None:
    # Root's tree is built in place. An ordinary user gets it from mmdebstrap's user namespace as
    # a tar stream and owns the unpacked files; in the guest everything runs as root anyway.
    as_root = os.geteuid() == 0
    command = _mmdebstrap_command(folder, str(tree) if as_root else "-")
    with (folder / "build.log").open("w") as log:
        if as_root:
            code = _logged([command], log.name, progress)
        else:
            tree.mkdir()
            unpack = ["tar", "-x", "-C", str(tree), "--no-same-owner", "--exclude=./dev/*"]
            code = _logged([command, unpack], log.name, progress)
    if code != 0:
        kept = cache.root() / "rootfs-failed.log"
        shutil.copy(folder / "build.log", kept)
        errors = [line for line in kept.read_text().splitlines() if line.startswith("E:")]
        fault = errors[0] if errors else "no error text"
        raise RootfsError(f"mmdebstrap failed ({fault}): see {kept}, then run rcp-lab setup again")


def _logged(commands: Sequence[list[str]], log_path: str, progress: Progress) -> int:
    # Run one command, or a pipe of two, showing the first one's "I:" lines as stages.
    first = subprocess.Popen(
        commands[0],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if len(commands) > 1 else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    second = None
    try:
        if len(commands) > 1:
            second = subprocess.Popen(commands[1], stdin=first.stdout)
        with Path(log_path).open("w") as log:
            for line in first.stderr or ():
                log.write(line)
                if line.startswith("I: ") and line.rstrip().endswith("..."):
                    progress.stage(f"  {line[3:].rstrip().rstrip('.')}")
        codes = [process.wait() for process in (first, second) if process]
    except BaseException:
        # SIGTERM, not SIGKILL: mmdebstrap unmounts and removes what it made.
        os.killpg(first.pid, signal.SIGTERM)
        first.wait()
        raise
    return next((code for code in codes if code), 0)


def nvdimm_bytes(wanted_bytes: int) -> int:
    """Return the smallest size of an NVDIMM that holds *wanted_bytes*."""
    return max(1, -(-wanted_bytes // NVDIMM_ALIGN_BYTES)) * NVDIMM_ALIGN_BYTES


def make_image(tree: Path, image: Path) -> None:
    """Write *tree* as an ext4 file system filling *image*, of a size an NVDIMM may have.

    Raises RootfsError with mke2fs's own words when it fails.
    """
    used, files = 0, 0
    for path in tree.rglob("*"):
        files += 1
        used += -(-path.lstat().st_size // 4096) * 4096
    # Inode tables, bitmaps and indirect blocks take well below a tenth of this tree.
    size = nvdimm_bytes(used + used // 10 + 32 * _MIB)
    # No journal: the guest mounts it read-only.
    command = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-b", "4096"]
    command += ["-N", str(files + files // 8 + 1024), "-U", _FS_UUID]
    options = f"root_owner=0:0,hash_seed={_FS_UUID}"
    command += ["-E", options, "-d", str(tree), str(image), f"{size // 1024}k"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RootfsError(f"mke2fs failed: {done.stderr.strip()}")
