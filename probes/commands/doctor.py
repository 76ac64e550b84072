"""``rcp-trace doctor``: which probes attach on this kernel, and what the missing ones cost."""

from __future__ import annotations

import subprocess
import sys

import click

from rcp.probes.commands.common import fail, say
from rcp.probes.contract.options import format_option
from rcp.probes.contract.printing.output import print_json, print_text, read_or_not


@click.command("doctor", short_help="Check whether this machine can record.")
@click.option("--no-load", is_flag=True, help="Do not compile and attach the probes.")
@click.option("--mount", is_flag=True, help="Mount tracefs first, if it is not mounted.")
@format_option("text", "json")
def doctor(no_load: bool, mount: bool, kind: str) -> None:
    """Check whether this machine can record, and list what each probe lacks here.

    It names the kernel option that something missing needs, and says whether this kernel was built
    with it, if /proc/config.gz or /boot has its configuration. The exit status is 0 if recording
    is possible and 1 if it is not.

    \b
    Examples:
      sudo rcp-trace doctor
      sudo rcp-trace doctor --mount
      rcp-trace doctor --no-load --format json
    """
    from rcp.probes.diagnosis import as_text, diagnose

    if mount:
        _mount_tracefs()
    diagnosis = diagnose(load=not no_load)
    with read_or_not():
        if kind == "json":
            print_json(diagnosis.as_dict())
        else:
            print_text(as_text(diagnosis))
        sys.stdout.flush()
    sys.exit(1 if diagnosis.obstacle else 0)


def _mount_tracefs() -> None:
    """Mount tracefs unless it is mounted; say so."""
    from rcp.probes.kernel.features import read_features
    from rcp.probes.kernel.obstacles import MOUNT

    features = read_features()
    if features.tracefs or features.tracefs_is_hidden:
        return
    done = subprocess.run(MOUNT, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"`{' '.join(MOUNT)}` failed: {done.stderr.strip()}: run it as root")
    say(f"`{' '.join(MOUNT)}` done.")
