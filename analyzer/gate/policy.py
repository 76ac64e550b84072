"""What an inconclusive verdict means for the build, and the exit status of every verdict.

Two things are inconclusive. Noise can be too large: that is the machine's or the service's nature,
and not the fault of the change that is being built. Or the setup is short of runs or requests, or
gave data that cannot be used: every later build would be inconclusive too, and nobody would look.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rcp.analyzer.gate.judgement import Judgement, Verdict


class NoisePolicy(StrEnum):
    """What to do when noise is too large for a verdict."""

    PASS = "pass"
    """Exit 0, also if the setup is short."""
    WARN = "warn"
    """Exit 0 with a warning; fail if the setup is short."""
    FAIL = "fail"


@dataclass(frozen=True)
class Outcome:
    """The policy, and the exit statuses of what fails."""

    policy: NoisePolicy = NoisePolicy.WARN
    regression_exit: int = 1
    inconclusive_exit: int = 3

    def fails(self, judgement: Judgement) -> bool:
        """Whether the build should fail."""
        match judgement.verdict:
            case Verdict.REGRESSION | Verdict.MISSED:
                return True
            case Verdict.INCONCLUSIVE if judgement.refused:
                return True
            case Verdict.INCONCLUSIVE if judgement.setup_is_short:
                return self.policy != NoisePolicy.PASS
            case Verdict.INCONCLUSIVE:
                return self.policy == NoisePolicy.FAIL
        return False

    def status(self, judgement: Judgement) -> int:
        """Return the exit status."""
        if not self.fails(judgement):
            return 0
        if judgement.verdict == Verdict.INCONCLUSIVE:
            return self.inconclusive_exit
        return self.regression_exit

    def warning(self, judgement: Judgement) -> str:
        """Return what to warn of when the build passes without a verdict; "" for nothing."""
        unclear = judgement.verdict == Verdict.INCONCLUSIVE
        if not unclear or self.policy != NoisePolicy.WARN or self.fails(judgement):
            return ""
        return "the gate cannot tell, and does not fail the build for it (--inconclusive)"
