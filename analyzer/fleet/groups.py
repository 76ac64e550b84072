"""Which kernel or version is worse: hosts are the units, each with its share of slow requests.

Requests of one host are alike, so a million of them on two hosts prove nothing about a kernel.
Groups are compared by ranks of hosts (Mann-Whitney), and how much worse by the merged histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.fleet.histogram import quantile_ns
from rcp.analyzer.fleet.merge import Merged

HOSTS_MIN = 5
"""With fewer hosts in a group, no order of ranks is rare enough."""

LEVEL = 0.01
"""How rare an order of hosts must be by chance, all groups together."""

TIMES = 1.2
"""Groups whose shares of slow requests differ by less are alike."""

WORSE, BETTER, ALIKE, TOO_FEW = "worse", "better", "alike", "too few hosts to tell"
ONLY = "the only one"


class Unit(NamedTuple):
    """One host in one group."""

    part_of: str
    host: str
    n: int
    n_slow: int

    @property
    def share(self) -> float:
        """Return the share of its requests that are slow."""
        return self.n_slow / self.n


class Group(NamedTuple):
    """The hosts with one kernel or version."""

    name: str
    n_hosts: int
    n: int
    share: float
    """Of their outermost foreground requests, those in or beyond the bucket of the fleet's p99."""
    others_share: float | None
    p_value: float | None
    """Probability of such ranks if the group were like the others."""
    verdict: str
    p99_ns: dict[str, float]
    """By kind of request."""


def _share(units: Sequence[Unit]) -> float:
    n = sum(unit.n for unit in units)
    return sum(unit.n_slow for unit in units) / n if n else 0.0


def _judge(own: Sequence[Unit], others: Sequence[Unit], n_groups: int) -> tuple[float | None, str]:
    if not others:
        return None, ONLY
    if min(len(own), len(others)) < HOSTS_MIN:
        return None, TOO_FEW
    from scipy.stats import mannwhitneyu

    a, b = _share(own), _share(others)
    side = "greater" if a >= b else "less"
    shares = [unit.share for unit in own], [unit.share for unit in others]
    p_value = float(mannwhitneyu(*shares, alternative=side).pvalue)
    if p_value > LEVEL / n_groups / 2 or max(a, b) < TIMES * min(a, b):
        return p_value, ALIKE
    return p_value, WORSE if a > b else BETTER


def compare_groups(found: Merged, units: Sequence[Unit]) -> list[Group]:
    """Return each group beside all others, that with the largest share of slow requests first."""
    by_name: dict[str, list[Unit]] = {}
    for unit in units:
        by_name.setdefault(unit.part_of, []).append(unit)
    groups = []
    for name, own in by_name.items():
        others = [unit for unit in units if unit.part_of != name]
        p_value, verdict = _judge(own, others, len(by_name))
        groups.append(
            Group(
                name,
                len(own),
                sum(unit.n for unit in own),
                _share(own),
                _share(others) if others else None,
                p_value,
                verdict,
                {
                    kind: quantile_ns(one.buckets, 0.99)
                    for (group, kind, role), one in found.by_key.items()
                    if group == name and role == "foreground"
                },
            )
        )
    return sorted(groups, key=lambda group: (-group.share, group.name))
