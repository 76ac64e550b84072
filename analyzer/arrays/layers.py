"""Stacked devices (dm, md, loop): for whom each io below one is, and who did each io of a loop.

An example, a loop device on a file of sda::

    io 1 of loop0   |Q D-------------------------- C|
    loop's worker        |-- serves io 1 --|
    io 2 of sda                       |Q D -------C|      origin: io 1, queued by the writer

And a read of dm-crypt::

    io 3 of sda     |Q D -------C|                        origin: queued by the reader
    kcryptd                          |-- decrypts --|     then it wakes the reader
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.io_ids import IoIds
from rcp.analyzer.arrays.tasks import Resolver
from rcp.probes.contract.events import IO_ORIGIN, IO_SERVED, StackedLayer

STACKED_LAYERS = ("other", *(layer.name.lower() for layer in StackedLayer))
"""Names of the stacked devices that workers serve; the position is the code in records."""

Times = npt.NDArray[np.int64]
Index = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Layers:
    """The io_origin and io_served records; each io index is -1 if that io was not recorded."""

    io: Index
    """The io below, of each io_origin record."""
    parent: Index
    """The io of the loop device that it is part of."""
    owner: Index
    """The task that queued it at the uppermost device."""
    queued: Times
    """When that was."""
    served: Index
    """The io of the loop device, of each io_served record; -1 for another device."""
    decrypted: Index
    """The io below dm-crypt that was read, of each io_served record; -1 for others."""
    worker: Index
    for_whom: Index
    """The task that the worker worked for."""
    begin: Times
    end: Times

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing: a machine without such devices."""
        return not len(self.io) and not len(self.served)


def layers_of(
    rows: Mapping[str, npt.NDArray[np.void]], io_ids: IoIds, resolver: Resolver
) -> Layers:
    """Return the records with positions of ios and tasks."""
    origins, served = rows[IO_ORIGIN.name], rows[IO_SERVED.name]
    io = io_ids.positions(np.ascontiguousarray(served["io"]))
    is_crypt = served["layer"] == StackedLayer.CRYPT
    queued, begin = origins["queued_ns"].astype(np.int64), served["ts"].astype(np.int64)
    return Layers(
        io=io_ids.positions(np.ascontiguousarray(origins["io"])),
        parent=io_ids.positions(np.ascontiguousarray(origins["parent_io"])),
        owner=resolver.utids(np.ascontiguousarray(origins["tid"]), queued),
        queued=queued,
        served=np.where(is_crypt, -1, io).astype(np.int32),
        decrypted=np.where(is_crypt, io, -1).astype(np.int32),
        worker=resolver.utids(np.ascontiguousarray(served["tid"]), begin),
        for_whom=resolver.utids(np.ascontiguousarray(served["owner_tid"]), begin),
        begin=begin,
        end=np.maximum(served["end_ns"].astype(np.int64), begin),
    )
