"""The list of what a guest is made of, and how it differs from another."""

from pathlib import Path

from rcp.lab import rootfs, series

ROOT = Path(__file__).parents[2]

STATUS = """\
Package: fio
Status: install ok installed
Architecture: amd64
Version: 3.39-1
Description: flexible I/O tester
 Package: is no field here

Package: python3
Status: install ok installed
Version: 3.13.5-1
"""
KERNEL = """\
linux-headers-6.12.117+deb13-cloud-amd64 6.12.117-1
linux-headers-6.12.117+deb13-common 6.12.117-1
linux-image-6.12.117+deb13-cloud-amd64 6.12.117-1
"""


def test_packages_are_listed_with_the_kernels(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "var/lib/dpkg").mkdir(parents=True)
    (tree / "boot").mkdir()
    (tree / "var/lib/dpkg/status").write_text(STATUS)
    (tree / "boot/kernel-packages").write_text(KERNEL)
    rootfs._list_packages(tmp_path, tree)
    image = tmp_path / "rootfs.img"
    assert rootfs.installed(rootfs.Rootfs(image, image, image, "6.12.117", "rootfs-0")) == {
        "fio": "3.39-1",
        "linux-headers": "6.12.117-1",
        "linux-image": "6.12.117-1",
        "python3": "3.13.5-1",
    }


def test_a_difference_is_one_line_with_the_kernel_first() -> None:
    theirs = {"fio": "1", "gone": "1", "linux-image": "6.12.117-1", "same": "1"}
    ours = {"fio": "2", "linux-image": "6.12.118-1", "new": "1", "same": "1"}
    assert rootfs.difference(ours, theirs) == (
        "guest differs from the documented one: linux-image 6.12.117-1 → 6.12.118-1, fio 1 → 2, "
        "gone 1 → none, new none → 1"
    )


def test_the_documented_guest_has_the_kernel_that_the_patches_are_for() -> None:
    base = series.read_base(ROOT / "kernel-patch/BASE").version
    assert rootfs.documented(ROOT)["linux-image"] == base


def test_many_differences_are_counted() -> None:
    theirs = {f"p{n}": "1" for n in range(8)}
    ours = dict.fromkeys(theirs, "2")
    assert rootfs.difference(ours, theirs).endswith("p4 1 → 2 and 3 more")


def test_nothing_is_said_of_the_same_guest_or_without_a_list(tmp_path: Path) -> None:
    assert rootfs.difference({"fio": "1"}, {"fio": "1"}) == ""
    assert rootfs.difference({"fio": "1"}, rootfs.documented(tmp_path)) == ""
