"""Run in the guest by test_lab_rcpdisk.py: exercises rcpdisk, writes what it saw as JSON."""

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

CONFIG = Path("/sys/kernel/config/rcpdisk")
TRACING = Path("/sys/kernel/tracing")
OUT = Path(os.environ["RCP_LAB_OUT"])

# Per file: values that must be refused, whatever the preset.
WRONG = ["", "x", "-1", "99999999999999999999", "1 2", "0x1", "1" * 3000, "NaN"]


def write_error(path: Path, text: str) -> int:
    """Return the errno that writing *text* to *path* gives, 0 for none."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError as error:
        return error.errno or -1
    try:
        os.write(descriptor, text.encode() or b"\n")
    except OSError as error:
        return error.errno or -1
    finally:
        os.close(descriptor)
    return 0


def make_disk(name: str, **settings: object) -> Path:
    """Make and switch on a disk; return its folder in /sys/block."""
    folder = CONFIG / name
    folder.mkdir()
    for key in ("preset", *(key for key in settings if key != "preset")):
        if key in settings:
            (folder / key).write_text(f"{settings[key]}\n")
    (folder / "power").write_text("1\n")
    block = Path("/sys/block") / name
    (block / "queue/scheduler").write_text("none\n")
    return block


def drop_disk(name: str) -> None:
    (CONFIG / name).rmdir()


def stats(block: Path) -> dict[str, int]:
    lines = (block / "rcpdisk/stats").read_text().split()
    return {name: int(value) for name, value in zip(lines[::2], lines[1::2], strict=True)}


def fio(name: str, *options: str) -> dict[str, object]:
    """Run fio on disk *name* with direct asynchronous I/O; return its first job's report."""
    command = ["fio", "--name=x", f"--filename=/dev/{name}", "--direct=1", "--ioengine=libaio"]
    command += ["--randseed=23", "--norandommap", "--clocksource=clock_gettime", "--eta=never"]
    command += ["--output-format=json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"fio {options}: {done.stderr}{done.stdout[-500:]}")
    report: dict[str, object] = json.loads(done.stdout)["jobs"][0]
    return report


def clat_us(report: dict[str, object], percentile: str) -> float:
    return report["read"]["clat_ns"]["percentile"][percentile] / 1000  # type: ignore[index,call-overload,no-any-return]


def refusals() -> dict[str, object]:
    """Write what must be refused to every knob; list what was not, or what changed a value."""
    block = make_disk("rcpd0", preset="sata_ssd", size_mb=64)
    folder = block / "rcpdisk"
    names = sorted(path.name for path in folder.iterdir())
    bad = []
    for name in names:
        before = (folder / name).read_text()
        for text in WRONG:
            error = write_error(folder / name, text)
            if error != errno.EINVAL or (folder / name).read_text() != before:
                bad.append([name, text[:20], error])
    while_on = {
        name: write_error(CONFIG / "rcpd0" / name, "1") for name in ("size_mb", "hw_queues")
    }
    other_name = 0
    try:
        (CONFIG / "disk0").mkdir()
    except OSError as error:
        other_name = error.errno or -1
    unload = subprocess.run(["rmmod", "rcpdisk"], capture_output=True, check=False).returncode
    drop_disk("rcpd0")
    return {
        "knobs": names,
        "not_refused": bad,
        "while_on": while_on,
        "other_name": other_name,
        "unload_in_use": unload,
    }


def counts() -> dict[str, object]:
    """Send 23 reads and 29 writes; see what the device and its tracepoints counted."""
    block = make_disk("rcpd0", preset="sata_ssd", size_mb=64)
    events = TRACING / "events/rcpdisk"
    (TRACING / "trace").write_text("")
    (block / "rcpdisk/stats").write_text("0")
    (events / "enable").write_text("1")
    fio("rcpd0", "--rw=randread", "--bs=4k", "--number_ios=23", "--iodepth=4", "--size=64m")
    fio("rcpd0", "--rw=randwrite", "--bs=4k", "--number_ios=29", "--iodepth=8", "--size=64m")
    (events / "enable").write_text("0")
    trace = (TRACING / "trace").read_text()
    seen = {
        f"{event} {op}": sum(
            f"rcpdisk_{event}: " in line and f" {op} sector" in line for line in trace.splitlines()
        )
        for event in ("arrive", "start", "done")
        for op in ("read", "write")
    }
    told = stats(block)
    drop_disk("rcpd0")
    return {"stats": told, "trace": seen, "sample": trace.splitlines()[-1]}


def integrity() -> dict[str, object]:
    """Let fio write and verify across sizes and depths, with fsync and changing presets."""
    block = make_disk("rcpd0", preset="hdd7200", size_mb=96)
    stop = threading.Event()

    def disturb() -> None:
        presets = ["sata_ssd", "hdd7200", "optane", "nvme", "sata_ssd_plp", "nvme_dc"]
        turn = 0
        while not stop.wait(0.02):
            (block / "rcpdisk/preset").write_text(presets[turn % len(presets)])
            for path in (block / "rcpdisk").iterdir():
                path.read_text()
            turn += 1

    thread = threading.Thread(target=disturb)
    thread.start()
    options = ["--rw=randwrite", "--bsrange=512-256k", "--size=48m", "--io_size=96m"]
    report = fio(
        "rcpd0", *options, "--iodepth=32", "--fsync=16", "--verify=crc32c", "--verify_fatal=1"
    )
    stop.set()
    thread.join()
    told = stats(block)
    drop_disk("rcpd0")
    return {"error": report["error"], "verified": report["read"]["total_ios"], "stats": told}  # type: ignore[index]


def interference() -> dict[str, object]:
    """Read alone, beside deep background reads, and with the drive honouring priority."""
    block = make_disk("rcpd0", preset="hdd7200", size_mb=4096)
    result: dict[str, object] = {}
    for case, honor in (("alone", "0"), ("beside", "0"), ("honoured", "1")):
        (block / "rcpdisk/honor_prio").write_text(honor)
        background = None
        if case != "alone":
            command = ["fio", "--name=b", "--filename=/dev/rcpd0", "--direct=1", "--rw=randread"]
            command += ["--ioengine=libaio", "--iodepth=31", "--bs=4k", "--norandommap"]
            command += ["--time_based", "--runtime=100000", "--clocksource=clock_gettime"]
            background = subprocess.Popen([*command, "--eta=never"], stdout=subprocess.DEVNULL)
            while stats(block)["inflight_other"] < 31:
                pass
        options = ["--rw=randread", "--bs=4k", "--iodepth=1", "--number_ios=100"]
        report = fio("rcpd0", *options, "--prioclass=1", "--prio=0")
        result[case] = {
            "p50_us": clat_us(report, "50.000000"),
            "p99_us": clat_us(report, "99.000000"),
            "max_prio": stats(block)["max_inflight_prio"],
        }
        if background:
            background.terminate()
            background.wait()
    result["max_other"] = stats(block)["max_inflight_other"]
    drop_disk("rcpd0")
    return result


def main() -> None:
    steps = (refusals, counts, integrity, interference)
    (OUT / "rcpdisk.json").write_text(json.dumps({step.__name__: step() for step in steps}))
    subprocess.run(["rmmod", "rcpdisk"], check=True)


if __name__ == "__main__":
    main()
