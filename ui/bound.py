"""Widgets whose values stand in the URL. Pure: works on the session's and the URL's mappings.

Both can change between two runs of the page's script: the widget when the user uses it, the URL
when a link is followed. What changed since the last run wins.

The browser tells its URL with every run, and that may be an old one: whoever leaves a text by
clicking a button has two runs begun, and the second is asked for before the browser knows that the
first has put the text into the URL. So a URL that says what it said before is taken for old, not
for a link back, where the run was begun by a widget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_MEMORY = "_bound"
"""Key of the session under which what the last run knew of each widget is."""


class _Known(NamedTuple):
    value: str
    default: str
    told: str
    """What the browser's URL said when the last run began."""


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
    known: dict[str, _Known] = session.setdefault(_MEMORY, {})
    was = known.get(name)
    if name not in session or was is None or was.value != here:
        session[name] = here
    # This run itself may have changed the URL of what was known.
    told = was.told if was else params.get(name, default)
    known[name] = _Known(session[name], default, told)
    return "" if session[name] == default else str(session[name])


def changed_widgets(
    session: Any, params: Mapping[str, str], is_pressed: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the name of each widget that is to change the URL, and the URL's value.

    Called once as a run begins. ``is_pressed`` tells that a button began it.
    """
    known: dict[str, _Known] = session.setdefault(_MEMORY, {})
    before = dict(known)
    used = {name for name, was in before.items() if session.get(name) not in (None, was.value)}
    for name, was in before.items():
        now = session.get(name)
        if now is None:
            del known[name]  # a widget of another screen
            continue
        told = params.get(name, was.default)
        known[name] = _Known(now, was.default, told)
        is_old = (used or is_pressed) and told == was.told != now
        if name in used or is_old:
            yield name, "" if now == was.default else str(now)
