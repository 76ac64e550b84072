"""Find the source of rcp that a lab tests: a checkout, or else the rcp that is installed."""

import configparser
import importlib.metadata
from pathlib import Path

from rcp.lab.errors import CheckoutError

DISTRIBUTION = "rcp-trace"
"""The name that pip knows this project by."""

_PACKAGE = Path(__file__).resolve().parents[1]


def find_checkout(start: Path | None = None) -> Path:
    """Return the checkout that contains *start* (default: the working folder) or this module.

    In no checkout, return the folder of the installed package ``rcp``, from which the lab runs as
    well (``is_installed``). Raises CheckoutError if *start* is given and in no checkout.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if _is_checkout(folder):
            return folder
    if start is None and is_installed(_PACKAGE):
        return _PACKAGE
    raise CheckoutError(
        f"no checkout of rcp at or above {here}: run it inside one or pass --checkout DIR"
    )


def _is_checkout(folder: Path) -> bool:
    config = configparser.ConfigParser()
    try:
        config.read(folder / "setup.cfg")
    except configparser.Error:
        return False
    return config.get("metadata", "name", fallback="") == DISTRIBUTION


def is_installed(root: Path) -> bool:
    """Tell whether *root* is an installed package ``rcp`` in place of a checkout."""
    return (root / "kernel_patch" / "BASE").is_file()


def kernel_patch(root: Path) -> Path:
    """Return the folder with BASE, patches/ and config/ of the source *root*."""
    return root / ("kernel_patch" if is_installed(root) else "kernel-patch")


def installed_files() -> dict[str, bytes]:
    """Return the files of the installed rcp as its wheel had them: name to content.

    Raises CheckoutError if pip did not record them.
    """
    try:
        listed = importlib.metadata.files(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        listed = None
    if not listed:
        raise CheckoutError("the installed rcp has no list of its files: install it with pip")
    # Scripts and manual pages lie outside the packages, and pip compiles: the guest needs neither.
    found = [item for item in listed if item.parts[0] != ".." and item.suffix != ".pyc"]
    return {str(item): Path(str(item.locate())).read_bytes() for item in sorted(found)}
