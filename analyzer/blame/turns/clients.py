"""Clients in the place of the servers that work for them.

While a server does a client's job, what it queues, opens, flushes and locks is the client's::

    backup     asks |~~~~~~~~~~~~~~~~~~~~~~~~|  has its answer
    server           | write | fsync  | locks|  its ios, handles and locks: the backup's

Whose pages are written later, by the flusher, say, is not recorded: those of a file of which a
server writes pages itself, in jobs for clients of one role only, are theirs. A server without a
role that is never awake but for background clients works for them all the time. If nobody else asks
it, what it writes is theirs, also if it rests for reasons of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, group_codes
from rcp.analyzer.arrays.roles import ROLES
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.proxies import between_servers, passed_on
from rcp.analyzer.blame.turns.servers import Servers
from rcp.analyzer.blame.turns.taken_jobs import TakenJobs
from rcp.analyzer.blame.turns.waits import ForWhom
from rcp.analyzer.paths.messages import Messages
from rcp.probes.contract.events import (
    IO_CAUSE,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    PAGE_DROP,
    THROTTLE,
)

Mask = npt.NDArray[np.bool_]

MOST_TIERS = 4
"""Servers that ask others for what they are asked are followed so far."""


@dataclass(frozen=True)
class Clients:
    """The servers of a recording, and their clients."""

    trace: Trace
    suspects: Suspects
    servers: Servers | None
    """None where none is asked for anything."""
    messages: Messages
    taken: TakenJobs

    @staticmethod
    def of(trace: Trace, messages: Messages | None = None) -> Clients:
        """Find them; ``messages``: those of the recording, if they are known already."""
        suspects = Suspects(trace.tasks)
        messages = messages or Messages.of(trace.sleeps, trace.tasks)
        taken = TakenJobs.of(trace.sleeps, trace.tasks, messages)
        if not suspects.background.any() and not trace.sleeps.has_sent.any():
            return Clients(trace, suspects, None, messages, taken)
        sleeps, for_whom = trace.sleeps, ForWhom.themselves(trace.sleeps)
        for _ in range(MOST_TIERS):
            servers = Servers.of(sleeps, trace.tasks, suspects, for_whom)
            found = Clients(
                trace, suspects, servers if len(servers.waits) else None, messages, taken
            )
            known, for_whom = for_whom, found._for_whom(for_whom)
            if known.is_same(for_whom):
                break
        return found

    @cached_property
    def jobs(self) -> Jobs | None:
        """What servers do for clients, as far as answers and the queues of messages tell."""
        servers = self.servers
        if servers is None:
            return None
        return self.taken.join(servers.jobs(), servers.answers, servers.thread)

    @cached_property
    def background_jobs(self) -> Jobs | None:
        """What they do for background clients."""
        return self.jobs.of_clients(self.suspects.background) if self.jobs is not None else None

    @cached_property
    def for_clients(self) -> Jobs | None:
        """What servers without a role do for clients; None for nothing.

        Who has a role does its own work: that it wakes the background, and is woken by it, may mean
        that they take turns.
        """
        if self.work is None or self.servers is None:
            return None
        return self.work.of_servers(self.servers.unknown)

    @cached_property
    def work(self) -> Jobs | None:
        """The jobs, without pauses of those who work for nobody else; None without any.

        Without messages, jobs are too much of a guess.
        """
        if self.servers is None or self.jobs is None or not self.servers.messages_known:
            return None
        ends = (self.trace.sleeps.run, self.trace.ios.completed)
        until = max(int(times.max(initial=0)) for times in ends)
        found = _without_pauses(self.jobs, self._alone, until)
        return found if len(found.server) else None

    @cached_property
    def _alone(self) -> Mask:
        """By thread, whether it works for background clients only."""
        if self.servers is None or self.jobs is None:
            return np.zeros(1, bool)
        return self.servers.serve_background(self.jobs)

    def behind(self, utid: Index, time: Times) -> Index:
        """Return for which client each task (-1: none) works at a time, or else itself."""
        jobs = self.for_clients
        return utid if jobs is None else self._client(jobs, utid, time, utid)

    def _client(self, jobs: Jobs, utid: Index, time: Times, default: Index) -> Index:
        """Return whose of the jobs each task is at; ``default`` where it is at none."""
        thread = self.trace.tasks.thread.astype(np.int64)
        serves = np.zeros(len(thread) + 1, bool)  # the last: no task
        serves[:-1] = np.isin(thread, jobs.server) & ~self.suspects.background
        some = np.flatnonzero(serves[utid])
        job = asof_forward(jobs.server, jobs.end, thread[utid[some]], time[some])
        at_work = (job >= 0) & (np.append(jobs.begin, NEVER)[job] <= time[some])
        found = default.copy()
        found[some[at_work]] = jobs.client[job[at_work]]
        return found

    def _for_whom(self, known: ForWhom) -> ForWhom:
        """Return for whom tasks wait, and end waits, as far as it is ``known`` or jobs tell."""
        servers, jobs, sleeps = self.servers, self.jobs, self.trace.sleeps
        if servers is None or jobs is None or not servers.messages_known:
            return known
        # Servers, and who may be one that they ask.
        jobs = jobs.of_servers(servers.unknown)
        at = between_servers(sleeps, self.suspects, servers)
        sleeper, waker = known.sleeper.copy(), known.waker.copy()
        sleeper[at] = self._client(jobs, sleeps.utid[at], sleeps.ts[at], sleeper[at])
        waker[at] = self._client(jobs, sleeps.waker_utid[at], sleeps.woken[at], waker[at])
        known = replace(known, sleeper=sleeper, waker=waker)
        return passed_on(sleeps, self.suspects, servers, known)

    @cached_property
    def in_their_place(self) -> Trace:
        """The recording as if clients did themselves what servers do for them."""
        trace = self.trace
        if self.for_clients is None:
            return trace
        ios, sleeps, layers = trace.ios, trace.sleeps, trace.layers
        utids = dict(trace.utids)
        for record in (JOURNAL_COMMIT, JOURNAL_HANDLE, THROTTLE, PAGE_DROP):
            ts = trace.rows[record.name]["ts"].astype(np.int64)
            utids[record.name] = self.behind(utids[record.name], ts)
        utids[IO_CAUSE.name] = self._dirtiers()
        sleeps = replace(
            sleeps,
            utid=self.behind(sleeps.utid, sleeps.ts),
            waker_utid=self.behind(sleeps.waker_utid, sleeps.woken),
        )
        return replace(
            trace,
            ios=replace(ios, submitter=self.behind(ios.submitter, ios.queued)),
            layers=replace(layers, owner=self.behind(layers.owner, layers.queued)),
            sleeps=sleeps,
            utids=utids,
        )

    @cached_property
    def told(self) -> Mask:
        """By io, whether it is a client's as answers tell; the last is for no io (-1)."""
        trace, place = self.trace, self.in_their_place
        found: Mask = np.append(place.ios.submitter != trace.ios.submitter, False)
        moved = (place.utids[IO_CAUSE.name] != trace.utids[IO_CAUSE.name]) & (trace.cause_io >= 0)
        found[trace.cause_io[moved]] = True
        return found

    def _dirtiers(self) -> Index:
        """Return whose pages each io_cause row is about.

        What a server dirties and queues itself is the client's for whom it then works.
        """
        dirtier, io = self.trace.utids[IO_CAUSE.name], self.trace.cause_io
        found = dirtier.copy()
        known = np.flatnonzero((io >= 0) & (dirtier >= 0))
        io, dirtier = io[known], dirtier[known]
        above = origins_of(self.trace, of_loops=False)
        own = above.queuer[io] == dirtier
        last = self._of_last_job(dirtier, above.queued[io])
        alone = last >= 0
        client = np.where(own | alone, self.behind(dirtier, above.queued[io]), dirtier)
        client = np.where(alone & (client == dirtier), last, client)
        rows = self.trace.rows[IO_CAUSE.name][known]
        of_file = group_codes(dirtier, rows["dev"], rows["ino"])
        role = self.trace.tasks.role[client].astype(np.int64)
        others = _of_file(of_file, own, client, dirtier, role)
        found[known] = np.where(own | alone, client, others)
        return found

    def _of_last_job(self, utid: Index, time: Times) -> Index:
        """Return whose the last job of each task was that does the background's only, or else -1.

        Such a thread may rest between two jobs for reasons of its own, but writes for them.
        """
        found = np.full(len(utid), -1, np.int32)
        if self.servers is None or self.for_clients is None or self.jobs is None:
            return found
        jobs, thread = self.for_clients, self.trace.tasks.thread[utid]
        some = np.flatnonzero(self.servers.asked_by_background(self.jobs)[thread])
        job = asof_backward(jobs.server, jobs.begin, thread[some], time[some])
        found[some] = np.where(job >= 0, jobs.client[job], -1)
        return found


def _of_file(of_file: Times, own: Mask, client: Index, dirtier: Index, role: Times) -> Index:
    """Return whose pages the rows of a file are that others have queued.

    It is known if all those that the server has queued itself (``own``) are clients' of one role.
    """
    moved = own & (client != dirtier)
    n = int(of_file.max(initial=-1)) + 1
    last, least, most = np.full(n, -1, np.int32), np.full(n, len(ROLES)), np.full(n, -1)
    last[of_file[moved]] = client[moved]
    np.minimum.at(least, of_file[moved], role[moved])
    np.maximum.at(most, of_file[moved], role[moved])
    last[least < most] = -1
    last[of_file[own & ~moved]] = -1
    return np.where(last[of_file] >= 0, last[of_file], dirtier).astype(np.int32)


def _without_pauses(jobs: Jobs, alone: Mask, until: int) -> Jobs:
    """Return the jobs, those of servers that work for nobody else without any pause.

    ``until``: the end of the recording.
    """
    server, client, begin, end = jobs.server, jobs.client, jobs.begin, jobs.end
    is_first = np.r_[True, server[1:] != server[:-1]][: len(server)]
    before = np.where(is_first, 0, np.r_[0, end[:-1]][: len(server)])
    begin = np.where(alone[server], np.minimum(before, begin), begin)
    is_last = np.r_[is_first[1:], True][: len(server)] & (end < until)
    last = np.flatnonzero(is_last & alone[server])
    server, client = np.concatenate((server, server[last])), np.concatenate((client, client[last]))
    begin = np.concatenate((begin, end[last]))
    end = np.concatenate((end, np.full(len(last), until)))
    order = np.lexsort((end, server))
    return Jobs(server[order], client[order], begin[order], end[order])
