"""Trials in the lab: each boots a guest, so every trial starts from the same machine state.

The scenario's run.sh sets up the disk and passes its workload to ``rcp-tune trial`` in the guest,
which sets the knobs under a journal as on any machine (fixtures/scenarios/tuning/tunable.sh).
Times are virtual.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rcp.analyzer.gate.child import run_child
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.measurement import Description, Shortage
from rcp.tuner.trials.raw import RawTrial, describe_file, trial_file
from rcp.tuner.trials.workload import Abort

PREPARED = "prepared.tar"
"""A file that ``describe`` may leave; it is then an input of the scenario's trials."""


def _silent(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class LabMachine:
    """A guest with *kernel* (stock or rcp) that runs *scenario*; artefacts go to *folder*."""

    scenario: str
    kernel: str
    folder: Path
    parameters: Sequence[str] = ()
    """``KEY=VALUE``, as the scenario's run.sh documents."""
    timeout_s: float = 900
    knobs: str = "auto"
    checkout: Path | None = None
    """The source tree for the lab, by default that of the working folder."""
    say: Callable[[str], None] = _silent
    """Tells the user what takes long."""

    def _run(self, what: str, request: dict[str, object], out: Path) -> float:
        started = time.monotonic()
        # Beside the artefacts: files in TMPDIR would stay after a SIGKILL.
        self.folder.mkdir(parents=True, exist_ok=True)
        file, errors = self.folder / "trial.json", self.folder / "stderr.txt"
        file.write_text(json.dumps({"knobs": self.knobs, **request}))
        command = [sys.executable, "-m", "rcp.lab", "run", "-q", "--timing"]
        command += ["--kernel", self.kernel, "--timeout", f"{self.timeout_s:g}"]
        if self.checkout is not None:
            command += ["--checkout", str(self.checkout)]
        command += ["--out", str(out), "--input", str(file), "-e", f"RCP_TUNE={what}"]
        prepared = self.folder / "describe" / PREPARED
        if what == "trial" and prepared.exists():
            command += ["--input", str(prepared)]
        for pair in self.parameters:
            command += ["-e", pair]
        with errors.open("wb") as stderr:
            status = run_child([*command, self.scenario], stdout=subprocess.DEVNULL, stderr=stderr)
        lines = errors.read_text(errors="replace").strip().splitlines()
        if status != 0:
            lines = lines or [f"exit status {status}"]
            fault = lines[-1].removeprefix("rcp-lab: error: ").removeprefix("rcp-tune: error: ")
            raise TuneError(f"{self.scenario} in the lab: {fault}")
        return time.monotonic() - started

    def describe(self) -> Description:
        """Boot once and read the guest's knobs."""
        out = self.folder / "describe"
        self.say(f"booting a guest with the {self.kernel} kernel, to read its knobs")
        self._run("describe", {}, out)
        found = describe_file(out)
        facts = {**found.facts, "machine": f"lab: {self.scenario}", "clock": "virtual"}
        facts["scenario_parameters"] = " ".join(self.parameters)
        return replace(found, facts=facts)

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        """Boot, make one trial, read its files; *abort* is unused: latencies come at the end."""
        out = self.folder / f"trial-{seed}"
        request = {"settings": dict(settings), "seed": seed, "record": record}
        try:
            wall_s = self._run("trial", request, out)
        except TuneError as error:
            # The guest is gone with its trial; the next trial boots another.
            return RawTrial(settings, settings, failed=str(error))
        return replace(trial_file(out), wall_s=wall_s)

    def more_requests(self, short: Shortage) -> str:
        """Name the parameter that all tunable scenarios have."""
        return f"raise the scenario's number of requests by -e REQUESTS={short.n_needed}"

    def every_latency(self) -> str:
        """Name the file of the scenario that says where the latencies come from."""
        return f"let run.sh of {self.scenario} name a --source that has every latency"
