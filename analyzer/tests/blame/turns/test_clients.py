"""What a server does for a background client is the client's: its locks, ios, pages and handles."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.fixtures.synth import Synth

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
RECV, POLL = ["unix_stream_read_generic"], ["ep_poll"]
LOCK, WRITEBACK = ["rwsem_down_write_slowpath"], ["folio_wait_writeback"]


class Worker(Synth):
    """A server that works for ``bg`` from 10 ms to 50; it is idle before, and after that.

    ``fg`` asks it too, at 90 ms, unless it works for the background alone. The request of ``fg`` is
    from 20 to 58 ms.
    """

    def __init__(self, *, alone: bool = False) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.server = self.task("fg"), self.task("bg"), self.task("server")
        self.flusher = self.task("kworker/u8:1", kthread=True)
        self.waits(self.server, 1, 10, self.bg)
        self.waits(self.bg, 10.1, 50, self.server)
        self.waits(self.server, 50.1, 90, self.bg if alone else self.fg)
        self.waits(self.bg if alone else self.fg, 90.1, 95, self.server)
        self.request(self.fg, 20 * MS, 58 * MS)

    def waits(
        self, who: int, begin_ms: float, end_ms: float, waker: int, *, stack: list[str] = RECV
    ) -> None:
        """A task waits for a message of another one, after it has sent one."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=stack, sent=True)

    def needs_pages(self, of: int, queuer: int, at: int, *, ino: int = 7) -> None:
        """The request waits from 20 ms to 57 for an io that writes somebody's pages of a file."""
        io = self.io(queuer, at * MS, 57 * MS, ino=ino)
        self.cause(io, of, ino=ino)
        self.sleep(self.fg, 20 * MS, 57 * MS, io=io, stack=WRITEBACK)

    def writes(self, at: int, *, ino: int = 7) -> None:
        """The server writes pages of a file itself."""
        self.cause(self.io(self.server, at * MS, (at + 1) * MS, ino=ino), self.server, ino=ino)

    def blamed(self) -> list[tuple[str, str, float]]:
        return [(row.kind, row.culprit, row.dur / MS) for row in found(self)]


@pytest.mark.parametrize(("until", "culprit"), [(45, "bg"), (55, "server")])
def test_a_lock_that_it_has_is_who_it_works_for(until: int, culprit: str) -> None:
    worker = Worker()
    worker.sleep(worker.fg, 20 * MS, until * MS, waker=worker.server, stack=LOCK)
    (row,) = found(worker)
    assert row[:3] == ("lock", culprit, (until - 20) * MS)
    assert row.confidence == (ANSWER_CONFIDENCE if culprit == "bg" else 0.5)


def test_where_no_message_was_recorded_it_is_the_servers_own() -> None:
    worker = Synth(ROLES)
    fg, bg, server = worker.task("fg"), worker.task("bg"), worker.task("server")
    worker.sleep(server, 1 * MS, 10 * MS, waker=bg, stack=RECV)
    worker.sleep(bg, 11 * MS, 50 * MS, waker=server, stack=RECV)
    worker.request(fg, 20 * MS, 58 * MS)
    worker.sleep(fg, 20 * MS, 45 * MS, waker=server, stack=LOCK)
    (row,) = found(worker)
    assert row[:2] == ("lock", "server")


@pytest.mark.parametrize(("at", "culprit"), [(15, "bg"), (5, "server")])
def test_an_io_that_it_queues_is_whose_job_it_is(at: int, culprit: str) -> None:
    worker = Worker()
    worker.needs_pages(worker.server, worker.server, at)
    (row,) = found(worker)
    assert row[:3] == ("io_dependency", culprit, 37 * MS)
    assert row.confidence == (ANSWER_CONFIDENCE if culprit == "bg" else 0.5)


@pytest.mark.parametrize(
    ("at", "ino", "culprit"), [((15,), 7, "bg"), ((15,), 8, "server"), ((15, 5), 7, "server")]
)
def test_pages_that_others_queue_are_whose_the_file_is(
    at: tuple[int, ...], ino: int, culprit: str
) -> None:
    """The server has written pages of a file itself, in jobs or else."""
    worker = Worker()
    for moment in at:
        worker.writes(moment, ino=ino)
    worker.needs_pages(worker.server, worker.flusher, 16)
    assert worker.blamed() == [("io_dependency", culprit, 37)]


@pytest.mark.parametrize("by", ["others", "itself"])
def test_who_is_awake_for_others_too_does_not_work_for_the_background_between_jobs(
    by: str,
) -> None:
    """Clients on other machines wake it, or its own timer."""
    worker = Worker(alone=True)
    stack = POLL if by == "others" else ["do_nanosleep"]
    worker.sleep(worker.server, 96 * MS, 97 * MS, stack=stack, sent=by == "others")
    worker.request(worker.fg, 97 * MS, 102 * MS)
    worker.sleep(worker.fg, 98 * MS, 102 * MS, waker=worker.server, stack=LOCK)
    assert worker.blamed() == [("lock", "server", 4)]


@pytest.mark.parametrize(("alone", "culprit"), [(True, "bg"), (False, "server")])
def test_who_works_for_the_background_alone_does_so_between_jobs(alone: bool, culprit: str) -> None:
    worker = Worker(alone=alone)
    worker.needs_pages(worker.server, worker.flusher, 16)
    worker.sleep(worker.fg, 57 * MS, round(57.9 * MS), waker=worker.server, stack=LOCK)
    assert [row[:2] for row in worker.blamed()] == [("io_dependency", culprit), ("lock", culprit)]


@pytest.mark.parametrize(
    ("rest", "culprit"),
    [(["futex_wait"], "bg"), (["do_nanosleep"], "bg"), (POLL, "server")],
    ids=["a lock", "a pause", "others' messages"],
)
def test_what_is_written_by_who_is_asked_by_the_background_alone_is_its(
    rest: list[str], culprit: str
) -> None:
    """Whoever queues it: a flusher, or another thread that syncs the file."""
    worker = Worker(alone=True)
    is_message = rest == POLL
    worker.sleep(worker.server, 96 * MS, 97 * MS, stack=rest, sent=is_message)
    worker.needs_pages(worker.server, worker.flusher, 16)
    assert worker.blamed() == [("io_dependency", culprit, 37)]


def test_who_has_a_role_does_its_own_work_though_it_and_the_background_wake_each_other() -> None:
    """They take turns: the background tells the foreground to go on, and waits for its end."""
    turns = Synth(ROLES)
    fg, bg = turns.task("fg"), turns.task("bg")
    for who, begin, end, waker in ((fg, 1, 10, bg), (bg, 11, 50, fg), (fg, 51, 90, bg)):
        turns.sleep(who, begin * MS, end * MS, waker=waker, stack=RECV, sent=True)
    turns.request(fg, 20 * MS, 45 * MS)
    io = turns.io(fg, 21 * MS, 44 * MS, ino=7)
    turns.cause(io, fg, ino=7)
    turns.sleep(fg, 21 * MS, 44 * MS, io=io, stack=WRITEBACK)
    assert found(turns) == []


def test_blocks_of_the_journal_are_whose_job_it_is() -> None:
    worker = Worker()
    jbd2 = worker.task("jbd2/vdb-8", kthread=True)
    worker.handle(worker.server, 12 * MS, 13 * MS, blocks=9)
    worker.handle(worker.fg, 21 * MS, 22 * MS, blocks=1)
    worker.commit(jbd2, 23 * MS, 40 * MS, n_blocks=10)
    trace = trace_of(worker)
    causes = io_causes(trace)
    members = dict(zip(causes.sets.utid.tolist(), causes.sets.share.tolist(), strict=True))
    shares = {trace.tasks.comm[utid]: round(share, 3) for utid, share in members.items()}
    assert shares == {"bg": 0.9, "fg": 0.1}


@pytest.mark.parametrize(("client", "culprits"), [("fg", []), ("other", ["server"])])
def test_what_a_server_does_for_the_foreground_is_no_crime(
    client: str, culprits: list[str]
) -> None:
    """Another client of the foreground waits for a lock that the server has meanwhile."""
    work = Synth(ROLES)
    who, server, fg = work.task(client), work.task("server"), work.task("fg-2")
    for task, begin, end, waker in ((server, 1, 10, who), (who, 11, 50, server)):
        work.sleep(task, begin * MS, end * MS, waker=waker, stack=RECV, sent=True)
    work.sleep(server, 51 * MS, 90 * MS, waker=who, stack=RECV, sent=True)
    work.request(fg, 20 * MS, 58 * MS)
    work.sleep(fg, 20 * MS, 45 * MS, waker=server, stack=LOCK)
    assert [row.culprit for row in found(work)] == culprits


@pytest.mark.parametrize(("fg_at", "culprits"), [((), ["bg"]), ((95,), ["server"])])
def test_a_file_that_both_have_written_through_a_server_is_nobodys(
    fg_at: tuple[int, ...], culprits: list[str]
) -> None:
    """From 90 ms on the server works for the foreground."""
    worker = Worker()
    worker.waits(worker.fg, 95.1, 99, worker.server)
    for moment in (15, *fg_at):
        worker.writes(moment)
    worker.needs_pages(worker.server, worker.flusher, 16)
    assert [row[1] for row in worker.blamed()] == culprits


@pytest.mark.parametrize(("wakes", "culprit"), [("other", "bg"), ("nobody", "server")])
def test_a_message_to_a_queue_may_wake_another_server_than_the_one_that_takes_it(
    wakes: str, culprit: str
) -> None:
    """Else the server is deaf to it, as if it waited for an answer of ``bg`` that it has asked."""
    pool = Synth(ROLES)
    bg, fg = pool.task("bg"), pool.task("fg")
    server, other = pool.task("server"), pool.task("server-2")
    for who, begin, end, waker in (
        (server, 1, 10, bg),
        (bg, 11, 50, server),
        (server, 51, 60, bg),
        (other, 40, 55, fg if wakes == "other" else 0),
        (fg, 56, 99, server),
        (bg, 61, 80, server),
    ):
        pool.sleep(who, begin * MS, end * MS, waker=waker, stack=RECV, sent=True)
    client = pool.task("fg-2")
    pool.request(client, 20 * MS, 58 * MS)
    pool.sleep(client, 20 * MS, 45 * MS, waker=server, stack=LOCK)
    assert [row.culprit for row in found(pool)] == [culprit]


class Database(Synth):
    """``bg`` and then ``fg`` ask a database, through one proxy; it answers them one by one.

    It works for ``bg`` from 12 ms to 50, and then for ``fg`` until 56. The request is from
    20 to 58 ms. If the database *looks*, its work for ``fg`` takes no time, and what it sends wakes
    it again when the proxy takes that.
    """

    def __init__(self, *, looks: bool = False) -> None:
        super().__init__(ROLES)
        self.fg, self.bg = self.task("fg"), self.task("bg")
        self.proxy, self.database = self.task("proxy"), self.task("database")
        self.request(self.fg, 20 * MS, 58 * MS, nr=45)
        self.waits(self.proxy, 1, 10, self.bg)
        self.waits(self.database, 2, 11, self.proxy)
        self.waits(self.bg, 12, 52, self.proxy)
        self.waits(self.proxy, 13, 21, self.fg)
        self.waits(self.fg, 22, 58, self.proxy)
        self.waits(self.proxy, 23, 50, self.database)
        if looks:
            self.waits(self.database, 50.6, 51, self.proxy)
            self.waits(self.database, 51.009, 90, self.proxy, sent=False)
        else:
            self.waits(self.proxy, 53, 56, self.database)
            self.waits(self.database, 57, 90, self.proxy)

    def waits(
        self, who: int, begin_ms: float, end_ms: float, waker: int, *, sent: bool = True
    ) -> None:
        """A task waits for a message of another one."""
        stack = POLL if who == self.proxy else RECV
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=stack, sent=sent)


@pytest.mark.parametrize("looks", [False, True])
def test_a_proxy_passes_on_whose_turn_it_is(looks: bool) -> None:
    """Until 50 ms the database is at the job of ``bg``, though it knows but the proxy."""
    (row,) = found(Database(looks=looks))
    assert row[:3] == ("condition", "bg", 27 * MS)


def test_a_lock_of_the_database_is_whose_job_the_proxy_has_passed_on() -> None:
    database = Database()
    other = database.task("fg-2")
    database.request(other, 30 * MS, 45 * MS)
    database.sleep(other, 30 * MS, 40 * MS, waker=database.database, stack=LOCK)
    assert ("lock", "bg", 10 * MS) in [row[:3] for row in found(database)]


def test_a_dispatcher_gives_a_worker_whose_message_it_has_taken() -> None:
    """The worker has begun when ``bg`` starts to wait, and answers it itself, at 21.1 ms.

    The request asks at 14 ms.
    """
    synth = Synth(ROLES)
    fg, bg, worker = synth.task("fg"), synth.task("bg"), synth.task("worker")
    passes = synth.task("dispatcher")

    def waits(who: int, begin_ms: float, end_ms: float, waker: int) -> None:
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        synth.sleep(who, begin, end, waker=waker, stack=RECV, sent=True)

    waits(worker, 1, 11, passes)
    waits(passes, 2, 10.9, bg)
    waits(passes, 11.01, 13.9, fg)
    synth.sleep(worker, 11_020_000, 21 * MS, io=synth.io(worker, 11_020_000, 21 * MS))
    waits(bg, 11.05, 21.1, worker)
    synth.sleep(worker, 21_200_000, 31 * MS, io=synth.io(worker, 21_200_000, 31 * MS))
    synth.request(fg, 13_800_000, 32 * MS, nr=45)
    waits(fg, 14, 31.1, worker)
    waits(worker, 31.2, 50, passes)
    assert [row[:3] for row in found(synth)] == [("condition", "bg", 7_100_000)]
