"""Widgets whose values stand in the URL. Pure: works on the session's and the URL's mappings.

Both can change between two runs of the page's script: the widget when the user uses it, the URL
when a link is followed. What changed since the last run wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MEMORY = "_bound"
"""Key of the session under which the last run's (value, default) of each widget is."""


def widget_from_url(
    session: Any,
    params: Mapping[str, str],
    name: str,
    default: str,
    options: Sequence[str] | None = None,
) -> str:
    """Give a widget the URL's value where that changed; return what the URL is to hold.

    ``session`` is a mapping. A value that is none of ``options`` counts as the default, which a
    URL does not name.
    """
    here = params.get(name, default)
    if options is not None and here not in options:
        here = default
    known: dict[str, tuple[str, str]] = session.setdefault(_MEMORY, {})
    if name not in session or known.get(name, ("", ""))[0] != here:
        session[name] = here
    known[name] = (session[name], default)
    return "" if session[name] == default else str(session[name])


def changed_widgets(session: Any) -> Iterator[tuple[str, str]]:
    """Yield the name of each widget that was used since the last run, and its URL's value."""
    known: dict[str, tuple[str, str]] = session.setdefault(_MEMORY, {})
    for name, (value, default) in list(known.items()):
        now = session.get(name)
        if now is None:
            del known[name]  # a widget of another screen
        elif now != value:
            known[name] = (now, default)
            yield name, "" if now == default else str(now)
