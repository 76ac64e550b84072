"""The patch series: its base, its patches, and a source tree that they are applied to."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rcp.lab.errors import SeriesError

_TOUCHED = re.compile(rb"^diff --git a/(\S+) b/(\S+)$", re.MULTILINE)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Base:
    """The Debian source package that the patches apply to: *version*, and *sha256* of its file."""

    version: str
    sha256: str

    @property
    def linux(self) -> str:
        """Return the kernel's version, such as 6.12.117."""
        return self.version.partition("-")[0]


def read_base(path: Path) -> Base:
    """Read kernel-patch/BASE; raise SeriesError if it does not name a version and checksum."""
    try:
        text = path.read_text()
    except OSError as error:
        raise SeriesError(f"{path}: {error.strerror}: run in a checkout of rcp") from error
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = dict(line.partition(" ")[::2] for line in lines)
    if set(words) != {"version", "sha256"} or not _SHA256.fullmatch(words["sha256"]):
        raise SeriesError(f"{path}: must hold a line 'version V' and a line 'sha256 H'")
    return Base(words["version"], words["sha256"])


def patches(folder: Path) -> list[Path]:
    """Return the patches in *folder* in order, without the cover letter."""
    return [path for path in sorted(folder.glob("*.patch")) if not path.name.startswith("0000-")]


def touched(patch: Path) -> list[str]:
    """Return the files that *patch* creates, changes or deletes, relative to the source."""
    found = _TOUCHED.findall(patch.read_bytes())
    return sorted({name.decode() for pair in found for name in pair})


def apply(patch: Path, tree: Path, only: str | None = None) -> None:
    """Apply *patch* to the files in *tree*, or to those that match the glob *only*.

    Raises SeriesError with the first line of git's message if it does not apply.
    """
    command = ["git", "apply", "--whitespace=nowarn", *([f"--include={only}"] if only else [])]
    # A tree inside a git repository must not be taken for a part of it.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.resolve().parent)}
    done = subprocess.run(
        [*command, str(patch.resolve())],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        fault = done.stderr.strip().splitlines()[0] if done.stderr.strip() else "no error text"
        raise SeriesError(f"{patch.name} does not apply ({fault}): regenerate it against BASE")


def extract(folder: Path, prefix: str, tree: Path) -> Path:
    """Write the files below *prefix* that the patches in *folder* create; return their folder.

    Without the kernel's source, only files that the series itself creates can be extracted.
    """
    for patch in patches(folder):
        if any(name.startswith(f"{prefix}/") for name in touched(patch)):
            apply(patch, tree, only=f"{prefix}/*")
    if not (tree / prefix).is_dir():
        raise SeriesError(f"no patch in {folder} creates {prefix}")
    return tree / prefix


class Source:
    """An unpacked source in folder *work* whose patches can be replaced by others.

    Only files whose content changes are written, so that an incremental build compiles only those.
    The originals of patched files are copied to work/originals.
    """

    def __init__(self, work: Path) -> None:
        """Use work/source, work/originals and work/touched.json."""
        self._source = work / "source"
        self._originals = work / "originals"
        self._list = work / "touched.json"
        self._work = work

    def _known(self) -> set[str]:
        return set(json.loads(self._list.read_text())) if self._list.exists() else set()

    def _save_originals(self, names: Iterator[str]) -> None:
        for name in names:
            original = self._source / name
            if original.exists():
                target = self._originals / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(original, target)

    def _write(self, name: str, wanted: Path) -> None:
        target = self._source / name
        if not wanted.exists():
            target.unlink(missing_ok=True)
        elif not target.exists() or target.read_bytes() != wanted.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            # Not copy2: make needs a new modification time.
            shutil.copyfile(wanted, target)

    def bring_to(self, series: Sequence[Path]) -> None:
        """Change the source to the original with exactly the patches *series*.

        Raises SeriesError, without changing the source, if a patch does not apply.
        """
        known = self._known()
        names = {name for patch in series for name in touched(patch)}
        self._save_originals(name for name in sorted(names - known))
        # From here on a file of this list may differ from its original.
        self._list.write_text(json.dumps(sorted(known | names)))
        with tempfile.TemporaryDirectory(dir=self._work) as scratch:
            tree = Path(scratch)
            for name in names:
                if (self._originals / name).exists():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(self._originals / name, tree / name)
            for patch in series:
                apply(patch, tree)
            for name in sorted(known | names):
                self._write(name, (tree if name in names else self._originals) / name)
