"""The function of loop's worker that a kernel has as a symbol."""

from __future__ import annotations

import pytest

from rcp.probes.kernel.kprobe import loop_command

LINE = "ffffffffc02d34e0 t {}\t[loop]\n"


@pytest.mark.parametrize(
    ("symbols", "found"),
    [
        (["lo_rw_aio.isra.0"], "lo_rw_aio.isra.0"),
        (["lo_rw_aio_complete", "lo_rw_aio.isra.0.cold"], None),
        (["lo_rw_aio", "do_req_filebacked.constprop.0"], "do_req_filebacked.constprop.0"),
        (["do_req_filebacked", "loop_handle_cmd"], "loop_handle_cmd"),
        (["xlo_rw_aio"], None),
        ([], None),
    ],
)
def test_the_outermost_function_that_was_not_inlined_is_chosen(
    symbols: list[str], found: str | None
) -> None:
    text = "".join(map(LINE.format, symbols)).encode()
    assert loop_command(text) == found
    built_in = text.replace(b"\t[loop]", b"")
    assert loop_command(built_in) == found
