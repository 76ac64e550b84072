import pytest

from rcp.probes.contract.events import RECORDS, Record


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_records_have_no_padding_and_keep_ring_entries_aligned(record: Record) -> None:
    assert record.size_bytes == sum(record.dtype[f.name].itemsize for f in record.fields)
    assert record.size_bytes % 8 == 0
    for field in record.fields:
        width = 1 if field.type.startswith("S") else record.dtype[field.name].itemsize
        assert record.dtype.fields is not None
        assert record.dtype.fields[field.name][1] % width == 0, field.name


def test_every_field_says_what_it_means() -> None:
    assert [f.name for r in RECORDS for f in r.fields if not f.doc] == []
