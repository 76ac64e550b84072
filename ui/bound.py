"""Widgets whose values are in the URL. Pure: works on the session's and the URL's mappings.

Both can change between two runs of the page's script: the widget when the user changes it, the URL
when the user follows a link. The one that changed since the last run wins.

The browser sends its URL with every run, and that URL may be stale. Clicking a button while editing
a text starts two runs, and the browser requests the second before it knows that the first put the
text into the URL. So if a widget started the run, a URL that equals the previous one is taken as
stale, not as a link back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_MEMORY = "_bound"
"""Session key of the last run's state of each widget."""


class _WidgetState(NamedTuple):
    value: str
    default: str
    url_value: str
    """The value in the browser's URL at the start of the last run."""


def widget_from_url(
    session: Any,
    params: Mapping[str, str],
    name: str,
    default: str,
    options: Sequence[str] | None = None,
) -> str:
    """Set a widget to the URL's value if that changed; return the value for the URL.

    ``session`` is a mapping. A value outside ``options`` counts as the default, which is left out
    of the URL.
    """
    here = params.get(name, default)
    if options is not None and here not in options:
        here = default
    known: dict[str, _WidgetState] = session.setdefault(_MEMORY, {})
    was = known.get(name)
    if name not in session or was is None or was.value != here:
        session[name] = here
    # The URL's value at the start of this run: this run may have changed the URL since.
    url_value = was.url_value if was else params.get(name, default)
    known[name] = _WidgetState(session[name], default, url_value)
    return "" if session[name] == default else str(session[name])


def changed_widgets(
    session: Any, params: Mapping[str, str], is_pressed: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the name of each widget that changes the URL, and its new value there.

    Call this once at the start of a run. ``is_pressed``: a button started the run.
    """
    known: dict[str, _WidgetState] = session.setdefault(_MEMORY, {})
    before = dict(known)
    used = {name for name, was in before.items() if session.get(name) not in (None, was.value)}
    for name, was in before.items():
        now = session.get(name)
        if now is None:
            del known[name]  # a widget of another screen
            continue
        url_value = params.get(name, was.default)
        known[name] = _WidgetState(now, was.default, url_value)
        is_stale = (used or is_pressed) and url_value == was.url_value != now
        if name in used or is_stale:
            yield name, "" if now == was.default else str(now)
