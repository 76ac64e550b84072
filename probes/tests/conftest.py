from pathlib import Path

import pytest

from rcp.probes.features import Features


@pytest.fixture
def features() -> Features:
    """A kernel that has everything."""
    return Features(
        release="6.12.0-test",
        machine="x86_64",
        may_load_bpf=True,
        tracefs=Path("/sys/kernel/tracing"),
        headers=Path("/usr/src/headers"),
        has_btf=True,
        kernel_headers_embedded=False,
        preempt_count_addr=0x35008,
        per_cpu_offset_addr=0xFFFF0000,
        missing_tracepoints=(),
        missing_functions=(),
    )
