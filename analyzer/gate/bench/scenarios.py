"""What the benchmark simulates: services, noise between runs, and changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from rcp.analyzer.gate.bench.simulated import Noise, Service, Slowdown
from rcp.probes.contract.percent import percent

FAMILY = "p50=5%,p99=5%,p999=5%"
SINGLE = ("p50=5%", "p99=5%", "p999=5%", "tail99=5%", "tail95=5%")
OF_STALLS = SINGLE[2:]
"""Limits on figures that stalls of the program make."""
OF_MANY_RUNS = ("p999=5%", "tail95=5%")

UNCHANGED = Slowdown()
SLOWER = Slowdown(factor=1.2)
LONGER_STALLS = {"stalls × 1.2": Slowdown(stalls=1.2), "stalls × 2": Slowdown(stalls=2)}

_STEADY = Service()
_PARETO = Service(pareto=True)
_STALLS = Service(stalls=100, stall_requests=4)
_BURSTS = Service(stalls=12, stall_requests=100)

_SUBTRACTED = Service(stalls=12, stall_requests=100, subtracted=0.9)

_SERVICES = {
    "log-normal": _STEADY,
    "Pareto tail": _PARETO,
    "short stalls": _STALLS,
    "long bursts": _BURSTS,
}
DESCRIPTIONS = {
    "log-normal": "log-normal latencies",
    "Pareto tail": "a Pareto tail with exponent 3 from the p95 on",
    "short stalls": "100 stalls per run that delay 4 requests each (0.8 % of requests)",
    "long bursts": "12 stalls per run that delay 100 requests each (2.4 % of requests)",
}

DRIFT = 0.01


@dataclass(frozen=True)
class Scenario:
    """A service on a machine, with the limits that are asked for."""

    name: str
    service: Service
    noise: Noise
    limits: str = FAMILY
    changes: dict[str, Slowdown] = field(default_factory=dict)


def noise_levels() -> list[Scenario]:
    """Return every service at every level of noise between runs."""
    found = []
    for name, service in _SERVICES.items():
        levels = {percent(sd, 0): Noise(between=sd) for sd in (0.02, 0.03, 0.1)}
        levels["3 %, and drift"] = Noise(between=0.03, drift=DRIFT)
        found += [Scenario(f"{name}, {text}", service, noise) for text, noise in levels.items()]
    known = Noise(between=0.1, known=0.9)
    found.append(Scenario("Pareto tail, 10 %, pace of the machine seen", _PARETO, known))
    found.append(Scenario("long bursts of others, subtracted, 3 %", _SUBTRACTED, Noise(0.03)))
    return found


def stalling() -> list[Scenario]:
    """Return the services with stalls of their own, at two levels of noise."""
    levels = ("short stalls, 3 %", "short stalls, 10 %", "long bursts, 3 %", "long bursts, 10 %")
    return [one for one in noise_levels() if one.name in levels]


def first_user() -> list[Scenario]:
    """Return the cases that a first user of the gate tried by files."""
    heavy = Service(requests=4000, pareto=True)
    bursty = Service(requests=3000, stalls=4, stall_requests=20)
    rare = Service(requests=15_000, stalls=4, stall_requests=20)
    longer = Service(requests=13_000, pareto=True)
    return [
        Scenario(
            "Pareto tail, 4,000 requests, 3 %, p99=5%",
            heavy,
            Noise(0.03),
            "p99=5%",
            {"slowest 5 % × 1.3": Slowdown(excess=1.3)},
        ),
        Scenario(
            "bursts, 3,000 requests, 10 %, tail 20 %, p99=5%", bursty, Noise(0.1, 0.2), "p99=5%"
        ),
        Scenario("bursts, 15,000 requests, 2 %, p50, p99 and p999", rare, Noise(0.02)),
        Scenario(
            "Pareto tail, 13,000 requests, 3 %, p999=5%",
            longer,
            Noise(0.03),
            "p999=5%",
            {
                "slowest 5 % × 1.1": Slowdown(excess=1.1),
                "slowest 5 % × 1.3": Slowdown(excess=1.3),
            },
        ),
    ]
