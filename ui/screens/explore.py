"""SQL: what a recording holds, and a place to ask it anything."""

from rcp.analyzer.db.store import StoreError
from rcp.ui import web
from rcp.ui.frame import View, show
from rcp.ui.info import explore
from rcp.ui.info.explore import SAVED, SHOWN, Answer

_ROW_HIGH = 35
"""Height of a row in pixels, the head's too."""

_FIELDS = {
    "name": web.Column("column", width=160),
    "type": web.Column("type", width=100),
    "comment": web.Column("meaning", width=690),
}


def _schema(view: View) -> None:
    web.heading("What a recording holds")
    found = {one.name: one for one in view.recording.ask(explore.relations)}
    name = web.choose("Table or view", list(found), "table")
    chosen = found[name]
    web.caption(f"{chosen.layer} {'table' if chosen.is_table else 'view'}: {chosen.comment}")
    columns = view.recording.ask(explore.fields, name)
    high = min(len(columns), 9) * _ROW_HIGH + _ROW_HIGH + 3
    web.table([field._asdict() for field in columns], _FIELDS, f"schema-{name}", height=high)
    web.link("explore", f"show the rows of {name}", table=name, sql=f"FROM {name}")


def _examples() -> None:
    web.empty("Nothing is asked yet.", "Write a query above, or begin with one of these:")
    for text, sql in explore.EXAMPLES:
        web.link("explore", text, sql=sql)


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
        made = lambda: recording.ask_anew(explore.saved_csv, sql, SAVED)  # noqa: E731
        web.download("CSV", "answer.csv", made, "text/csv")
    with parquet:
        packed = lambda: recording.ask_anew(explore.saved_parquet, sql, SAVED)  # noqa: E731
        web.download("Parquet", "answer.parquet", packed, "application/vnd.apache.parquet")
    with rest:
        web.caption(f"files hold at most {SAVED.rows:,} rows")


def _answer(view: View, sql: str) -> None:
    try:
        with web.waiting(f"asking, for at most {SHOWN.seconds:g} s"):
            found = view.recording.ask(explore.answer, sql, SHOWN)
    except StoreError as error:
        web.fail(str(error))
        return
    if not found.rows:
        web.empty("No rows.", f"Columns: {', '.join(found.columns)}")
        return
    more = "the first " if found.is_cut else ""
    web.caption(f"{more}{len(found.rows):,} rows")
    _table(found)
    _files(view, sql)


def screen(view: View) -> None:
    """Put the screen."""
    web.title(f"Ask {view.recording.name}")
    limits = f"it may take {SHOWN.seconds:g} s and only read; {SHOWN.rows:,} rows are shown"
    sql = web.ask_text("SQL", "sql", example="FROM inversion_pattern", help=limits, height=130)
    web.button("Run", key="run")  # leaving the text is what runs it, and a click does that
    if sql:
        _answer(view, sql)
    else:
        _examples()
    _schema(view)


if __name__ == "__main__":
    show("explore", screen)
