"""The guest's root disk: an image of Debian with its stock kernel."""

import shutil
import subprocess
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rcp.lab import cache, debian
from rcp.lab.errors import MissingToolError, RootfsError
from rcp.lab.progress import Progress

# An NVDIMM's size must be a multiple of 128 MiB, Linux' unit of memory hotplug.
NVDIMM_ALIGN_BYTES = 128 << 20

_TYPICAL_S = 90
_MIB = 1 << 20
_MMDEBSTRAP_OPTIONS = debian.SMALL
# Fixed, so that two builds of a tree have the same layout and virtual times stay comparable.
_FS_UUID = "72637000-6c61-4062-8000-000000000001"


@dataclass(frozen=True)
class Rootfs:
    """A root disk: its *image*, *kernel* and *initramfs* to boot, *release*, cache *key*."""

    image: Path
    kernel: Path
    initramfs: Path
    release: str
    key: str


def guest_file(name: str) -> bytes:
    """Return the contents of a file shipped in the package's guest folder."""
    return resources.files("rcp.lab").joinpath("guest", name).read_bytes()


def packages(name: str = "packages.txt") -> list[str]:
    """Return the Debian packages listed in the guest folder's file *name*."""
    lines = guest_file(name).decode().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def cache_name() -> str:
    """Return the name of the cache entry for the current inputs."""
    parts = {
        "suite": debian.SUITE.encode(),
        "packages": " ".join(sorted(packages())).encode(),
        "options": " ".join(_MMDEBSTRAP_OPTIONS).encode(),
        "bootstrap": guest_file("bootstrap.sh"),
        "customize": guest_file("customize.sh"),
        "image": f"{_FS_UUID} {NVDIMM_ALIGN_BYTES}".encode(),
    }
    return f"rootfs-{cache.key(parts)}"


def ensure(progress: Progress) -> Rootfs:
    """Return the root disk; build it if it is not in the cache.

    Raises MissingToolError without mmdebstrap or mke2fs, RootfsError if the build fails.
    """
    name = cache_name()
    if cache.find(name) is None:
        for program, package in (("mmdebstrap", "mmdebstrap"), ("mke2fs", "e2fsprogs")):
            if shutil.which(program) is None:
                raise MissingToolError(program, package)
        progress.stage(
            f"building the guest (Debian {debian.SUITE}, {len(packages())} packages and a stock "
            f"kernel), usually {_TYPICAL_S} s, cached in {cache.root()}"
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
    debian.bootstrap(tree, [*_MMDEBSTRAP_OPTIONS, *_hooks(folder)], packages(), progress)
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
    progress.stage(f"guest ready: Debian {debian.SUITE}, kernel {release}")


def _hooks(folder: Path) -> list[str]:
    bootstrap = folder / "bootstrap.sh"
    bootstrap.write_bytes(guest_file("bootstrap.sh"))
    return [
        f"--customize-hook=upload {bootstrap} /usr/sbin/rcp-bootstrap",
        # As text: in unshare mode the hook runs as a user who may not read this checkout.
        f"--customize-hook={guest_file('customize.sh').decode()}",
    ]


def nvdimm_bytes(wanted_bytes: int) -> int:
    """Return the smallest size of an NVDIMM that holds *wanted_bytes*."""
    return max(1, -(-wanted_bytes // NVDIMM_ALIGN_BYTES)) * NVDIMM_ALIGN_BYTES


def make_image(tree: Path, image: Path) -> None:
    """Write *tree* to *image* as an ext4 file system; its size is valid for an NVDIMM.

    Raises RootfsError with mke2fs's message if it fails.
    """
    used, files = 0, 0
    for path in tree.rglob("*"):
        files += 1
        used += -(-path.lstat().st_size // 4096) * 4096
    # Inode tables, bitmaps and indirect blocks take well under a tenth of the tree's size.
    size = nvdimm_bytes(used + used // 10 + 32 * _MIB)
    # No journal: the guest mounts it read-only.
    command = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-b", "4096"]
    command += ["-N", str(files + files // 8 + 1024), "-U", _FS_UUID]
    options = f"root_owner=0:0,hash_seed={_FS_UUID}"
    command += ["-E", options, "-d", str(tree), str(image), f"{size // 1024}k"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RootfsError(f"mke2fs failed: {done.stderr.strip()}")
