"""The command ``rcp-tune``."""

from __future__ import annotations

import click

from rcp.probes.contract.lazy_group import DefaultGroup, Lazy
from rcp.probes.contract.statuses import tells_statuses
from rcp.tuner.commands.common import TuneGroup

_STUDY = "rcp.tuner.commands.study"
_TRIAL_MODULE = "rcp.tuner.commands.trial"
COMMANDS = {
    "run": Lazy("rcp.tuner.commands.run:run", "Search for settings that meet the SLOs."),
    "status": Lazy(f"{_STUDY}:status", "Show the state of a study."),
    "show": Lazy(f"{_STUDY}:show", "List the trials of a study."),
    "explain": Lazy(f"{_STUDY}:explain", "Explain the result of a study."),
    "export": Lazy(f"{_STUDY}:export", "Write the trials as CSV."),
    "compare": Lazy(f"{_STUDY}:compare", "Compare two studies."),
    "merge": Lazy(f"{_STUDY}:merge", "Merge the trials of several studies."),
    "restore": Lazy(
        "rcp.tuner.commands.restore:restore", "Restore the knobs that a killed tuner left changed."
    ),
    "keep": Lazy("rcp.tuner.commands.keep:keep", "Write files that keep settings over a reboot."),
    "verify": Lazy(
        "rcp.tuner.commands.verify:verify", "Compare this machine with the settings that were kept."
    ),
    "profiles": Lazy(
        "rcp.tuner.commands.profiles:profiles", "List and show profiles: settings to start from."
    ),
    "trial": Lazy(f"{_TRIAL_MODULE}:trial", "", hidden=True),
    "describe": Lazy(f"{_TRIAL_MODULE}:describe", "", hidden=True),
}


class _Group(TuneGroup, DefaultGroup):
    """The group ``rcp-tune``, with ``run`` as default: ``rcp-tune --slo … -- WORKLOAD``."""

    default = "run"
    default_takes_words = False  # its workload comes after --


@click.group(
    cls=_Group,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Tune kernel knobs until a latency objective holds.",
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-tune")
@tells_statuses
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
