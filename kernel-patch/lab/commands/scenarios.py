"""``rcp-lab scenarios``: what rcp-lab run knows."""

from pathlib import Path

import click

from rcp.lab.command import Command
from rcp.lab.commands.options import checkout_option, scenarios_option


@click.command(cls=Command, short_help="List the scenarios.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)
@checkout_option
@scenarios_option
def scenarios(form: str, checkout: Path | None, scenarios_dir: Path | None) -> None:
    """List the scenarios that rcp-lab run knows.

    \b
    Examples:
      rcp-lab scenarios
      rcp-lab scenarios --format json
    """
    from rcp.lab import request, scenario

    found = scenario.load_all(request.scenarios_root(checkout, scenarios_dir))
    if form == "json":
        import json

        rows = [{**vars(item), "path": str(item.path)} for item in found]
        click.echo(json.dumps(rows, indent=2))
        return
    for item in found:
        click.echo(f"{item.name}  ({item.mode}, about {item.typical_wall_s} s)  {item.title}")
        if item.description:
            click.echo(click.wrap_text(item.description.strip(), 96, "    ", "    "))
