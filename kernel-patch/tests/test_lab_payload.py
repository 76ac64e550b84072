import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from rcp.lab import payload
from rcp.lab.errors import LostVMError, OutputFullError

FACTS = "kernel 6.12.1\ncommand_start_s 2.50\ncommand_end_s 4.75\n"


def _disk(path: Path, members: dict[str, str], size: int = 1 << 20) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    with path.open("r+b") as disk:
        disk.truncate(size)
    return path


@pytest.fixture
def wheel_file(tmp_path: Path) -> Path:
    path = tmp_path / "rcp-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rcp/tool/__init__.py", "def main(): pass\n")
        archive.writestr(
            "rcp-1.dist-info/entry_points.txt", "[console_scripts]\nrcp-tool = rcp.tool:main\n"
        )
    return path


def test_report_and_artefacts_come_back(tmp_path):
    disk = _disk(
        tmp_path / "disk",
        {"./a/b.txt": "artefact", "facts": FACTS, "exit-status": "7\n"},
    )
    out = tmp_path / "out"
    assert payload.read_output(disk, out) == payload.GuestReport(7, "6.12.1", 2.5, 4.75)
    assert (out / "a" / "b.txt").read_text() == "artefact"
    assert not (out / "exit-status").exists()


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"./a.txt": "artefact", "facts": FACTS},
        {"facts": FACTS, "exit-status": ""},
        {"facts": FACTS, "exit-status": "0"},
        {"facts": FACTS, "exit-status": "zero\n"},
        {"facts": "kernel 6.12.1\n", "exit-status": "0\n"},
        # An artefact of that name is not the guest's report.
        {"./exit-status": "0\n", "facts": FACTS},
    ],
)
def test_anything_but_a_whole_report_is_a_lost_machine(members, tmp_path):
    with pytest.raises(LostVMError) as caught:
        payload.read_output(_disk(tmp_path / "disk", members), tmp_path / "out")
    assert caught.value.exit_status == 125


def test_untouched_and_damaged_disks_are_lost_machines(tmp_path):
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(1 << 20))
    with pytest.raises(LostVMError):
        payload.read_output(disk, tmp_path / "out")
    disk.write_bytes(b"\xa5" * (1 << 20))
    with pytest.raises(LostVMError):
        payload.read_output(disk, tmp_path / "out")


def test_report_cut_short_in_the_middle_of_an_artefact_is_lost(tmp_path):
    members = {"./big": "x" * 100_000, "facts": FACTS, "exit-status": "0\n"}
    disk = _disk(tmp_path / "disk", members)
    whole = disk.read_bytes()
    disk.write_bytes(whole[:60_000] + bytes(len(whole) - 60_000))
    with pytest.raises(LostVMError):
        payload.read_output(disk, tmp_path / "out")


def test_artefacts_that_did_not_fit_have_their_own_error(tmp_path):
    members = {"facts": FACTS, "artefacts-lost": "", "exit-status": "0\n"}
    with pytest.raises(OutputFullError, match="raise --output-mb"):
        payload.read_output(_disk(tmp_path / "disk", members), tmp_path / "out")


def test_guest_cannot_write_outside_the_output_folder_or_plant_links(tmp_path):
    disk = tmp_path / "disk"
    with tarfile.open(disk, "w") as tar:
        for name, kind in (("../escape", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        for name, text in (("facts", FACTS), ("exit-status", "0\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    out = tmp_path / "out"
    out.mkdir()
    assert payload.read_output(disk, out).exit_status == 0
    assert not (tmp_path / "escape").exists()
    assert list(out.iterdir()) == []


def test_input_holds_init_command_project_and_inputs(tmp_path, wheel_file):
    extra = tmp_path / "data.bin"
    extra.write_bytes(b"\0\1")
    job = payload.Job(
        "echo hi",
        wheel_file,
        env={"X": "it's"},
        files={"inputs/data.bin": extra},
        modules=["a", "b"],
    )
    payload.write_input(tmp_path / "disk", job)
    with tarfile.open(tmp_path / "disk") as tar:
        texts = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
    assert texts["command.sh"] == b"echo hi\n"
    assert texts["inputs/data.bin"] == b"\0\1"
    assert b"uptime_s" in texts["init.sh"]
    assert "project/site/rcp/tool/__init__.py" in texts
    assert b"from rcp.tool import main" in texts["project/bin/rcp-tool"]
    env = texts["lab.env"].decode().splitlines()
    assert "export X='it'\"'\"'s'" in env
    assert "RCP_LAB_MODULES='a b'" in env
    assert "export RCP_LAB_OUT=/run/rcp/out" in env
