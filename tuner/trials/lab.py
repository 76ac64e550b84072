"""Trials in the lab: a guest is booted for each, so every trial begins with the same machine.

The scenario's run.sh makes the disk and hands its workload to ``rcp-tune trial`` inside the guest,
which sets the knobs under the same journal as anywhere (fixtures/scenarios/tuning/tunable.sh).
Times are virtual.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rcp.analyzer.gate.child import run_child
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.measurement import Description
from rcp.tuner.trials.raw import RawTrial, describe_file, trial_file
from rcp.tuner.trials.workload import Abort

PREPARED = "prepared.tar"
"""What a scenario leaves under this name when it is described is an input of its trials."""


@dataclass(frozen=True)
class LabMachine:
    """A guest with *kernel* (stock or rcp) that runs *scenario*; artefacts stay in *folder*."""

    scenario: str
    kernel: str
    folder: Path
    parameters: Sequence[str] = ()
    """``KEY=VALUE``, what the scenario's run.sh lists."""
    timeout_s: float = 900
    knobs: str = "auto"

    def _run(self, what: str, request: dict[str, object], out: Path) -> float:
        started = time.monotonic()
        # Beside the artefacts and not in TMPDIR, where a SIGKILL would leave them for good.
        self.folder.mkdir(parents=True, exist_ok=True)
        file, said = self.folder / "trial.json", self.folder / "stderr.txt"
        file.write_text(json.dumps({"knobs": self.knobs, **request}))
        command = [sys.executable, "-m", "rcp.lab", "run", "-q", "--timing"]
        command += ["--kernel", self.kernel, "--timeout", f"{self.timeout_s:g}"]
        command += ["--out", str(out), "--input", str(file), "-e", f"RCP_TUNE={what}"]
        prepared = self.folder / "describe" / PREPARED
        if what == "trial" and prepared.exists():
            command += ["--input", str(prepared)]
        for pair in self.parameters:
            command += ["-e", pair]
        with said.open("wb") as stderr:
            status = run_child([*command, self.scenario], stdout=subprocess.DEVNULL, stderr=stderr)
        lines = said.read_text(errors="replace").strip().splitlines()
        if status != 0:
            lines = lines or [f"exit status {status}"]
            fault = lines[-1].removeprefix("rcp-lab: error: ").removeprefix("rcp-tune: error: ")
            raise TuneError(f"{self.scenario} in the lab: {fault}")
        return time.monotonic() - started

    def describe(self) -> Description:
        """Boot once and ask which knobs there are."""
        out = self.folder / "describe"
        self._run("describe", {}, out)
        found = describe_file(out)
        facts = {**found.facts, "machine": f"lab: {self.scenario}", "clock": "virtual"}
        facts["scenario_parameters"] = " ".join(self.parameters)
        return replace(found, facts=facts)

    def trial(
        self, settings: Settings, seed: int, *, record: bool, give_up: Abort | None = None
    ) -> RawTrial:
        """Boot, make one trial, and read what the guest left; its load prints at its end."""
        out = self.folder / f"trial-{seed}"
        request = {"settings": dict(settings), "seed": seed, "record": record}
        try:
            wall_s = self._run("trial", request, out)
        except TuneError as error:
            # The guest of this trial is gone; the next one gets another.
            return RawTrial(settings, settings, failed=str(error))
        return replace(trial_file(out), wall_s=wall_s)
