"""SQL: the tables of a recording, and queries on them."""

from rcp.analyzer.db.store import StoreError
from rcp.ui import web
from rcp.ui.frame import View, show
from rcp.ui.info import explore
from rcp.ui.info.explore import SAVED, SHOWN, Answer

_ROW_HIGH = 35
"""Height of a row in pixels, including the header row."""

_FIELDS = {
    "name": web.Column("column", width=160),
    "type": web.Column("type", width=100),
    "comment": web.Column("meaning", width=690),
}


def _schema(view: View) -> None:
    web.heading("Tables and views")
    found = {one.name: one for one in view.recording.ask(explore.relations)}
    name = web.choose("Table or view", list(found), "table")
    chosen = found[name]
    web.caption(f"{chosen.layer} {'table' if chosen.is_table else 'view'}: {chosen.comment}")
    columns = view.recording.ask(explore.fields, name)
    high = min(len(columns), 9) * _ROW_HIGH + _ROW_HIGH + 3
    web.table([field._asdict() for field in columns], _FIELDS, f"schema-{name}", height=high)
    web.link("sql", f"Show the rows of {name}", table=name, sql=f"FROM {name}")


def _examples() -> None:
    web.empty("No query yet.", "Write one above, or start with an example:")
    for text, sql in explore.EXAMPLES:
        web.link("sql", text, sql=sql)


def _table(found: Answer) -> None:
    columns = {
        f"column-{at}": web.Column(name, format="%g" if is_number else "")
        for at, (name, is_number) in enumerate(zip(found.columns, found.is_number, strict=True))
    }
    rows = [dict(zip(columns, row, strict=True)) for row in found.rows]
    web.table(rows, columns, "answer", height=min(len(rows), 11) * _ROW_HIGH + _ROW_HIGH + 3)


def _files(view: View, sql: str) -> None:
    recording = view.recording
    csv, parquet, rest = web.columns(1, 1, 2)
    with csv:
        made = lambda: recording.ask_uncached(explore.saved_csv, sql, SAVED)  # noqa: E731
        web.download("CSV", "answer.csv", made, "text/csv")
    with parquet:
        packed = lambda: recording.ask_uncached(explore.saved_parquet, sql, SAVED)  # noqa: E731
        web.download("Parquet", "answer.parquet", packed, "application/vnd.apache.parquet")
    with rest:
        web.caption(f"files have at most {SAVED.rows:,} rows")


def _answer(view: View, sql: str) -> None:
    try:
        with web.waiting(f"running the query, at most {SHOWN.seconds:g} s"):
            found = view.recording.ask(explore.answer, sql, SHOWN)
    except StoreError as error:
        web.fail(str(error))
        return
    if not found.rows:
        web.empty("No rows.", f"Columns: {', '.join(found.columns)}")
        return
    more = "the first " if found.is_cut else ""
    noun = "row" if len(found.rows) == 1 else "rows"
    web.caption(f"{more}{len(found.rows):,} {noun}")
    _table(found)
    _files(view, sql)


def screen(view: View) -> None:
    """Show the screen."""
    web.title(f"Query {view.recording.name}")
    limits = f"read-only; stopped after {SHOWN.seconds:g} s; shows up to {SHOWN.rows:,} rows"
    sql = web.ask_text("SQL", "sql", example="FROM inversion_pattern", help=limits, height=130)
    web.button("Run", key="run")  # the query runs when the text loses focus, as by this click
    if sql:
        _answer(view, sql)
    else:
        _examples()
    _schema(view)


if __name__ == "__main__":
    show("sql", screen)
