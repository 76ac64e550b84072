import io
import json
import os
import shlex
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.lab import rootfs, vm, wheel
from rcp.lab.cli import main

ROOT = Path(__file__).parents[2]
REPORT = {"facts": "kernel 6.12.1\ncommand_start_s 2.5\ncommand_end_s 4.0\n", "exit-status": "7\n"}


def _lab(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lab whose guest and wheel are stand-ins and whose QEMU writes what disk.tar holds."""
    image = tmp_path / "rootfs.img"
    with image.open("wb") as handle:
        handle.truncate(128 << 20)
    root = rootfs.Rootfs(image, tmp_path / "vmlinuz", tmp_path / "initramfs", "6.12.1", "rootfs-0")

    def ensure(checkout: Path, progress: object, newest: bool = False, anew: bool = False):
        # The guest with the newest kernel has a disk of its own, which a build makes.
        if not newest:
            return root
        ours = replace(root, release="6.12.9", image=tmp_path / "newest.img")
        if anew or not ours.image.exists():
            with ours.image.open("ab") as handle:
                handle.truncate(128 << 20)
            with (tmp_path / "builds").open("a") as builds:
                builds.write("newest\n")
        return ours

    monkeypatch.setattr(rootfs, "ensure", ensure)
    wheel_file = tmp_path / "rcp-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel_file, "w") as archive:
        archive.writestr("rcp/x.py", "")
    monkeypatch.setattr(wheel, "ensure", lambda checkout, progress: wheel_file)
    qemu = tmp_path / "bin" / vm.QEMU
    qemu.parent.mkdir()
    qemu.write_text(
        f"#!{sys.executable}\n"
        "import re, shutil, sys\n"
        "if sys.argv[1] == '--version': sys.exit(print('QEMU 0'))\n"
        "words = ' '.join(sys.argv)\n"
        "disk = re.search(r'id=rcp-out,share=on,mem-path=([^,]*)', words)[1]\n"
        "console = re.search(r'id=console,path=([^ ]*)', words)[1]\n"
        "open(console, 'w').write('rcp-lab: stage up 2.40\\nKernel panic - not syncing\\n')\n"
        f"open(disk, 'r+b').write(open({str(tmp_path / 'disk.tar')!r}, 'rb').read())\n"
    )
    qemu.chmod(0o755)
    monkeypatch.setenv("PATH", f"{qemu.parent}:{os.environ['PATH']}")
    _answer(tmp_path, REPORT)
    return tmp_path


def _answer(lab: Path, members: dict[str, str]) -> None:
    with tarfile.open(lab / "disk.tar", "w") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))


def test_guests_exit_status_and_artefacts_are_returned(lab):
    _answer(lab, {"./a.txt": "artefact"} | REPORT)
    out = lab / "out"
    result = _lab("run", "--timing", "--out", str(out), "--", "exit", "7")
    assert result.exit_code == 7, result.output
    assert (out / "a.txt").read_text() == "artefact"
    told = json.loads((out / "result.json").read_text())
    assert told["outcome"] == "exited"
    assert told["exit_status"] == 7
    assert told["virtual_time"] is True
    assert told["icount_shift"] == 0
    assert told["guest_command_s"] == 1.5
    assert "exit status 7 (virtual time)" in result.stderr
    assert "guest up (guest clock 2.40 s)" in result.stderr


def test_functional_result_states_that_its_times_are_the_hosts(lab):
    out = lab / "out"
    assert _lab("run", "--functional", "--out", str(out), "--", "x").exit_code == 7
    told = json.loads((out / "result.json").read_text())
    assert told["virtual_time"] is False
    assert told["icount_shift"] is None
    assert "no latency here is a measurement" in told["clock"]


def test_lost_machine_is_125_with_the_end_of_its_console(lab):
    _answer(lab, {"./a.txt": "artefact"})
    out = lab / "out"
    result = _lab("run", "--out", str(out), "--", "true")
    assert result.exit_code == 125
    assert "rcp-lab: error: the machine ended before its report was complete" in result.stderr
    assert f"the console is in {out}/console.log" in result.stderr
    assert "  | Kernel panic - not syncing" in result.stderr
    told = json.loads((out / "result.json").read_text())
    assert told["outcome"] == "lost"
    assert told["exit_status"] is None


def test_earlier_results_are_replaced_but_other_files_are_not(lab):
    out = lab / "out"
    _answer(lab, {"./old.txt": ""} | REPORT)
    _lab("run", "--out", str(out), "--", "true")
    assert (out / "old.txt").exists()
    _answer(lab, REPORT)
    _lab("run", "--out", str(out), "--", "true")
    assert not (out / "old.txt").exists()
    (out / "result.json").unlink()
    (out / "mine.txt").write_text("keep")
    result = _lab("run", "--out", str(out), "--", "true")
    assert result.exit_code == 2
    assert result.stderr.endswith(
        f"rcp-lab: error: {out} is not empty and not from an earlier run: "
        "pass another folder with --out\n"
    )
    assert (out / "mine.txt").read_text() == "keep"


def test_dry_run_prints_a_command_a_shell_can_read(lab):
    result = _lab("run", "--timing", "--dry-run", "--out", str(lab / "out"), "--", "true")
    assert result.exit_code == 0
    argv = shlex.split(result.stdout)
    assert argv[0] == vm.QEMU
    assert argv[argv.index("-icount") + 1] == "shift=0,sleep=off"
    assert not (lab / "out").exists()


def test_unknown_scenario_lists_the_known(lab, scenarios):
    result = _lab("run", "--scenarios", str(scenarios), "helo")
    assert result.exit_code == 2
    assert result.stderr == (
        f"rcp-lab: error: no scenario 'helo' in {scenarios} (known: hello): "
        "to run a shell command instead, put -- before it\n"
    )


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["run"], "name a scenario, or put a command after --"),
        (["run", "-e", "A-B=1", "--", "true"], "'A-B=1' is not KEY=VALUE"),
        (["run", "--timing", "--accel", "kvm", "--", "true"], "KVM has no virtual time"),
        (["run", "--timeout", "0", "--", "true"], "0.0 is not in the range"),
        (["shell"], "needs a terminal: use rcp-lab run -- CMD"),
    ],
)
def test_wrong_use_is_explained(lab, args, text):
    result = _lab(*args)
    assert result.exit_code == 2
    assert text in result.stderr


@pytest.mark.parametrize(
    ("missing", "package"),
    [("qemu-system-x86_64", "qemu-system-x86"), ("mmdebstrap", "mmdebstrap")],
)
def test_missing_program_names_its_package(missing, package, cache_dir, tmp_path, monkeypatch):
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in {"qemu-system-x86_64", "mmdebstrap", "mke2fs"} - {missing}:
        (bin_dir / name).write_text("#!/bin/sh\nexit 1\n")
        (bin_dir / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_dir))
    result = _lab("setup")
    assert result.exit_code == 2
    assert result.stderr == (
        f"rcp-lab: error: {missing} is not installed: "
        f"install package {package} (apt-get install {package})\n"
    )


def test_failed_guest_build_shows_its_first_error_and_keeps_the_log(
    cache_dir, tmp_path, monkeypatch
):
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in ("qemu-system-x86_64", "mmdebstrap", "mke2fs"):
        (bin_dir / name).write_text("#!/bin/sh\necho 'E: no archive here' >&2\nexit 1\n")
        (bin_dir / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_dir}:{os.environ['PATH']}")
    result = _lab("setup")
    assert result.exit_code == 2
    log = cache_dir / "rootfs-failed.log"
    assert (
        f"mmdebstrap failed (E: no archive here): see {log}, then run rcp-lab setup again"
        in result.stderr
    )
    assert "no archive here" in log.read_text()


def test_scenarios_are_listed_as_text_and_json(scenarios):
    text = _lab("scenarios", "--scenarios", str(scenarios))
    assert text.output == "hello  (timing, about 20 s)  Says hello\n"
    rows = json.loads(_lab("scenarios", "--scenarios", str(scenarios), "--format", "json").output)
    assert [row["name"] for row in rows] == ["hello"]
    assert rows[0]["timeout_s"] == 600


def test_clean_removes_stale_entries_and_says_how_much(cache_dir):
    current = cache_dir / rootfs.cache_name(ROOT)
    newest = cache_dir / rootfs.cache_name(ROOT, newest=True)
    for folder in (current, newest, cache_dir / "rootfs-old"):
        folder.mkdir(parents=True)
        (folder / "rootfs.img").write_bytes(b"x" * 10_000)
    result = _lab("clean")
    assert "removed rootfs-old" in result.output
    assert current.exists()
    assert newest.exists()
    assert f"bytes in {cache_dir}" in result.output
    assert _lab("clean", "--all").exit_code == 0
    assert list(cache_dir.iterdir()) == []


def test_setup_says_how_the_guest_differs_from_the_documented_one(lab, tmp_path):
    checkout = tmp_path / "checkout"
    (checkout / "fixtures").mkdir(parents=True)
    (checkout / "setup.cfg").write_text("[metadata]\nname = rcp-trace\n")
    (lab / "packages.txt").write_text("fio 3.39-1\nlinux-image 6.12.118-1\n")
    documented = checkout / "fixtures/guest.toml"
    same = '[packages]\nfio = "3.39-1"\nlinux-image = "6.12.118-1"\n'
    other = same.replace("118", "117")

    def told() -> str:
        result = _lab("setup", "-q", "--checkout", str(checkout))
        assert result.exit_code == 0, result.output
        assert result.stdout == f"kernel 6.12.1\nrootfs {lab / 'rootfs.img'}\n"
        return result.stderr

    assert told() == ""
    documented.write_text(same)
    assert told() == ""
    documented.write_text(other)
    assert told() == (
        "rcp-lab: guest differs from the documented one: linux-image 6.12.117-1 → 6.12.118-1\n"
    )


def test_the_guest_with_the_newest_kernel_is_one_beside_the_other(lab, monkeypatch):
    (lab / "packages.txt").write_text("linux-image 6.12.9-1\n")
    result = _lab("setup", "-q", "--newest")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"kernel 6.12.9\nrootfs {lab / 'newest.img'}\n"
    ours = _lab("run", "--newest", "--dry-run", "--", "true").stdout
    assert "newest.img" in ours
    monkeypatch.setenv("RCP_LAB_NEWEST", "1")
    assert _lab("run", "--dry-run", "--", "true").stdout.count("newest.img") == 1
    monkeypatch.delenv("RCP_LAB_NEWEST")
    assert "newest.img" not in _lab("run", "--dry-run", "--", "true").stdout


def test_the_newest_guest_is_built_anew_only_where_that_is_typed(lab, monkeypatch):
    builds = lab / "builds"
    (lab / "packages.txt").write_text("linux-image 6.12.9-1\n")
    monkeypatch.setenv("RCP_LAB_NEWEST", "1")
    for _ in range(2):  # as `make test-lab` does, and each process of its tests
        result = _lab("setup", "-q")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("kernel 6.12.9\n")
    assert builds.read_text() == "newest\n"
    assert _lab("setup", "-q", "--newest").exit_code == 0
    assert builds.read_text() == "newest\n" * 2


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_help_with_examples(name):
    result = _lab(name, "-h")
    assert result.exit_code == 0
    assert f"rcp-lab {name}" in result.output.split("Examples:")[1]


def test_version():
    assert _lab("--version").output.startswith("rcp-lab, version ")


def test_interrupt_is_130_and_recorded(lab, monkeypatch):
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vm, "run", interrupt)
    out = lab / "out"
    result = _lab("run", "--out", str(out), "--", "true")
    assert result.exit_code == 130
    assert result.stderr.endswith("rcp-lab: interrupted\n")
    assert json.loads((out / "result.json").read_text())["outcome"] == "interrupted"
