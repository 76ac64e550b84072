"""The command line of the lab: rcp-lab.

What builds and boots is imported inside the functions of commands: help and completion need none of
it.
"""

import click

from rcp.lab.command import catch_signals
from rcp.lab.commands.build import build
from rcp.lab.commands.clean import clean
from rcp.lab.commands.run import run_command
from rcp.lab.commands.scenarios import scenarios
from rcp.lab.commands.setup import setup
from rcp.lab.commands.shell import shell
from rcp.probes.contract.statuses import tells_statuses

_CONTEXT = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=_CONTEXT, short_help="Run commands on a real kernel in virtual time.")
@click.version_option(package_name="rcp-trace", prog_name="rcp-lab")
@tells_statuses
def main() -> None:
    """Run commands and scenarios on a real Linux kernel in an emulated machine.

    With --timing the machine's clock counts instructions, so latencies are the same on a busy
    laptop and on a quiet server. It needs neither KVM nor root, and builds a kernel only if you
    choose the patched one.

    \b
    Examples:
      rcp-lab setup
      rcp-lab run --timing wal-vs-checkpoint
      rcp-lab run --functional -- 'uname -r; nproc'
    """
    catch_signals()


for _command in (setup, build, run_command, shell, scenarios, clean):
    main.add_command(_command)
