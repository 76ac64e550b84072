"""The command ``rcp-tune``. Tuning itself is not in this release; the name is reserved."""

import click


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="tune kernel knobs until a latency objective holds",
    epilog="This release records and analyses only: see rcp-trace.",
)
@click.version_option(package_name="rcp", prog_name="rcp-tune")
def main() -> None:
    """Tune kernel knobs until a latency objective holds.

    Not in this release: there are no subcommands yet, and no knob is read or written.
    """
