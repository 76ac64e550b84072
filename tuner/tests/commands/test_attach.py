"""``--attach`` of a process that is not there."""

from pathlib import Path

import pytest

from rcp.tuner.commands.options import local_machine
from rcp.tuner.commands.run_options import LocalOptions
from rcp.tuner.errors import TuneError


def test_a_process_that_is_not_there_is_told_before_anything_else(tmp_path: Path) -> None:
    options = LocalOptions(workload=(), source="recording", disk="sda", attach_pid=4194305)
    with pytest.raises(TuneError, match="no process 4194305 to attach to: `pgrep -a NAME`"):
        local_machine(options, tmp_path)
