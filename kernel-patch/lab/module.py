"""Build drivers of the patch series as modules for the guest's stock kernel."""

import shutil
from pathlib import Path

from rcp.lab import cache, debian, rootfs, series, sources
from rcp.lab.errors import KernelError, RootfsError
from rcp.lab.progress import Progress

# The drivers by module name, with their folder in the source. They use public headers only.
FOLDERS = {"rcpdisk": "drivers/block/rcpdisk"}

_TYPICAL_BUILDER_S = 90
# dwarves: pahole, which writes BTF. The headers depend on the compiler that built the kernel; gcc
# and libc6-dev are for programs, such as the model's tests.
_PACKAGES = ("make", "dwarves", "gcc", "libc6-dev")


def _patches(checkout: Path) -> Path:
    return sources.kernel_patch(checkout) / "patches"


def _builder_name(release: str) -> str:
    parts = {"release": release.encode(), "packages": " ".join(_PACKAGES).encode()}
    return f"headers-{cache.key(parts)}"


def _sources(checkout: Path, folder: str) -> list[Path]:
    files = series.patches(_patches(checkout))
    return [p for p in files if any(n.startswith(f"{folder}/") for n in series.touched(p))]


def _name(checkout: Path, name: str, release: str) -> str:
    parts = {path.name: path.read_bytes() for path in _sources(checkout, FOLDERS[name])}
    parts |= {"release": release.encode(), "recipe": rootfs.guest_file("module.sh")}
    return f"module-{name}-{cache.key(parts)}"


def entries_in_use(checkout: Path) -> frozenset[str]:
    """Return the names of the cache entries that *checkout* would use with the cached guests."""
    names = set()
    for guest in rootfs.entries_in_use(checkout):
        path = cache.root() / guest / "release"
        if path.is_file():
            release = path.read_text().strip()
            names |= {_name(checkout, name, release) for name in FOLDERS}
            names.add(_builder_name(release))
    return frozenset(names)


def ensure(checkout: Path, name: str, release: str, progress: Progress) -> Path:
    """Return the .ko file of module *name* (a key of FOLDERS) for the stock kernel *release*.

    It is built with the guest's compiler and kernel headers, again after each change of its
    sources. Raises MissingToolError, RootfsError, SeriesError or KernelError.
    """
    entry = cache.build_once(
        _name(checkout, name, release),
        lambda folder: _build(folder, checkout, name, release, progress),
        lambda: progress.stage(f"another rcp-lab is building {name}; waiting for it"),
    )
    return entry / f"{name}.ko"


def ensure_builder(release: str, progress: Progress) -> Path:
    """Return the cache entry with the tree that has the compiler and the headers of *release*.

    Raises MissingToolError or RootfsError.
    """
    name = _builder_name(release)
    if cache.find(name) is None:
        debian.require()
        progress.stage(
            f"making the module builder (compiler and headers of {release}), usually "
            f"{_TYPICAL_BUILDER_S} s, cached in {cache.root()}"
        )
    return cache.build_once(
        name,
        lambda folder: _bootstrap(folder / "tree", release, progress),
        lambda: progress.stage("another rcp-lab is making the module builder; waiting for it"),
    )


def _bootstrap(tree: Path, release: str, progress: Progress) -> None:
    try:
        debian.bootstrap(tree, debian.SMALL, [*_PACKAGES, f"linux-headers-{release}"], progress)
    except RootfsError as error:
        # The archive removes a kernel some months after the next one.
        raise RootfsError(
            f"{error}; if Debian no longer has linux-headers-{release}, rebuild the guest with "
            "rcp-lab clean --all"
        ) from error


def _build(folder: Path, checkout: Path, name: str, release: str, progress: Progress) -> None:
    builder = ensure_builder(release, progress)
    with cache.locked(f"{builder.name}.work"):
        work = builder / "tree" / "work"
        shutil.rmtree(work, ignore_errors=True)
        scratch = work / "series"
        scratch.mkdir(parents=True)
        progress.stage(f"building {name} for {release}, usually 15 s")
        shutil.move(series.extract(_patches(checkout), FOLDERS[name], scratch), work / name)
        log = cache.root() / f"{name}-build.log"
        script = rootfs.guest_file("module.sh").decode()
        command = debian.inside(builder / "tree", script, release, name)
        if debian.logged([command], log, lambda line: None) != 0:
            raise KernelError(f"{name} does not build for {release}: the full log is {log}")
        shutil.copy(work / name / f"{name}.ko", folder / f"{name}.ko")
        shutil.rmtree(work)
