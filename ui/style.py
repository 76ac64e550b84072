"""CSS of the explorer on top of streamlit's. Pure."""

from __future__ import annotations

from rcp.ui.palette import GRID, LINK, NOTE

_STYLE = """
:root { --rcp-theme: THEME; }
[data-testid="stMainBlockContainer"] { padding: 3.25rem 2rem 3rem; }
[data-testid="stSidebar"] { min-width: 15rem; max-width: 15rem; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] { background: none; padding: 0; }
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] * {
    white-space: normal; color: LINK; font-weight: 400;
}
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] strong { font-weight: 700; }
[data-testid="stMain"] [data-testid="stVerticalBlock"] { gap: 0.6rem; }
[data-testid="stMain"] h1 { font-size: 1.75rem; padding: 0.5rem 0; margin: 0; }
[data-testid="stMain"] h2 { font-size: 1.2rem; padding: 0.6rem 0 0.2rem; margin: 0; }
[data-testid="stHeading"] [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
[data-testid="stCaptionContainer"] { color: NOTE; opacity: 1; }
.st-key-place-answer { min-height: 1.7rem; }
.st-key-place-patterns { min-height: 6rem; }
.st-key-place-whatif { min-height: 4.2rem; }
.st-key-place-graph { overflow-x: auto; }
.st-key-place-graph [data-testid="stVegaLiteChart"] { min-width: 60rem; }
.st-key-place-lanes { overflow-x: auto; }
.st-key-place-lanes [data-testid="stVegaLiteChart"] { min-width: 45rem; }
.rcp-drag { position: fixed; z-index: 9; pointer-events: none; background: LINK; opacity: 0.25; }
svg.marks:focus-visible { outline: 2px solid LINK; outline-offset: 2px; }
svg.marks [role="graphics-symbol"]:focus { outline: 3px solid LINK; outline-offset: 1px; }
.rcp-bar { height: 0.7rem; margin-top: 0.4rem; background: GRID; }
.rcp-bar i { display: block; height: 100%; min-width: 1px; }
.rcp-cell { font-size: 0.875rem; }
@media (min-width: 641px) {
    .rcp-name { position: absolute; clip-path: inset(50%); width: 1px; overflow: hidden; }
}
@media (max-width: 640px) { .st-key-wide-only { display: none; } }
"""
"""With it a chain's text of 100 columns fits into 1280 pixels, and links on a screen wrap."""


def style(is_dark: bool) -> str:
    """Return the CSS for a theme."""
    colours = {"LINK": LINK, "GRID": GRID, "NOTE": NOTE}
    found = _STYLE.replace("THEME", "dark" if is_dark else "light")  # ui/zoom.js reads it
    for name, by_theme in colours.items():
        found = found.replace(name, by_theme[is_dark])
    return found
