"""The guest's input and output: plain tar files on raw disks."""

import configparser
import io
import shlex
import shutil
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rcp.lab.errors import LostVMError, OutputFullError
from rcp.lab.rootfs import guest_file

# The guest's init.sh has the same paths.
GUEST_IN = "/run/rcp/in"
GUEST_OUT = "/run/rcp/out"

_STATUS = "exit-status"
_FACTS = "facts"
_LOST = "artefacts-lost"

_SCRIPT = """\
#!/usr/bin/python3
import sys
from {module} import {function}
sys.exit({function}())
"""


@dataclass(frozen=True)
class Job:
    """A command for the guest, and its inputs.

    *command* is a shell command, run in folder *cwd* of the guest with the variables *env*. *files*
    maps paths below GUEST_IN to files or folders of the host. *modules* are loaded first. *shell*
    starts an interactive shell instead of the command. *shift* deals the run other
    interleavings, see init.sh.
    """

    command: str
    wheel: Path
    cwd: str = "/root"
    env: Mapping[str, str] | None = None
    files: Mapping[str, Path] | None = None
    modules: Sequence[str] = ()
    shell: bool = False
    shift: int = 0


@dataclass(frozen=True)
class GuestReport:
    """The guest's report at its end; times are seconds since boot by the guest's clock."""

    exit_status: int
    kernel: str
    command_start_s: float
    command_end_s: float


def _add_text(tar: tarfile.TarFile, name: str, text: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text)
    info.mode = 0o755
    tar.addfile(info, io.BytesIO(text))


def _as_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    # The host's users do not exist in the guest.
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def _add_project(tar: tarfile.TarFile, wheel: Path) -> None:
    # As pip installs a pure Python wheel: unpack it and write the console scripts.
    scripts = ""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/"):
                continue
            _add_text(tar, f"project/site/{name}", archive.read(name))
            if name.endswith(".dist-info/entry_points.txt"):
                scripts = archive.read(name).decode()
    entries = configparser.ConfigParser(delimiters=("=",))
    entries.read_string(scripts)
    if entries.has_section("console_scripts"):
        for name, target in entries["console_scripts"].items():
            module, _, function = target.partition(":")
            text = _SCRIPT.format(module=module, function=function)
            _add_text(tar, f"project/bin/{name}", text.encode())


def write_input(disk: Path, job: Job) -> None:
    """Write *job* to the raw *disk* that the guest unpacks to GUEST_IN."""
    env = {"RCP_LAB": "1", "RCP_LAB_OUT": GUEST_OUT, "RCP_LAB_IN": GUEST_IN, "HOME": "/root"}
    env |= job.env or {}
    own = {
        "RCP_LAB_CWD": job.cwd,
        "RCP_LAB_MODULES": " ".join(job.modules),
        "RCP_LAB_SHELL": "1" if job.shell else "",
        "RCP_LAB_SHIFT": str(job.shift),
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(env.items())]
    lines += [f"{name}={shlex.quote(value)}" for name, value in own.items()]
    with tarfile.open(disk, "w") as tar:
        _add_text(tar, "lab.env", ("\n".join(lines) + "\n").encode())
        _add_text(tar, "init.sh", guest_file("init.sh"))
        _add_text(tar, "command.sh", f"{job.command}\n".encode())
        _add_project(tar, job.wheel)
        for name, path in (job.files or {}).items():
            tar.add(path, name, filter=_as_root)


def read_output(disk: Path, out: Path) -> GuestReport:
    """Copy the artefacts on the raw *disk* to the folder *out* and return the guest's report.

    Raises LostVMError if the disk has no complete report, OutputFullError if the artefacts did not
    fit on the disk.
    """
    texts: dict[str, str] = {}
    try:
        with tarfile.open(disk, "r:") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if member.name in (_STATUS, _FACTS, _LOST):
                    texts[name] = _text(tar, member)
                elif name != ".":
                    _copy(tar, member, name, out)
    except tarfile.TarError as error:
        raise LostVMError("the machine ended without writing its report") from error
    if not texts.get(_STATUS, "").endswith("\n"):
        raise LostVMError("the machine ended before its report was complete")
    if _LOST in texts:
        raise OutputFullError(
            "the artefacts did not fit on the output disk: raise --output-mb or write less"
        )
    return _report(texts)


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    handle = tar.extractfile(member)
    return handle.read().decode(errors="replace") if handle else ""


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str, out: Path) -> None:
    # Only folders and regular files: a guest must not create links or devices on the host.
    target = out / name
    if ".." in Path(name).parts or Path(name).is_absolute():
        return
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
    elif member.isreg():
        target.parent.mkdir(parents=True, exist_ok=True)
        source = tar.extractfile(member)
        if source:
            with target.open("wb") as handle:
                shutil.copyfileobj(source, handle)


def _report(texts: Mapping[str, str]) -> GuestReport:
    facts = dict(line.split(" ", 1) for line in texts.get(_FACTS, "").splitlines() if " " in line)
    try:
        return GuestReport(
            exit_status=int(texts[_STATUS]),
            kernel=facts["kernel"],
            command_start_s=float(facts["command_start_s"]),
            command_end_s=float(facts["command_end_s"]),
        )
    except (KeyError, ValueError) as error:
        raise LostVMError(f"the machine's report is damaged ({error})") from error
