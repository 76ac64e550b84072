"""What all screens share: navigation, the choice of recordings, and opening them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.db.store import StoreError
from rcp.analyzer.reports.answer import answer
from rcp.ui import linked, places, studies, web
from rcp.ui.info import overview, population
from rcp.ui.info.health import health
from rcp.ui.source import Recording, Stamp, given, offered, stamp

NO_OTHER = "none"


@dataclass(frozen=True)
class View:
    """What a screen shows."""

    recording: Recording
    other: Recording | None
    """The recording to compare with, if any."""
    why_no_other: str
    """Why the recording that the address names for comparison is not shown, or ""."""
    role: str
    """Role of the threads whose requests are shown, "" for any."""
    kind: str
    """Kind of the requests shown, "" for all outermost ones."""


_OFFERED_MAX = 12
"""Links to recordings below an error."""

_CHARTS = (
    "Charts: drag to zoom, double-click to reset. Keys on a chart: + - zoom, ← → move, Esc resets."
)

Screen = Callable[[View], None]


def _open(key: Hashable) -> Recording:
    assert isinstance(key, Stamp)
    return Recording(Path(key.path))


def _cached(path: Path) -> Recording:
    try:
        recording: Recording = web.cached(_open, stamp(path))
    except OSError as error:
        raise StoreError(str(error)) from error
    return recording


def open_cached(path: Path) -> Recording:
    """Return a recording, from the cache unless its file changed; raise StoreError."""
    with web.waiting("reading the recording"):
        return _cached(path)


def open_ahead(path: Path) -> None:
    """Open a recording before a page needs it; errors are left for the page to show."""
    try:
        recording = _cached(path)
    except StoreError:
        return
    recording.ask(health)
    _ = recording.id
    roles = population.roles(recording.ask(population.kinds))
    overview.ask_curve(recording.ask, roles[0] if roles else "", "", ())
    recording.prepare()
    recording.ask(answer)


def _known() -> dict[str, Path]:
    """Return the recordings that can be chosen, by path."""
    started_with = given()
    return {
        name: path
        for name, path in offered(started_with).items()
        if path in started_with or not studies.is_study(path)
    }


def _studies() -> list[str]:
    """Return the paths of the studies that can be chosen."""
    return studies.offered(studies.given(), [*(path.parent for path in given()), Path.cwd()])


def _id_of(path: Path) -> str:
    return open_cached(path).id


def _resolve(name: str, id_name: str, usual: str, known: dict[str, Path]) -> None:
    """Set the parameter ``name`` to the file that holds the recording an address means.

    Raises NotHereError. The ``usual`` file is not in addresses; its id is.
    """
    here = web.params()
    wanted = linked.Wanted(here.get(name, ""), here.get(id_name, ""))
    if wanted.file != NO_OTHER:
        first = [usual, *map(str, given())]
        try:
            found = linked.find(wanted, known, first, _id_of)
        except linked.NotHereError as error:
            if wanted.file in _studies():
                raise linked.IsStudyError(wanted.file) from error
            raise
        web.set_param(name, "" if found == usual else found)


def _chosen(known: dict[str, Path]) -> Recording:
    """Show the choice of the recording, and open it; raise NotHereError or StoreError."""
    _resolve("file", "id", next(iter(known)), known)
    with web.sidebar():
        file = Path(web.choose("Recording", list(known), "file", words=_short(known)))
    recording = open_cached(file)
    web.set_param("id", recording.id)
    return recording


def _other(known: dict[str, Path]) -> tuple[Recording | None, str]:
    """Show the choice of the recording to compare with; return it, or why it is not here."""
    started_with = given()
    second = str(started_with[1]) if len(started_with) > 1 else NO_OTHER
    try:
        _resolve("other", "other_id", second, known)
    except linked.NotHereError as error:
        return None, str(error)
    others = [second, *(name for name in (NO_OTHER, *known) if name != second)]
    with web.sidebar():
        other = web.choose("Compare with", others, "other", words=_short(known))
    found = None if other == NO_OTHER else open_cached(Path(other))
    web.set_param("other_id", found.id if found else "")
    return found, ""


def _short(known: dict[str, Path]) -> Callable[[str], str]:
    names = [path.name for path in known.values()]

    def words(name: str) -> str:
        if name == NO_OTHER:
            return "(nothing)"
        path = known[name]
        return path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}"

    return words


def _population(recording: Recording) -> tuple[str, str]:
    """Show the choice of requests; return their role and kind."""
    with web.sidebar():
        kinds = recording.ask(population.kinds)
        role = web.choose(
            "Requests of",
            [*population.roles(kinds), population.ALL],
            "role",
            words=lambda name: "(all threads)" if name == population.ALL else name,
            help="role of the requests' threads",
        )
        of_role = sorted({kind.name for kind in kinds if role in (population.ALL, kind.role)})
        kind = web.choose(
            "Kind",
            [population.ALL, *of_role],
            "kind",
            words=lambda name: "(all outermost)" if name == population.ALL else name,
            help="outermost: not nested in another request, as an fsync in a transaction is",
        )
        return _wanted(role), _wanted(kind)


def _wanted(name: str) -> str:
    return "" if name == population.ALL else name


def offer_roles(view: View) -> None:
    """Show how to set roles when no thread of the recording is foreground."""
    found = view.recording.ask(health)
    web.empty(
        "No thread of this recording has the role foreground, so there are no inversions.",
        "Set the role of your foreground threads and open the new recording:",
    )
    who = found.candidates[0].comm if found.candidates else "NAME"
    rule = shlex.quote(f"foreground=comm:{who}")
    path = shlex.quote(str(view.recording.path))
    web.code(f"rcp-trace roles {path} --set {rule} -o with-roles.duckdb")


def _links(current: str) -> None:
    for path, text in places.SCREENS.items():
        web.link(path, f"**{text}**" if path == current else text, is_plain=True)


def _follow_widgets() -> None:
    """Update the URL from changed widgets. Another recording has other ids and requests."""
    before = web.params()
    web.follow_widgets()
    now = web.params()
    if now.get("file") != before.get("file"):
        for name in ("id", *places.OF_RECORDING):
            web.set_param(name, "")
    if now.get("other") != before.get("other"):
        web.set_param("other_id", "")


def _offer(why: linked.NotHereError, known: dict[str, Path]) -> None:
    """Say that the recording an address names is not here, and offer those that are."""
    web.page_title("Not this recording")
    web.title("Not this recording")
    web.fail(str(why))
    if isinstance(why, linked.IsStudyError):
        web.link("tuning", f"Open the study {why.name}", file=None, id=None, study=why.path)
    short = _short(known)
    for name in list(known)[:_OFFERED_MAX]:
        web.link("overview", f"Open {short(name)}", file=name, id=None)


def names_of(view: View) -> tuple[str, str]:
    """Return the names of the two recordings compared, with their folders where they are alike."""
    assert view.other is not None
    first, second = view.recording.path, view.other.path
    if first.name != second.name:
        return first.name, second.name
    return f"{first.parent.name}/{first.name}", f"{second.parent.name}/{second.name}"


def _title(name: str, view: View) -> tuple[str, str]:
    """Return what a screen shows, for its title: windows of one screen must be told apart."""
    if name == "compare" and view.other is not None:
        return " and ".join(names_of(view)), places.SCREENS[name]
    number = places.number(web.params(), "request") if name == "request" else None
    of = "" if number is None else f" {number}"
    return view.recording.name, places.SCREENS[name] + of


def show(name: str, screen: Screen) -> None:
    """Show a page: navigation and choices on the left, the screen beside them."""
    _follow_widgets()
    web.resend_url()
    known = _known()
    with web.sidebar():
        navigation = web.place()
    try:
        recording = _chosen(known)
        recording.later([])  # this page comes before what may be asked next
        view = View(recording, *_other(known), *_population(recording))
    except linked.NotHereError as error:
        _offer(error, known)
        return
    except StoreError as error:
        web.page_title(places.SCREENS[name])
        web.fail(str(error))
        web.empty("Choose another recording on the left, or restart with one.")
        return
    finally:
        with navigation:  # last, because links carry on the recording's id
            _links(name)
    web.page_title(*_title(name, view))
    with web.sidebar():
        web.caption(_CHARTS)
        if recording.is_running and web.button("Reload", key="again"):
            web.stop()
    try:
        screen(view)
    except StoreError as error:  # from tables that were built after it opened
        web.fail(str(error))


def show_study(screen: Callable[[Path], None]) -> None:
    """Show the page of studies, which needs no recording."""
    web.follow_widgets()
    with web.sidebar():
        _links("tuning")
        known = _studies()
        short = _short({name: Path(name) for name in known})
        chosen = web.choose("Study", known, "study", words=short) if known else ""
    if chosen:
        web.page_title(Path(chosen).name, places.SCREENS["tuning"])
        screen(Path(chosen))
        return
    web.page_title(places.SCREENS["tuning"])
    web.title("Tuning")
    web.empty(
        "There is no study of rcp-tune in this folder or in the recordings' folders.",
        "`rcp-tune --slo p99=10ms@fsync --disk sda -- ./workload.sh` creates rcp-tune.duckdb; "
        "`rcp-trace explore rcp-tune.duckdb` shows it.",
    )
