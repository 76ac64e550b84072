"""Build a kernel: Debian's source, the patch series and a config, compiled inside a chroot."""

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rcp.lab import cache, debian, rootfs, series, sources
from rcp.lab.errors import KernelError, SeriesError
from rcp.lab.progress import Progress

NAMES = ("stock", "rcp", "rcp-debug", "rcp-kcsan", "upstream", "plain")
DEBUG_FLAVOURS = {"lockdep": "rcp-debug", "kcsan": "rcp-kcsan"}
"""What each kind of ``rcp-lab build --debug`` builds."""

_TYPICAL_BUILDER_MIN = 3
_TYPICAL_BUILD_MIN = {"rcp": 12, "rcp-debug": 20, "rcp-kcsan": 20, "upstream": 12, "plain": 12}
# The config fragments that a flavour leaves out; plain is the baseline for the patches.
_LEFT_OUT = {
    "rcp": {"debug.config", "kcsan.config"},
    "rcp-debug": {"kcsan.config"},
    "rcp-kcsan": {"debug.config"},
    "upstream": {"debug.config", "kcsan.config", "rcp.config"},
    "plain": {"debug.config", "kcsan.config", "rcp.config", "rcpdisk.config"},
}
_TYPICAL_FILES = 1400
_FILES_A_STAGE = 250
# The first error in the output of compilers, Kconfig and make.
_FAULT = re.compile(r"^.*(?:\berror: |\bcan't open |\*\*\* ).*$", re.MULTILINE)
_RECIPE = ("builder.txt", "source.sh", "unpack.sh", "kernel.sh", "initramfs.list", "bootstrap.sh")


@dataclass(frozen=True)
class Kernel:
    """A built kernel: the files to boot, its *modules* (with headers), *release*, cache *key*."""

    vmlinuz: Path
    initramfs: Path
    modules: Path
    release: str
    key: str


@dataclass(frozen=True)
class Recipe:
    """The inputs of a kernel: *base*, *patches*, *config* text, and its *flavour*."""

    base: series.Base
    patches: tuple[Path, ...]
    config: str
    flavour: str


def recipe(checkout: Path, flavour: str) -> Recipe:
    """Return the inputs of *flavour* of the kernel in *checkout*.

    Flavours: rcp, rcp-debug, rcp-kcsan; upstream, which has the patches of kernel-patch/upstream
    and rcpdisk; and plain, which is rcp's configuration without the patches.
    """
    folder = sources.kernel_patch(checkout)
    files = sorted((folder / "config").glob("*.config"))
    chosen = [path for path in files if path.name not in _LEFT_OUT[flavour]]
    if not chosen:
        raise KernelError(f"{folder / 'config'}: holds no *.config: run in a checkout of rcp")
    text = "".join(path.read_text() for path in chosen)
    name = f'# told apart from Debian\'s own by uname -r\nCONFIG_LOCALVERSION="-{flavour}"\n'
    return Recipe(
        base=series.read_base(folder / "BASE"),
        patches=tuple(_patches(folder, flavour)),
        config=text + name,
        flavour=flavour,
    )


def _patches(folder: Path, flavour: str) -> Sequence[Path]:
    ours = series.patches(folder / "patches")
    if flavour == "upstream":
        # The first of ours is the disk to measure on.
        return [*ours[:1], *series.patches(folder / "upstream")]
    return [] if flavour == "plain" else ours


def builder_name(base: series.Base) -> str:
    """Return the name of the cache entry that holds the compiler and the source *base*."""
    parts = {
        "suite": debian.SUITE.encode(),
        "packages": " ".join(sorted(rootfs.packages("builder.txt"))).encode(),
        "source": f"{base.version} {base.sha256}".encode() + _source_hook(base).encode(),
    }
    return f"builder-{cache.key(parts)}"


def _source_hook(base: series.Base) -> str:
    words = {"version": base.version, "sha256": base.sha256}
    words["unpack"] = rootfs.guest_file("unpack.sh").decode()
    variables = "".join(f"{name}={shlex.quote(value)}\n" for name, value in words.items())
    return variables + rootfs.guest_file("source.sh").decode()


def cache_name(wanted: Recipe) -> str:
    """Return the name of the cache entry of the kernel *wanted*."""
    parts = {name: rootfs.guest_file(name) for name in _RECIPE}
    parts |= {path.name: path.read_bytes() for path in wanted.patches}
    parts |= {"base": str(wanted.base).encode(), "config": wanted.config.encode()}
    return f"kernel-{wanted.flavour}-{cache.key(parts)}"


def entries_in_use(checkout: Path) -> frozenset[str]:
    """Return the names of the cache entries that *checkout* would use."""
    recipes = [recipe(checkout, flavour) for flavour in NAMES if flavour != "stock"]
    return frozenset({cache_name(item) for item in recipes} | {builder_name(recipes[0].base)})


def ensure(checkout: Path, flavour: str, progress: Progress) -> Kernel:
    """Return kernel *flavour* of *checkout*; build it if it is not in the cache.

    Raises MissingToolError without mmdebstrap, RootfsError if the builder cannot be built,
    SeriesError or KernelError if the kernel cannot.
    """
    wanted = recipe(checkout, flavour)
    name = cache_name(wanted)
    entry = cache.build_once(
        name,
        lambda folder: _build(folder, wanted, progress),
        lambda: progress.stage("another rcp-lab is building this kernel; waiting for it"),
    )
    return Kernel(
        vmlinuz=entry / "vmlinuz",
        initramfs=entry / "initramfs.img",
        modules=entry / "lib" / "modules",
        release=(entry / "release").read_text().strip(),
        key=name,
    )


def with_kernel(root: rootfs.Rootfs, kernel: Kernel) -> rootfs.Rootfs:
    """Return *root* with *kernel* to boot instead of its own."""
    return replace(root, kernel=kernel.vmlinuz, initramfs=kernel.initramfs, release=kernel.release)


def _ensure_builder(base: series.Base, progress: Progress) -> Path:
    name = builder_name(base)
    if cache.find(name) is None:
        debian.require()
        progress.stage(
            f"making the builder (Debian {debian.SUITE}, compiler, source of Linux {base.linux}), "
            f"usually {_TYPICAL_BUILDER_MIN} minutes, cached in {cache.root()}"
        )
    hook = f"--customize-hook={_source_hook(base)}"
    return cache.build_once(
        name,
        lambda folder: debian.bootstrap(
            folder / "tree", [*debian.SMALL, hook], rootfs.packages("builder.txt"), progress
        ),
        lambda: progress.stage("another rcp-lab is making the builder; waiting for it"),
    )


def _build(folder: Path, wanted: Recipe, progress: Progress) -> None:
    builder = _ensure_builder(wanted.base, progress)
    waiting = "another rcp-lab is building a kernel; waiting for it"
    # Flavours share the source.
    with cache.locked(f"{builder.name}.work", lambda: progress.stage(waiting)):
        tree = builder / "tree"
        work = tree / "work"
        _apply(work, wanted, progress)
        (work / f"{wanted.flavour}.config").write_text(wanted.config)
        (work / "initramfs.list").write_bytes(rootfs.guest_file("initramfs.list"))
        (work / "init").write_bytes(rootfs.guest_file("bootstrap.sh"))
        _step(tree, "configure", wanted, progress)
        _check_config(wanted.config, work / wanted.flavour / ".config")
        progress.stage(
            f"compiling, usually {_TYPICAL_BUILD_MIN[wanted.flavour]} minutes on two cores the "
            "first time, a minute or two after a small change"
        )
        _step(tree, "build", wanted, progress)
        stage = work / f"{wanted.flavour}-stage"
        for name in ("vmlinuz", "initramfs.img", "config", "release"):
            shutil.copy(stage / name, folder / name)
        shutil.copytree(stage / "lib", folder / "lib", symlinks=True)
        shutil.rmtree(stage)
    progress.stage(f"kernel ready: {(folder / 'release').read_text().strip()}")


def _apply(work: Path, wanted: Recipe, progress: Progress) -> None:
    served = (work / "version").read_text().strip()
    linux = served.partition("-")[0]
    if served == wanted.base.version:
        progress.stage(f"Linux {linux}: applying {len(wanted.patches)} patches")
        series.Source(work).bring_to(wanted.patches)
        return
    progress.stage(
        f"Debian no longer serves Linux {wanted.base.version}, which the patches are made for: "
        f"applying {len(wanted.patches)} of them to {served}, without fuzz"
    )
    try:
        series.Source(work).bring_to(wanted.patches)
    except SeriesError as error:
        raise SeriesError(f"Debian serves Linux {served} in place of BASE's: {error}") from error


def _step(tree: Path, step: str, wanted: Recipe, progress: Progress) -> None:
    jobs = len(os.sched_getaffinity(0))
    compiled = 0

    def show(line: str) -> None:
        nonlocal compiled
        if line.startswith("  CC "):
            compiled += 1
            if compiled % _FILES_A_STAGE == 0:
                progress.stage(f"  compiled {compiled} files (all: about {_TYPICAL_FILES})")
        elif line.startswith(("  LD      vmlinux", "  BTF ", "  BUILD   ")):
            progress.stage(f"  {line.split()[0]} {line.split()[-1]}")

    script = rootfs.guest_file("kernel.sh").decode()
    log = cache.root() / f"{wanted.flavour}-{step}.log"
    command = debian.inside(tree, script, step, wanted.flavour, str(jobs))
    code = debian.logged([command], log, show)
    if code != 0:
        match = _FAULT.search(log.read_text())
        fault = match[0].strip() if match else f"exit status {code}"
        raise KernelError(f"the kernel's {step} step failed ({fault}): the full log is {log}")


def _check_config(fragment: str, config: Path) -> None:
    # Kconfig silently drops options it does not know, or whose dependencies are off.
    have = set(config.read_text().splitlines())
    lines = [line for line in fragment.splitlines() if line.startswith("CONFIG_")]
    lost = [line for line in lines if line not in have]
    if lost:
        raise KernelError(
            f"Kconfig dropped {', '.join(lost)}: look up in menuconfig what each depends on and "
            "add that to kernel-patch/config"
        )
