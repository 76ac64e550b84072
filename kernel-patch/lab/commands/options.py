"""Options that several commands of rcp-lab have."""

from pathlib import Path

import click

checkout_option = click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Source tree of rcp to test.  [default: the one that contains the working directory, "
    "else the installed rcp]",
)
memory_option = click.option(
    "--memory", "memory_mb", type=click.IntRange(min=512), help="Guest memory in MiB."
)
newest_option = click.option(
    "--newest",
    is_flag=True,
    envvar="RCP_LAB_NEWEST",
    show_envvar=True,
    help="Use the guest with Debian's newest kernel, not the one the patches are for; "
    "rcp-lab setup --newest builds it anew.",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
scenarios_option = click.option(
    "--scenarios",
    "scenarios_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of scenarios.  [default: fixtures/scenarios of the checkout]",
)
