"""Enum, count and rings of bpf/events.h follow ``events.RECORDS``."""

import re

import pytest

from rcp.probes.contract.c_header import c_header
from rcp.probes.contract.events import BY_NAME, RECORDS, SLEEP, TASK, Field, Record
from rcp.probes.program import PAGE_BYTES, RING_BYTES, ring_bytes

PAGE_FAULT = Record("page_fault", "one page fault", (Field("ts", "<u8", "when it began"),))

INDEX_AND_RINGS = """\
enum rcp_record {
	REC_TASK,
	REC_PAGE_FAULT,
};

#define REC_COUNT 2

/* A ring per record type; program.py:cflags gives the sizes. */
#ifndef RCP_WITHOUT_RINGS
BPF_RINGBUF_OUTPUT(task_ring, RCP_TASK_PAGES);
BPF_RINGBUF_OUTPUT(page_fault_ring, RCP_PAGE_FAULT_PAGES);
#endif
"""


def test_a_new_record_type_gets_a_struct_an_index_and_a_ring() -> None:
    header = c_header((TASK, PAGE_FAULT))
    assert "struct page_fault_record {\n\t__u64 ts; /* when it began */\n};\n" in header
    assert header.endswith(INDEX_AND_RINGS)


def test_indexes_and_rings_are_in_the_order_of_records() -> None:
    names = [record.name for record in RECORDS]
    assert [name.lower() for name in re.findall(r"\tREC_(\w+),", c_header())] == names
    assert re.findall(r"OUTPUT\((\w+)_ring", c_header()) == names
    assert f"#define REC_COUNT {len(names)}\n" in c_header()


@pytest.mark.parametrize("record", [*RECORDS, PAGE_FAULT], ids=lambda r: r.name)
def test_every_record_type_has_a_ring_size_the_kernel_takes(record: Record) -> None:
    size = ring_bytes(record)
    assert size >= PAGE_BYTES
    assert size & (size - 1) == 0, f"RING_BYTES[{record.name!r}] must be a power of two"


def test_ring_sizes_are_of_existing_record_types() -> None:
    unknown = set(RING_BYTES) - set(BY_NAME)
    assert not unknown, f"remove {unknown} from program.RING_BYTES: no such record type"
    assert ring_bytes(SLEEP) == RING_BYTES["sleep"]
