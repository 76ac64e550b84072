"""Groups that import a command when it is run: help and completion list it without that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class Lazy:
    """A command that is not imported yet: where it is, and its line in the group's help."""

    where: str
    """``MODULE:NAME``."""
    short_help: str
    hidden: bool = False

    def load(self) -> click.Command:
        """Import the command."""
        module, _, name = self.where.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


class _Commands(MutableMapping[str, click.Command]):
    """Commands by name; one is imported when it is looked up."""

    def __init__(self, lazy: Mapping[str, Lazy]) -> None:
        self._lazy = lazy
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = self._lazy[name].load()
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._lazy or name in self._loaded

    def __iter__(self) -> Iterator[str]:
        yield from {**self._lazy, **self._loaded}

    def __len__(self) -> int:
        return len({**self._lazy, **self._loaded})


class LazyGroup(click.Group):
    """A group of commands that are imported one at a time."""

    def __init__(self, *, lazy: Mapping[str, Lazy] | None = None, **options: Any) -> None:
        """*lazy*: the commands by name; the other options are click's."""
        self.lazy = dict(lazy or {})
        # click asks a mapping for its keys and for single commands, so this one will do
        super().__init__(commands=_Commands(self.lazy), **options)

    def _listed(self, ctx: click.Context) -> Iterator[tuple[str, str]]:
        """Yield name and short help of the commands that are not hidden."""
        for name in self.list_commands(ctx):
            command: Lazy | click.Command = self.lazy.get(name) or self.commands[name]
            if not command.hidden:
                yield name, command.short_help or ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their short help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._listed(ctx)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, then options."""
        names = [
            CompletionItem(name, help=short_help)
            for name, short_help in self._listed(ctx)
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


class DefaultGroup(LazyGroup):
    """A group where one command needs no name: ``rcp-tune --slo …`` is ``rcp-tune run --slo …``."""

    default: str
    default_takes_words = True
    """Whether the default command's first argument can be a word; else that names a command."""
    own_options: tuple[str, ...] = ("-h", "--help", "--version")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command if the first word is neither a command nor our option."""
        if args and args[0] not in self.commands and args[0] not in self.own_options:
            if self.default_takes_words or args[0].startswith("-"):
                args = [self.default, *args]
            else:
                self._fail_for(ctx, args[0])
        return super().parse_args(ctx, args)

    def _fail_for(self, ctx: click.Context, name: str) -> None:
        close = get_close_matches(name, [known for known, _ in self._listed(ctx)], n=1)
        ctx.fail(f"No such command {name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete what the group has, and what its default command takes."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            known = {item.value for item in found}
            default = self.commands[self.default].shell_complete(ctx, incomplete)
            found += [item for item in default if item.value not in known]
        return found
