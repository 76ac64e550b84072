"""The command ``rcp-tune``."""

from __future__ import annotations

import click

from rcp.tuner.commands.common import TuneGroup
from rcp.tuner.commands.keep import keep
from rcp.tuner.commands.profiles import profiles
from rcp.tuner.commands.restore import restore
from rcp.tuner.commands.run import run
from rcp.tuner.commands.study import compare, explain, export, merge, show, status
from rcp.tuner.commands.trial import describe, trial
from rcp.tuner.commands.verify import verify


class DefaultGroup(TuneGroup):
    """The group ``rcp-tune``, with ``run`` as default: ``rcp-tune --slo … -- WORKLOAD``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert ``run`` unless the first word is a command or an option of the group."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=DefaultGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Tune kernel knobs until a latency objective holds.",
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-tune")
def main() -> None:
    """Tune kernel knobs until a latency objective (SLO) holds.

    rcp-tune confirms the result with fresh runs and shows what each knob contributed. It restores
    every knob on exit; after SIGKILL, at the next start. `rcp-tune keep` writes files that keep a
    result over a reboot. `rcp-tune --slo …` is short for `rcp-tune run --slo …`.

    \b
    Examples:
      sudo rcp-tune --slo p999=50ms --disk sda -- ./workload.sh
      sudo rcp-tune --slo p99=10ms@fsync --disk nvme0n1 --budget 1h -- ./workload.sh
      rcp-tune --slo p99=2ms@read --lab reads-vs-compaction --kernel rcp
      rcp-tune explain rcp-tune.duckdb
    """


STUDIES = (status, show, explain, export, compare, merge)
for command in (run, *STUDIES, restore, keep, verify, profiles, trial, describe):
    main.add_command(command)
