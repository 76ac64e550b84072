"""The page in the browser: the only module that imports streamlit.

Texts of a recording are never interpreted as Markdown or HTML: ``say``, tables and charts show them
verbatim, other functions escape them with ``texts.label``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from rcp.ui import bound, places, texts
from rcp.ui.rows import check_rows
from rcp.ui.style import style
from rcp.ui.texts import label, prose, shown

CACHED_MAX = 4  # recordings open at once: two to compare, and the two before them

_ZOOM_SCRIPT = (Path(__file__).parent / "zoom.js").read_text(encoding="utf-8")

_BUTTONS = "_buttons"
"""Session key of the set of button keys."""

Selected = list[dict[str, Any]]


class Column(NamedTuple):
    """How a table shows one field."""

    title: str
    help: str = ""
    format: str = ""
    """A printf format for numbers, or "" as it is."""
    width: int | None = None
    """In pixels; None fits the column to its texts."""


def run_screens(screens: Mapping[str, Path]) -> None:
    """Show the screen that the URL names; ``screens`` maps URL paths to scripts."""
    st.set_page_config(page_title="rcp", layout="wide", menu_items={"About": None})
    st.html(f"<style>{style(is_dark())}</style>")
    st.html(f"<script>{_ZOOM_SCRIPT}</script>", unsafe_allow_javascript=True)
    pages = {
        name: st.Page(script, title=places.SCREENS[name], url_path=name, default=not at)
        for at, (name, script) in enumerate(screens.items())
    }
    st.session_state["_pages"] = pages
    former = [
        st.Page(screens[name], title=places.SCREENS[name], url_path=path)
        for path, name in places.ALIASES.items()
    ]
    current = st.navigation([*pages.values(), *former], position="hidden")
    current.run()


def page_title(*parts: str) -> None:
    """Set the title of the browser's window."""
    st.set_page_config(page_title=" · ".join([*map(shown, parts), "rcp"]))


def params() -> dict[str, str]:
    """Return the parameters of the URL."""
    return {str(name): str(value) for name, value in st.query_params.to_dict().items()}


def set_param(name: str, value: object) -> None:
    """Set a parameter of the URL; None or "" removes it."""
    text = str(value or "")
    if params().get(name, "") == text:
        return  # each change is sent to the browser
    if text:
        st.query_params[name] = text
    else:
        del st.query_params[name]


def resend_url() -> None:
    """Send the URL to the browser again: a link from a screen to itself does not change it."""
    st.query_params.from_dict(params())


def is_dark() -> bool:
    """Whether the theme is dark."""
    return bool(st.context.theme.type == "dark")


def cached(make: Callable[[Hashable], Any], key: Hashable) -> Any:
    """Return ``make(key)`` from the server's cache, which closes the oldest entries it drops."""
    return _cached(make, key)


def _make(_make: Callable[[Hashable], Any], key: Hashable) -> Any:
    return _make(key)


# Called and not used as a decorator, which would make the function untyped where streamlit, an
# optional package, is not installed.
_cached: Any = st.cache_resource(
    max_entries=CACHED_MAX, show_spinner=False, on_release=lambda made: made.close()
)(_make)


def link(screen: str, text: str, *, is_plain: bool = False, **changes: object) -> None:
    """Show a link to a screen, with the shared parameters of this page and ``changes``.

    ``text`` may come from a recording unless ``is_plain``, when it may hold Markdown.
    """
    pages = st.session_state["_pages"]
    st.page_link(
        pages[screen],
        label=text if is_plain else label(text),
        query_params=places.carried(params(), **changes),
    )


def go(screen: str, **changes: object) -> None:
    """Switch to another screen."""
    pages = st.session_state["_pages"]
    st.switch_page(pages[screen], query_params=places.carried(params(), **changes))


def title(text: str) -> None:
    """Show the heading of a screen."""
    st.title(label(text), anchor=False)


def heading(text: str, help: str | None = None) -> None:
    """Show the heading of a section."""
    st.header(label(text), anchor=False, help=help)


def lead(text: str) -> None:
    """Show the sentence that a screen begins with; it may contain texts of a recording."""
    st.markdown(f"**{label(text)}**")


def bar(share: float, text: str, colour: str, name: str = "") -> None:
    """Show a share of 0 to 1 as a bar, with a text below it that says the same; see ``cell``."""
    st.html(texts.bar(share, text, colour, name))


def cell(name: str, text: str) -> None:
    """Show a text below the column title ``name``, which narrow screens show beside the text."""
    st.html(texts.named(name, text))


def say(text: str) -> None:
    """Show a paragraph that may contain texts of a recording."""
    st.text(shown(text))


def caption(text: str, *, is_narrow: bool = False) -> None:
    """Show a small note that may contain texts of a recording; in a ``row`` a narrow one."""
    st.caption(label(text), width="content" if is_narrow else "stretch")


def empty(text: str, remedy: str = "") -> None:
    """Show that there is nothing to show, and the remedy."""
    st.info(prose(text) + (f"\n\n{prose(remedy)}" if remedy else ""))


def warn(text: str) -> None:
    """Show a warning."""
    st.warning(prose(text))


def fail(text: str) -> None:
    """Show an error in one line."""
    st.error(prose(text))


def stop() -> None:
    """End the page here."""
    st.stop()


def code(text: str, language: str | None = None) -> None:
    """Show text to copy."""
    st.code(text, language=language, wrap_lines=True)


def metric(name: str, value: str, help: str | None = None) -> None:
    """Show one figure under its name."""
    st.metric(label(name), shown(value), help=help)


def columns(*widths: float) -> list[Any]:
    """Return columns side by side, each a context manager."""
    return list(st.columns(list(widths)))


def place(name: str = "") -> Any:
    """Return a place on the page that is filled later, a context manager.

    The style sheet keeps room for the contents of one with a ``name``.
    """
    return st.container(key=f"place-{name}" if name else None)


def row() -> Any:
    """Return a place whose contents are beside each other, as far as there is room."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def wide_only() -> Any:
    """Return a place that only wide screens show."""
    return st.container(key="wide-only")


def sidebar() -> Any:
    """Return the sidebar, a context manager."""
    return st.sidebar


@contextmanager
def folded(text: str, *, is_open: bool = False) -> Iterator[None]:
    """Put the block into a section that can be folded."""
    with st.expander(label(text), expanded=is_open):
        yield


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner while the block runs."""
    with st.spinner(text):
        yield


def _follow_url(name: str, default: str, options: Sequence[str] | None = None) -> None:
    set_param(name, bound.widget_from_url(st.session_state, params(), name, default, options))


def follow_widgets() -> None:
    """Update the URL from changed widgets, before links copy its parameters."""
    pressed = any(st.session_state.get(key) for key in st.session_state.get(_BUTTONS, ()))
    for name, value in bound.changed_widgets(st.session_state, params(), pressed):
        set_param(name, value)


def choose(
    text: str,
    options: Sequence[str],
    name: str,
    *,
    words: Callable[[str], str] = str,
    help: str | None = None,
) -> str:
    """Show a choice of ``options`` bound to the URL's parameter ``name``; return the chosen one."""
    _follow_url(name, options[0], options)
    return str(st.selectbox(text, options, key=name, format_func=words, help=help))


def ask_text(
    text: str, name: str, *, example: str = "", help: str | None = None, height: int | None = None
) -> str:
    """Show a text field bound to the URL's parameter ``name``; with a ``height``, multi-line."""
    _follow_url(name, "")
    words: dict[str, Any] = {"placeholder": example, "help": help, "key": name}
    if height:
        return (st.text_area(text, height=height, **words) or "").strip()
    return (st.text_input(text, **words) or "").strip()


def button(text: str, key: str) -> bool:
    """Show a button; return whether it was pressed."""
    st.session_state.setdefault(_BUTTONS, set()).add(key)
    return bool(st.button(text, key=key))


def download(text: str, name: str, data: bytes | Callable[[], bytes], mime: str) -> None:
    """Show a button that saves ``data`` as a file; a function is called when it is pressed."""
    st.download_button(text, data, file_name=name, mime=mime, on_click="ignore")


def chart(
    spec: Mapping[str, Any], key: str, *, on_pick: Callable[[Selected], None] | None = None
) -> None:
    """Draw a Vega-Lite specification; call ``on_pick`` when its parameter ``pick`` changes."""
    for name, rows in spec.get("datasets", {}).items():
        check_rows(name, rows)

    def picked() -> None:
        found = st.session_state[key].selection.get("pick", [])
        if on_pick:
            on_pick([dict(item) for item in found] if isinstance(found, list) else [])

    options: dict[str, Any] = {"on_select": picked, "selection_mode": "pick"} if on_pick else {}
    st.vega_lite_chart(spec=dict(spec), key=key, theme=None, width="stretch", **options)


def at_first(key: str, value: str) -> str:
    """Return the ``value`` that was chosen when the chart ``key`` was first drawn, "" without any.

    A chart that is drawn with the choice of the address must not be drawn anew after each click.
    """
    if key not in st.session_state:  # a first visit, or one after another screen
        st.session_state[f"_first-{key}"] = value
    return str(st.session_state.get(f"_first-{key}", "")) if value else ""


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Column],
    key: str,
    *,
    selecting: bool = False,
    selected: int | None = None,
    height: int | None = None,
    row_height: int | None = None,
) -> int | None:
    """Show a table of ``rows`` by field; return the selected row, initially ``selected``."""
    check_rows(f"table {key}", rows)
    frame = pd.DataFrame(
        {name: [_cell(row[name]) for row in rows] for name in columns}, columns=list(columns)
    )
    options: dict[str, Any] = {"height": height} if height else {}
    if row_height:
        options["row_height"] = row_height  # texts wrap where there is room for more lines
    if selecting:
        options |= {"on_select": "rerun", "selection_mode": "single-row"}
    if selecting and selected is not None:
        options["selection_default"] = {"selection": {"rows": [selected], "columns": []}}
    state: Any = st.dataframe(
        frame,
        key=key,
        hide_index=True,
        column_config={name: _config(column) for name, column in columns.items()},
        **options,
    )
    chosen = state.selection.rows if selecting else []
    return int(chosen[0]) if chosen else None


def _cell(value: Any) -> Any:
    return shown(value) if isinstance(value, str) else value


def _config(column: Column) -> Any:
    words: dict[str, Any] = {"help": column.help or None, "width": column.width}
    if column.format:
        return st.column_config.NumberColumn(column.title, format=column.format, **words)
    return st.column_config.Column(column.title, **words)
