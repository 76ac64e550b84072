"""Which programs are kept of what was compiled."""

import pytest

from rcp.probes.compiler import _hooked
from rcp.probes.formats.btf import Btf
from rcp.probes.kernel.features import RecordError
from rcp.probes.tests.formats.btf_image import BtfImage


def test_a_function_that_a_module_may_lack_is_left_out() -> None:
    """Its file tells the types, but another version of it may have other functions."""
    image = BtfImage()
    image.struct("bio", 8)
    btfs = {"": Btf(image.blob())}
    name = "kfunc__vmlinux__loop_workfn"
    assert _hooked(name, btfs, {"loop_workfn"}) is None
    assert _hooked("tracepoint__sched__sched_switch", btfs, ()) == (0, "")
    with pytest.raises(RecordError, match="lacks the function loop_workfn"):
        _hooked(name, btfs, ())
