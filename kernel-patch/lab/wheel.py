"""Build the project under test as a wheel, again after each change of its sources."""

import configparser
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rcp.lab import cache
from rcp.lab.errors import CheckoutError
from rcp.lab.progress import Progress
from rcp.lab.sources import installed_files, is_installed

_FILES = ("pyproject.toml", "setup.cfg", "README.md", "LICENSE")
# Never part of a wheel: package_data lists what is.
_SKIPPED = ("__pycache__", "tests", "recordings", "build")


def _sources(checkout: Path) -> Iterator[Path]:
    # Paths relative to the checkout, in a fixed order.
    config = configparser.ConfigParser()
    config.read(checkout / "setup.cfg")
    folders = [
        line.partition("=")[2].strip()
        for line in config.get("options", "package_dir").splitlines()
        if "=" in line
    ]
    for name in _FILES:
        if (checkout / name).is_file():
            yield Path(name)
    for folder in sorted(folders):
        for path in sorted((checkout / folder).rglob("*")):
            relative = path.relative_to(checkout)
            if path.is_file() and not set(relative.parts) & set(_SKIPPED):
                yield relative


def _contents(checkout: Path) -> dict[str, bytes]:
    # What goes into the wheel: an installed rcp has just that.
    if is_installed(checkout):
        return installed_files()
    return {str(path): (checkout / path).read_bytes() for path in _sources(checkout)}


def cache_name(checkout: Path) -> str:
    """Return the name of the cache entry for the sources in *checkout*.

    Raises CheckoutError if a source cannot be read.
    """
    try:
        contents = _contents(checkout)
    except OSError as error:
        raise CheckoutError(
            f"{error.filename}: {error.strerror}: the checkout must be readable and unchanged "
            "during the build"
        ) from error
    return f"wheel-{cache.key(contents)}"


def ensure(checkout: Path, progress: Progress) -> Path:
    """Return the wheel of *checkout*; build it if its sources have changed.

    An installed rcp is packed again as the wheel that it came from. Raises CheckoutError with the
    build's error message if it fails.
    """

    def build(folder: Path) -> None:
        if is_installed(checkout):
            _pack(folder)
            return
        progress.stage("building the wheel of this checkout")
        _build(checkout, folder)

    entry = cache.build_once(cache_name(checkout), build)
    return next(entry.glob("*.whl"))


def _can_build_here() -> bool:
    # setuptools has bdist_wheel since 70.1; older ones need the package wheel.
    try:
        version = importlib.metadata.version("setuptools").split(".")
    except importlib.metadata.PackageNotFoundError:
        return False
    return (int(version[0]), int(version[1])) >= (70, 1) or bool(importlib.util.find_spec("wheel"))


def _pack(target: Path) -> None:
    with zipfile.ZipFile(target / "rcp-installed.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in installed_files().items():
            wheel.writestr(name, content)


def _build(checkout: Path, target: Path) -> None:
    # Built from a copy: setuptools leaves build/ and *.egg-info behind, and an earlier build's
    # files there would end up in the wheel.
    with tempfile.TemporaryDirectory(prefix="rcp-lab-wheel-") as scratch:
        for path in _sources(checkout):
            copy = Path(scratch) / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(checkout / path, copy)
        if _can_build_here():
            # What pip would call, without pip's own seconds.
            script = "import sys, setuptools.build_meta as b; b.build_wheel(sys.argv[1])"
            command = [sys.executable, "-c", script, str(target)]
        else:
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            command += ["--wheel-dir", str(target), scratch]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if "rror" in line]
        fault = lines[0] if lines else done.stderr.strip()[-200:]
        remedy = (
            "correct its sources"
            if _can_build_here()
            else "without a package index it needs setuptools 70.1 or newer "
            "(pip install -U setuptools)"
        )
        raise CheckoutError(f"{checkout}: building the wheel failed ({fault}): {remedy}")
