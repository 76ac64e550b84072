"""Perfetto's wire format: tracks, slices, flows, counters and scheduler events as packets.

The only module that imports ``perfetto``. A reader drops packets without an error when one of
these three rules of the format is broken, so only this module deals with them:

* a name is sent once, in the packet that first uses it, and by number afterwards; the first
  packet of the sequence must say that numbering restarts;
* begins and ends of slices are matched by track and order, not by id;
* a flow leads from the event that names it first to each that names it later, in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

Args = Mapping[str, Any]
"""Annotations of a slice; those that are None are left out."""

_SEQUENCE_ID = 1
_DESCRIPTORS_SEQUENCE_ID = 2  # on the events' sequence a thread would become their default
_CLEARED = proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_NEEDED = proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
_REALTIME, _MONOTONIC, _BOOTTIME = 1, 3, 6  # perfetto/common/builtin_clock.proto
_BEGIN = proto.TrackEvent.TYPE_SLICE_BEGIN
_END = proto.TrackEvent.TYPE_SLICE_END
_INSTANT = proto.TrackEvent.TYPE_INSTANT
_COUNTER = proto.TrackEvent.TYPE_COUNTER

BUNDLE_EVENTS = 1000
"""Scheduler events per packet: a bundle costs a few bytes; a packet per event doubles the file."""

HARDIRQ_FLAG, SOFTIRQ_FLAG = 8, 16  # TRACE_FLAG_HARDIRQ, _SOFTIRQ: linux/trace_events.h


@dataclass(frozen=True)
class Slice:
    """An interval on a track; ``end`` is None if it did not end."""

    ts: int
    end: int | None
    name: str
    args: Args = field(default_factory=dict)
    flows: Sequence[int] = ()


@dataclass(frozen=True)
class Switch:
    """A CPU switched from one thread to another; thread id 0 is idle."""

    cpu: int
    ts: int
    prev: int
    prev_comm: str
    prev_state: int
    next: int
    next_comm: str


@dataclass(frozen=True)
class Waking:
    """A thread was made runnable by ``waker`` on ``cpu``, or by an interrupt there."""

    cpu: int
    ts: int
    tid: int
    comm: str
    waker: int
    flags: int
    target_cpu: int
    function: str | None
    """Kernel function the thread slept in."""


class Packets:
    """Writes one trace, packet by packet, to a file open for writing bytes."""

    def __init__(self, out: IO[bytes], monotonic_ns: int, realtime_ns: int) -> None:
        """Begin a trace; the two times are the same moment by two clocks."""
        self._builder = StreamingTraceProtoBuilder(out)
        kinds = ("event", "annotation", "text", "function")
        self._names: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
        self._next_uuid = 0
        packet = self._packet()
        packet.sequence_flags = _CLEARED
        packet.trace_packet_defaults.timestamp_clock_id = _MONOTONIC
        self._builder.write_packet(packet)
        self._clocks(monotonic_ns, realtime_ns)

    def _packet(self) -> proto.TracePacket:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE_ID
        packet.sequence_flags = _NEEDED
        return packet

    def _clocks(self, monotonic_ns: int, realtime_ns: int) -> None:
        packet = self._packet()
        snapshot = packet.clock_snapshot
        snapshot.primary_trace_clock = _MONOTONIC
        # Ftrace events carry boot time, which differs from monotonic time only by suspends.
        for clock, now in (
            (_BOOTTIME, monotonic_ns),
            (_MONOTONIC, monotonic_ns),
            (_REALTIME, realtime_ns),
        ):
            snapshot.clocks.add(clock_id=clock, timestamp=now)
        self._builder.write_packet(packet)

    def system(self, release: str, version: str, machine: str, n_cpus: int) -> None:
        """Write the kernel's version: the meaning of thread states depends on it."""
        packet = self._packet()
        packet.system_info.utsname.sysname = "Linux"
        packet.system_info.utsname.release = release
        packet.system_info.utsname.version = version
        packet.system_info.utsname.machine = machine
        packet.system_info.num_cpus = n_cpus
        self._builder.write_packet(packet)

    def tree(self, ts: int, threads: Iterable[tuple[int, int, int, str]]) -> None:
        """Name threads: (tid, pid, parent's pid, name); a process has the name of its leader."""
        packet = self._packet()
        packet.timestamp = ts
        for tid, pid, ppid, comm in threads:
            if tid == pid:
                packet.process_tree.processes.add(pid=pid, ppid=ppid, cmdline=[comm])
            packet.process_tree.threads.add(tid=tid, tgid=pid, name=comm)
        self._builder.write_packet(packet)

    def _track(self, **fields: Any) -> int:
        self._next_uuid += 1
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id = _DESCRIPTORS_SEQUENCE_ID
        packet.track_descriptor.uuid = self._next_uuid
        for name, value in fields.items():
            if isinstance(value, dict):
                getattr(packet.track_descriptor, name).MergeFrom(
                    getattr(proto, f"{name.title()}Descriptor")(**value)
                )
            elif value is not None:
                setattr(packet.track_descriptor, name, value)
        self._builder.write_packet(packet)
        return self._next_uuid

    def process(self, pid: int, name: str) -> int:
        """Declare a process; return its track."""
        return self._track(process={"pid": pid, "process_name": name})

    def thread(self, pid: int, tid: int, name: str) -> int:
        """Declare a thread; return its track."""
        return self._track(thread={"pid": pid, "tid": tid, "thread_name": name})

    def track(self, name: str, parent: int | None = None, rank: int | None = None) -> int:
        """Declare a track of slices, or a parent of tracks; return it."""
        return self._track(name=name, parent_uuid=parent, sibling_order_rank=rank)

    def counter_track(self, name: str, parent: int | None, unit: str) -> int:
        """Declare a track of values; return it."""
        return self._track(name=name, parent_uuid=parent, counter={"unit_name": unit})

    def _intern(self, packet: proto.TracePacket, kind: str, text: str) -> int:
        known = self._names[kind]
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            interned = packet.interned_data
            if kind == "event":
                interned.event_names.add(iid=number, name=text)
            elif kind == "annotation":
                interned.debug_annotation_names.add(iid=number, name=text)
            elif kind == "function":
                interned.kernel_symbols.add(iid=number, str=text.encode())
            else:
                interned.debug_annotation_string_values.add(iid=number, str=text.encode())
        return number

    def _event(
        self, kind: int, track: int, ts: int, name: str, args: Args, flows: Sequence[int]
    ) -> None:
        packet = self._packet()
        packet.timestamp = ts
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        event.name_iid = self._intern(packet, "event", name)
        event.flow_ids.extend(flows)
        for key, value in args.items():
            if value is not None:
                self._annotate(packet, key, value)
        self._builder.write_packet(packet)

    def _annotate(self, packet: proto.TracePacket, key: str, value: Any) -> None:
        annotation = packet.track_event.debug_annotations.add()
        annotation.name_iid = self._intern(packet, "annotation", key)
        if isinstance(value, bool):
            annotation.bool_value = value
        elif isinstance(value, int):
            if value < 1 << 63:
                annotation.int_value = value
            else:
                annotation.pointer_value = value  # a kernel address
        elif isinstance(value, float):
            annotation.double_value = value
        else:
            annotation.string_value_iid = self._intern(packet, "text", str(value))

    def begin(
        self, track: int, ts: int, name: str, args: Args | None = None, flows: Sequence[int] = ()
    ) -> None:
        """Begin a slice."""
        self._event(_BEGIN, track, ts, name, args or {}, flows)

    def end(self, track: int, ts: int) -> None:
        """End the innermost open slice of a track."""
        packet = self._packet()
        packet.timestamp = ts
        packet.track_event.type = _END
        packet.track_event.track_uuid = track
        self._builder.write_packet(packet)

    def instant(
        self, track: int, ts: int, name: str, args: Args | None = None, flows: Sequence[int] = ()
    ) -> None:
        """Mark a moment."""
        self._event(_INSTANT, track, ts, name, args or {}, flows)

    def counter(self, track: int, ts: int, value: int) -> None:
        """Write the value of a counter from *ts* on."""
        packet = self._packet()
        packet.timestamp = ts
        packet.track_event.type = _COUNTER
        packet.track_event.track_uuid = track
        packet.track_event.counter_value = value
        self._builder.write_packet(packet)

    def slices(self, track: int, nested: Iterable[Slice]) -> None:
        """Write slices of one track, which are disjoint or nested.

        They are ordered by time, outer slices before inner ones.
        """
        open_ends: list[int | None] = []
        for piece in nested:
            while open_ends and open_ends[-1] is not None and open_ends[-1] <= piece.ts:
                self.end(track, open_ends.pop() or 0)
            self.begin(track, piece.ts, piece.name, piece.args, piece.flows)
            open_ends.append(piece.end)
        while open_ends:
            last = open_ends.pop()
            if last is not None:
                self.end(track, last)

    def sched(self, cpu: int, events: Iterable[Switch | Waking]) -> None:
        """Write the scheduler events of one CPU, which are in order of time."""
        packet = self._packet()
        for event in events:
            if len(packet.ftrace_events.event) >= BUNDLE_EVENTS:
                self._builder.write_packet(packet)
                packet = self._packet()
            packet.ftrace_events.cpu = cpu
            if isinstance(event, Switch):
                _add_switch(packet, event)
            else:
                self._add_waking(packet, event)
        if len(packet.ftrace_events.event):
            self._builder.write_packet(packet)

    def _add_waking(self, packet: proto.TracePacket, event: Waking) -> None:
        if event.function:
            row = packet.ftrace_events.event.add(timestamp=event.ts, pid=event.waker)
            row.sched_blocked_reason.pid = event.tid
            row.sched_blocked_reason.caller = self._intern(packet, "function", event.function)
        row = packet.ftrace_events.event.add(timestamp=event.ts, pid=event.waker)
        row.common_flags = event.flags
        waking = row.sched_waking
        waking.pid, waking.comm = event.tid, event.comm
        waking.prio, waking.success, waking.target_cpu = _PRIORITY, 1, event.target_cpu


_PRIORITY = 120  # nice 0; priorities are not recorded


def _add_switch(packet: proto.TracePacket, event: Switch) -> None:
    row = packet.ftrace_events.event.add(timestamp=event.ts, pid=event.prev)
    switch = row.sched_switch
    switch.prev_pid, switch.prev_comm = event.prev, event.prev_comm
    switch.prev_state = event.prev_state
    switch.next_pid, switch.next_comm = event.next, event.next_comm
    switch.prev_prio = switch.next_prio = _PRIORITY
