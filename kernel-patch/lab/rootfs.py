"""The guest's root disk: an image of Debian with its stock kernel."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rcp.lab import cache, debian, series, sources
from rcp.lab.errors import MissingToolError, RootfsError
from rcp.lab.progress import Progress

# An NVDIMM's size must be a multiple of 128 MiB, Linux' unit of memory hotplug.
NVDIMM_ALIGN_BYTES = 128 << 20

_TYPICAL_S = 90
_MIB = 1 << 20
_MMDEBSTRAP_OPTIONS = debian.SMALL
# Fixed, so that two builds of a tree have the same layout and virtual times stay comparable.
_FS_UUID = "72637000-6c61-4062-8000-000000000001"
_INSTALLED_LIST = "packages.txt"
_INSTALLED_PACKAGE = re.compile(r"^Package: (\S+)$.*?^Version: (\S+)$", re.MULTILINE | re.DOTALL)
# A kernel's packages bear its version in their names.
_KERNEL_PACKAGE = re.compile(r"linux-(image|headers)-[0-9]\S*")
_SHOWN = 5


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


def _linux(checkout: Path, newest: bool) -> str:
    # The version that the guest has while Debian serves it. Of no kernel's package is the version
    # "": customize.sh then takes the newest.
    return "" if newest else series.read_base(sources.kernel_patch(checkout) / "BASE").linux


def cache_name(checkout: Path, newest: bool = False) -> str:
    """Return the name of the cache entry for the current inputs, as ensure() uses it."""
    parts = {
        "suite": debian.SUITE.encode(),
        "linux": _linux(checkout, newest).encode(),
        "packages": " ".join(sorted(packages())).encode(),
        "options": " ".join(_MMDEBSTRAP_OPTIONS).encode(),
        "bootstrap": guest_file("bootstrap.sh"),
        "customize": guest_file("customize.sh"),
        "image": f"{_FS_UUID} {NVDIMM_ALIGN_BYTES}".encode(),
    }
    return f"rootfs-{cache.key(parts)}"


def entries_in_use(checkout: Path) -> frozenset[str]:
    """Return the names of the cache entries that *checkout* would use."""
    return frozenset({cache_name(checkout), cache_name(checkout, newest=True)})


def ensure(checkout: Path, progress: Progress, newest: bool = False, anew: bool = False) -> Rootfs:
    """Return the root disk; build it if it is not in the cache, or if it is wanted *anew*.

    Its kernel is that of BASE while Debian serves it; *newest*: the newest that Debian served when
    the disk was built. Raises MissingToolError without mmdebstrap or mke2fs, RootfsError if the
    build fails, SeriesError without BASE.
    """
    name = cache_name(checkout, newest)
    if anew or cache.find(name) is None:
        for program, package in (("mmdebstrap", "mmdebstrap"), ("mke2fs", "e2fsprogs")):
            if shutil.which(program) is None:
                raise MissingToolError(program, package)
        progress.stage(
            f"building the guest (Debian {debian.SUITE}, {len(packages())} packages and a stock "
            f"kernel), usually {_TYPICAL_S} s, cached in {cache.root()}"
        )
    entry = cache.build_once(
        name,
        lambda folder: _build(folder, _linux(checkout, newest), progress),
        lambda: progress.stage("another rcp-lab is building the guest; waiting for it"),
        anew,
    )
    return Rootfs(
        image=entry / "rootfs.img",
        kernel=entry / "vmlinuz",
        initramfs=entry / "initramfs.img",
        release=(entry / "release").read_text().strip(),
        key=name,
    )


def _build(folder: Path, linux: str, progress: Progress) -> None:
    tree = folder / "tree"
    debian.bootstrap(tree, [*_MMDEBSTRAP_OPTIONS, *_hooks(folder, linux)], packages(), progress)
    _list_packages(folder, tree)
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


def _list_packages(folder: Path, tree: Path) -> None:
    # A name and a version a line. The kernel's are only unpacked, so customize.sh lists them.
    blocks = (tree / "var/lib/dpkg/status").read_text().split("\n\n")
    found = {match[1]: match[2] for match in map(_INSTALLED_PACKAGE.search, blocks) if match}
    for line in (tree / "boot/kernel-packages").read_text().splitlines():
        name, _, version = line.partition(" ")
        if match := _KERNEL_PACKAGE.fullmatch(name):
            found[f"linux-{match[1]}"] = version
    lines = [f"{name} {version}\n" for name, version in sorted(found.items())]
    (folder / _INSTALLED_LIST).write_text("".join(lines))


def installed(root: Rootfs) -> dict[str, str]:
    """Return the versions of the packages of *root*, by name."""
    lines = (root.image.parent / _INSTALLED_LIST).read_text().splitlines()
    return {name: version for name, _, version in (line.partition(" ") for line in lines)}


def documented(source: Path) -> dict[str, str]:
    """Return those of the guest that figures in docs are made with; empty where not told."""
    path = source / "fixtures" / "guest.toml"
    if not path.exists():
        return {}
    packages: dict[str, str] = tomllib.loads(path.read_text())["packages"]
    return packages


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Say in one line how the guest *ours* differs from the documented one; empty if it does not.

    The kernel comes first.
    """
    names = sorted({*ours, *theirs}, key=lambda name: (not name.startswith("linux-image"), name))
    changed = [
        f"{name} {theirs.get(name, 'none')} → {ours.get(name, 'none')}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]
    if not theirs or not changed:
        return ""
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return f"guest differs from the documented one: {', '.join(changed[:_SHOWN])}{more}"


def _hooks(folder: Path, linux: str) -> list[str]:
    bootstrap = folder / "bootstrap.sh"
    bootstrap.write_bytes(guest_file("bootstrap.sh"))
    return [
        f"--customize-hook=upload {bootstrap} /usr/sbin/rcp-bootstrap",
        # As text: in unshare mode the hook runs as a user who may not read this checkout.
        f"--customize-hook=linux={linux}\n{guest_file('customize.sh').decode()}",
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
