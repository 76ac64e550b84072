"""What all screens have: links to one another, the choice of recordings, and their opening."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.db.store import StoreError
from rcp.ui import places, studies, web
from rcp.ui.info import population
from rcp.ui.info.health import health
from rcp.ui.source import Recording, Stamp, given, offered, stamp

NO_OTHER = ""


@dataclass(frozen=True)
class View:
    """What a screen is to show."""

    recording: Recording
    other: Recording | None
    """The one to compare with, if any."""
    role: str
    """Role of the requests shown, "" for any."""
    kind: str
    """Kind of them, "" for all outermost ones."""


Screen = Callable[[View], None]


def _open(key: Hashable) -> Recording:
    assert isinstance(key, Stamp)
    return Recording(Path(key.path))


def _kept(path: Path) -> Recording:
    try:
        recording: Recording = web.kept(_open, stamp(path))
    except OSError as error:
        raise StoreError(str(error)) from error
    return recording


def open_kept(path: Path) -> Recording:
    """Return a recording, opened before unless its file has changed; raise StoreError."""
    with web.waiting("reading the recording"):
        return _kept(path)


def open_ahead(path: Path) -> None:
    """Open a recording before a page asks for it; what is wrong with it the page will say."""
    try:
        recording = _kept(path)
    except StoreError:
        return
    recording.ask(health)
    recording.ask(population.kinds)


def _files() -> tuple[Path, Path | None]:
    """Let recordings be chosen of those offered."""
    started_with = given()
    known = {
        name: path
        for name, path in offered(started_with).items()
        if path in started_with or not studies.is_study(path)
    }
    chosen = Path(web.choose("Recording", list(known), "file", words=_short(known)))
    second = str(started_with[1]) if len(started_with) > 1 else NO_OTHER
    others = [second, *(name for name in (NO_OTHER, *known) if name != second)]
    other = web.choose("Compare with", others, "other", words=_short(known))
    return chosen, Path(other) if other else None


def _short(known: dict[str, Path]) -> Callable[[str], str]:
    names = [path.name for path in known.values()]

    def words(name: str) -> str:
        if not name:
            return "(nothing)"
        path = known[name]
        return path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}"

    return words


def _population(recording: Recording) -> tuple[str, str]:
    """Let be chosen which requests are shown: whose, and of what kind."""
    kinds = recording.ask(population.kinds)
    roles = [role for role in population.ROLES if any(kind.role == role for kind in kinds)]
    role = web.choose(
        "Requests of",
        [*roles, population.ANY],
        "role",
        words=lambda name: "(all threads)" if name == population.ANY else name,
        help="role of the threads that made them",
    )
    of_role = sorted({kind.name for kind in kinds if role in (population.ANY, kind.role)})
    kind = web.choose(
        "Kind",
        [population.ANY, *of_role],
        "kind",
        words=lambda name: "(all outermost)" if name == population.ANY else name,
        help="outermost: not inside another one, as an fsync in a transaction is",
    )
    return _wanted(role), _wanted(kind)


def _wanted(name: str) -> str:
    return "" if name == population.ANY else name


def offer_roles(view: View) -> None:
    """Say how roles are set, where no thread of the recording is foreground."""
    found = view.recording.ask(health)
    web.empty(
        "No thread of this recording is foreground, so nothing is judged as an inversion.",
        "Say whose requests somebody waits for, and open the recording again:",
    )
    who = found.candidates[0].comm if found.candidates else "NAME"
    rule = shlex.quote(f"foreground=comm:{who}")
    path = shlex.quote(str(view.recording.path))
    web.code(f"rcp-trace roles {path} --set {rule} -o with-roles.duckdb")


def _links(current: str) -> None:
    for path, text in places.SCREENS.items():
        web.link(path, f"**{text}**" if path == current else text, is_plain=True)


def show(name: str, screen: Screen) -> None:
    """Put a page: links and choices at the left, the screen beside them."""
    web.follow_widgets()
    web.pin()
    with web.sidebar():
        _links(name)
        file, other = _files()
    try:
        recording = open_kept(file)
        compared = open_kept(other) if other else None
    except StoreError as error:
        web.fail(str(error))
        web.empty("Choose another recording at the left, or start again with one.")
        return
    with web.sidebar():
        role, kind = _population(recording)
        if recording.is_running and web.button("Read again", key="again"):
            web.stop()
    try:
        screen(View(recording, compared, role, kind))
    except StoreError as error:  # of what was still being made when it opened
        web.fail(str(error))


def show_study(screen: Callable[[Path], None]) -> None:
    """Put the page of studies, which needs no recording."""
    web.follow_widgets()
    folders = [*(path.parent for path in given()), Path.cwd()]
    with web.sidebar():
        _links("tuning")
        known = studies.offered(studies.given(), folders)
        short = _short({name: Path(name) for name in known})
        chosen = web.choose("Study", known, "study", words=short) if known else ""
    if chosen:
        screen(Path(chosen))
        return
    web.title("Tuning")
    web.empty(
        "No study of rcp-tune is here, nor beside the recordings.",
        "`rcp-tune --slo p99=10ms@fsync --disk sda -- ./workload.sh` makes rcp-tune.duckdb; "
        "`rcp-trace explore rcp-tune.duckdb` shows it.",
    )
