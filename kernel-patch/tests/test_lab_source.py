"""Unpacking the kernel's source from an archive of packages, which the test makes."""

import hashlib
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from rcp.lab import rootfs

NAME = "linux-source-6.12"
APT = """
Dir "{folder}/apt";
Dir::State::status "{folder}/apt/status";
Dir::Etc::sourcelist "{folder}/apt/sources.list";
APT::Sandbox::User "root";
Dir::Etc::sourceparts "-";
APT::Architecture "amd64";
"""


class Archive:
    """A folder of packages, and apt with nothing else to fetch from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        state = "apt/var/lib/apt/lists/partial", "apt/var/cache/apt/archives/partial"
        for name in ("archive", "apt/etc/apt/apt.conf.d", "apt/etc/apt/preferences.d", *state):
            (folder / name).mkdir(parents=True)
        (folder / "apt/status").write_text("")
        source = f"deb [trusted=yes] file:{folder}/archive ./\n"
        (folder / "apt/sources.list").write_text(source)
        (folder / "apt.conf").write_text(APT.format(folder=folder))
        self.environment = os.environ | {"APT_CONFIG": str(folder / "apt.conf")}

    def serve(self, *versions: str) -> dict[str, str]:
        """Offer these versions; return the checksum of each one's file."""
        entries, sums = [], {}
        for version in versions:
            package = self._package(version)
            sums[version] = hashlib.sha256(package.read_bytes()).hexdigest()
            size = package.stat().st_size
            entries.append(
                f"{self._control(version)}Filename: ./{package.name}\nSize: {size}\n"
                f"SHA256: {sums[version]}\n"
            )
        (self._folder / "archive/Packages").write_text("\n".join(entries))
        subprocess.run(["apt-get", "-qq", "update"], env=self.environment, check=True)
        return sums

    @staticmethod
    def _control(version: str) -> str:
        fields = f"Package: {NAME}\nVersion: {version}\nArchitecture: all\n"
        return f"{fields}Maintainer: Nobody <nobody@example.com>\nDescription: a source\n"

    def _package(self, version: str) -> Path:
        tree = self._folder / version
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/src/linux").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(self._control(version))
        (tree / "usr/src/linux/Makefile").write_text(f"# {version}\n")
        with tarfile.open(tree / f"usr/src/{NAME}.tar.xz", "w:xz") as tar:
            tar.add(tree / "usr/src/linux", "linux")
        package = self._folder / f"archive/{NAME}_{version}_all.deb"
        subprocess.run(
            ["dpkg-deb", "--build", str(tree), str(package)], stdout=subprocess.DEVNULL, check=True
        )
        return package


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


def unpack(
    archive: Archive, root: Path, version: str, sha256: str
) -> "subprocess.CompletedProcess[str]":
    script = rootfs.guest_file("unpack.sh").decode()
    return subprocess.run(
        ["sh", "-euc", script, "sh", version, sha256, str(root)],
        env=archive.environment,
        capture_output=True,
        text=True,
        check=False,
    )


def unpacked(root: Path) -> tuple[str, str]:
    return (root / "work/version").read_text(), (root / "work/source/Makefile").read_text()


def test_the_version_of_base_is_taken_while_it_is_served(archive, tmp_path):
    sums = archive.serve("6.12.117-1", "6.12.118-1")
    done = unpack(archive, tmp_path / "root", "6.12.117-1", sums["6.12.117-1"])
    assert done.returncode == 0, done.stderr
    assert unpacked(tmp_path / "root") == ("6.12.117-1\n", "# 6.12.117-1\n")


def test_the_newest_is_taken_when_it_is_gone(archive, tmp_path):
    archive.serve("6.12.118-1", "6.12.119-1")
    done = unpack(archive, tmp_path / "root", "6.12.117-1", "0" * 64)
    assert done.returncode == 0, done.stderr
    assert unpacked(tmp_path / "root") == ("6.12.119-1\n", "# 6.12.119-1\n")


def test_another_file_under_the_version_of_base_is_refused(archive, tmp_path):
    archive.serve("6.12.117-1")
    done = unpack(archive, tmp_path / "root", "6.12.117-1", "0" * 64)
    assert done.returncode == 1
    assert done.stderr.endswith(f"E: {NAME} 6.12.117-1 is not the file BASE names\n")
    assert not (tmp_path / "root/work/version").exists()
