import errno
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from rcp.probes.formats.btf import Btf, BtfError
from rcp.probes.kernel import module_types
from rcp.probes.kernel.features import RecordError
from rcp.probes.kernel.kernel_types import identity, kernel_types, read_btf
from rcp.probes.tests.formats.btf_image import BtfImage
from rcp.probes.tests.formats.elf_image import write_elf


@pytest.fixture
def image() -> BtfImage:
    """A kernel with the parts of some structs that are hard to place."""
    kernel = BtfImage()
    u32, u64 = kernel.integer("unsigned int", 4), kernel.integer("unsigned long", 8)
    s32, char = kernel.integer("int", 4, is_signed=True), kernel.integer("char", 1)
    dev_t = kernel.typedef("dev_t", u32)
    upid = kernel.struct("upid", 16, ("nr", s32, 0), ("ns", kernel.pointer(0), 8))
    kernel.struct("pid", 80, ("level", u32, 4), ("numbers", kernel.array(upid, 2), 48))
    kernel.struct("super_block", 600, ("s_dev", dev_t, 16))
    name = kernel.struct("qstr", 16, ("hash", u64, 0), ("name", kernel.pointer(char), 8))
    dentry = kernel.struct("dentry", 192, ("d_name", name, 32))
    kernel.struct("file", 8, ("f_mapping", kernel.pointer(dentry), 0))
    inner = kernel.struct("", 8, ("flags", u64, 0))
    kernel.struct("folio", 64, ("", inner, 8), ("mapping", kernel.pointer(0), 24))
    kernel.struct("task_struct", 900, ("comm", kernel.array(char, 16), 100), ("pid", s32, 96))
    kernel.enum(PG_locked=0, PG_head=6)
    return kernel


def compiled_offsets(text: str, *members: str, folder: Path) -> list[int]:
    """Ask the C compiler where the members lie: ``struct.member`` each."""
    prints = "".join(
        f'printf("%zu\\n", __builtin_offsetof(struct {struct}, {member}));'
        for struct, _, member in (name.partition(".") for name in members)
    )
    source = folder / "offsets.c"
    source.write_text(
        "#include <stdio.h>\ntypedef unsigned long u64; typedef unsigned u32; typedef int s32;"
        f"typedef unsigned short u16;\n{text}\nint main(void) {{ {prints} }}"
    )
    subprocess.run(["cc", "-o", folder / "offsets", source], check=True)
    out = subprocess.run([folder / "offsets"], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in out.split()]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_members_are_declared_where_they_lie(image: BtfImage, tmp_path: Path) -> None:
    text = kernel_types(Btf(image.blob()))
    members = {
        "pid.level": 4,
        "pid.numbers[1].nr": 48 + 16,
        "super_block.s_dev": 16,
        "dentry.d_name.name": 32 + 8,
        "folio.flags": 8,  # of an anonymous struct within
        "task_struct.comm": 100,
        "task_struct.pid": 96,
    }
    assert compiled_offsets(text, *members, folder=tmp_path) == list(members.values())


def test_a_member_that_a_kernel_lacks_is_left_out_and_has_no_macro(image: BtfImage) -> None:
    text = kernel_types(Btf(image.blob()))
    assert "#define RCP_HAS_folio_mapping 1" in text
    assert "RCP_HAS_folio__folio_order" not in text
    assert "#define PG_head 6\n" in text
    assert "BH_Shadow" not in text
    assert "struct journal_s;" in text
    assert "struct journal_s {" not in text


def test_types_of_a_module_continue_those_of_the_kernel(image: BtfImage) -> None:
    module = BtfImage(image.n_types, image.n_string_bytes)
    device = module.struct("block_device", 64, ("bd_dev", 1, 52))
    module.struct("journal_s", 1000, ("j_fs_dev", module.pointer(device), 640))
    kernel = Btf(image.blob())
    text = kernel_types(kernel, kernel.with_module(module.blob()))
    assert "char rcp_before_j_fs_dev[640]; struct block_device *j_fs_dev;" in text
    assert "char rcp_before_bd_dev[52]; u32 bd_dev;" in text


def test_each_module_numbers_its_types_for_itself(image: BtfImage) -> None:
    kernel = Btf(image.blob())
    modules = []
    for name, member, offset in (("journal_s", "j_fs_dev", 640), ("rcp_queue", "q", 8)):
        module = BtfImage(image.n_types, image.n_string_bytes)
        module.integer(f"filler of {name}", 8)
        inner = module.struct(f"inner_{name}", 16, ("tokens", module.integer("u", 4), 4))
        members = ((member, module.pointer(inner), offset), ("knobs", inner, 800))
        module.struct(name, 1000, *members)
        modules.append(kernel.with_module(module.blob()))
    text = kernel_types(kernel, *modules)
    assert "char rcp_before_j_fs_dev[640]; struct inner_journal_s *j_fs_dev;" in text
    assert "char rcp_before_q[8]; struct inner_rcp_queue *q;" in text
    assert "char rcp_before_knobs[800]; struct {" in text
    assert "#define RCP_HAS_rcp_queue_q 1" in text


@pytest.fixture
def system(image: BtfImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the kernel's types, and in which files of modules are looked for."""
    (tmp_path / "vmlinux").write_bytes(image.blob())
    monkeypatch.setattr(module_types, "BTF_DIR", tmp_path)
    monkeypatch.setattr(module_types, "MODULE_DIR", tmp_path)
    return tmp_path


def test_a_module_that_is_not_loaded_yet_is_read_from_its_file(
    image: BtfImage, system: Path
) -> None:
    module = BtfImage(image.n_types, image.n_string_bytes)
    module.struct("rcp_queue", 200, ("q", module.pointer(0), 0))
    assert "RCP_HAS_rcp_queue_q" not in kernel_types(*read_btf().values())
    assert not module_types.has_types("rcp_iosched")
    (system / "kernel/block").mkdir(parents=True)
    write_elf(system / "kernel/block/rcp-iosched.ko", {}, further={".BTF": module.blob()})
    assert "#define RCP_HAS_rcp_queue_q 1" in kernel_types(*read_btf().values())
    assert module_types.has_types("rcp_iosched")
    (system / "modules.builtin").write_text("kernel/fs/jbd2/jbd2.ko\n")
    assert module_types.has_types("jbd2")


def test_the_file_of_a_module_whose_probes_can_come_late_may_be_compressed(
    image: BtfImage, system: Path
) -> None:
    module = BtfImage(image.n_types, image.n_string_bytes)
    module.struct("dm_crypt_io", 200, ("base_bio", module.pointer(0), 0))
    for folder, name in (("md", "dm-crypt"), ("block", "loop")):
        path = system / f"kernel/drivers/{folder}/{name}.ko"
        path.parent.mkdir(parents=True)
        write_elf(path, {}, further={".BTF": module.blob()})
        path.with_suffix(".ko.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    (system / "kernel/drivers/block/loop.ko.xz").write_bytes(b"damaged")
    assert "#define RCP_HAS_dm_crypt_io_base_bio 1" in kernel_types(*read_btf().values())
    assert (module_types.module_types("loop"), module_types.module_types("xfs")) == (b"", b"")
    assert module_types.may_come("dm_crypt") and not module_types.may_come("dm_mod")
    assert set(read_btf()) == {"", "dm_crypt"}


def test_a_module_that_is_being_unloaded_is_not_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is there, and its state can not be read any more."""
    monkeypatch.setattr(module_types, "STATE_DIR", tmp_path)
    folder = tmp_path / "dm_mod"
    folder.mkdir()
    assert module_types.is_live("dm_mod")  # built in: no state

    def unloaded(path: Path) -> str:
        folder.rmdir()
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(Path, "read_text", unloaded)
    assert not module_types.is_live("dm_mod")


def test_another_file_of_a_module_is_another_kernel(system: Path) -> None:
    """A start looks at the files but does not read them."""
    path = system / "kernel/drivers/md/dm-mod.ko.xz"
    path.parent.mkdir(parents=True)
    assert not module_types.may_come("dm_mod")
    found = [identity()]
    for content in (b"one", b"more"):
        path.write_bytes(content)
        found.append(identity())
    assert len(set(map(tuple, found))) == 3
    assert module_types.may_come("dm_mod")


def test_a_kernel_without_readable_types_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vmlinux").write_bytes(b"\x7fELF" + bytes(100))
    monkeypatch.setattr(module_types, "BTF_DIR", tmp_path)
    with pytest.raises(RecordError) as error:
        read_btf()
    assert str(error.value) == (
        "cannot read the kernel's BTF: the kernel's type information is not in BTF format"
    )
    with pytest.raises(BtfError):
        Btf(b"")
