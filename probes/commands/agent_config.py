"""The configuration of ``rcp-trace agent``: a TOML file, checked whole before anything starts."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rcp.probes.agent.settings import Settings
from rcp.probes.commands.flight_options import FlightOptions
from rcp.probes.commands.flight_plan import flight_plan
from rcp.probes.commands.targets import TargetOptions
from rcp.probes.contract.durations import DurationError, parse_duration_ns
from rcp.probes.contract.options import FULL, NAME
from rcp.probes.contract.user_error import UserError
from rcp.probes.kernel.features import read_features
from rcp.probes.program import compile_globs
from rcp.probes.requests.points import resolve_requests
from rcp.probes.who.roles import resolve_rules

_DAY_NS = 86_400 * 10**9
_BYTES = {"MiB": 1 << 20, "GiB": 1 << 30}
_LEAST_DISK = 64 << 20
"""A window of a few seconds, a dump of it, and one more."""


class ConfigError(UserError):
    """The configuration cannot be used; each message names the file, the setting and the remedy."""

    def __init__(self, messages: list[str]) -> None:
        """*messages*: a line for each thing to mend."""
        super().__init__(" ".join(messages))
        self._messages = messages

    @property
    def messages(self) -> list[str]:
        """The lines."""
        return self._messages


class _WrongError(Exception):
    """A value is wrong; the message says what it has to be."""


@dataclass(frozen=True)
class Config:
    """A configuration that was checked."""

    targets: TargetOptions
    settings: Settings
    listen: tuple[str, int] | None
    """Where /metrics is; None for nowhere."""
    max_series: int


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _WrongError('write it as text, "…"')
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _WrongError('write it as a list of texts, ["…"]')
    return tuple(value)


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise _WrongError("write it as a list of numbers, [1234]")
    return tuple(value)


def _yes(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongError("write true or false")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise _WrongError("give a whole number from 1 on")
    return value


def _percent(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value <= 10_000:
        raise _WrongError("give a number above 0: percent of one CPU")
    return float(value) / 100


def _time_ns(value: Any) -> int:
    text = _text(value)
    try:
        days = text.strip().removesuffix("d")
        if days.isdigit() and text.strip() != days:
            return int(days) * _DAY_NS
        return parse_duration_ns(text)
    except DurationError as error:
        raise _WrongError(f"{error}, or days, as in 7d") from error


def _bytes(value: Any) -> int:
    text = _text(value).strip()
    for unit, size in _BYTES.items():
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.replace(".", "", 1).isdigit():
            found = round(float(number) * size)
            if found < _LEAST_DISK:
                raise _WrongError(f"give at least {_LEAST_DISK >> 20} MiB")
            return found
    raise _WrongError('give a number and a unit, as in "500 MiB" or "4 GiB"')


def _address(value: Any) -> tuple[str, int] | None:
    text = _text(value)
    host, colon, port = text.rpartition(":")
    if not text:
        return None
    if not colon or not host or not port.isdigit() or int(port) > 65_535:
        raise _WrongError('write ADDRESS:PORT, as in "127.0.0.1:9760", or "" for none')
    return host.strip("[]"), int(port)


def _cmdline(value: Any) -> str:
    if value not in (FULL, NAME):
        raise _WrongError(f'write "{FULL}" or "{NAME}"')
    return str(value)


Read = Callable[[Any], Any]

_TARGETS: dict[str, Read] = {
    field.name: _text if field.name in ("cgroup", "container", "min_wait") else _texts
    for field in fields(TargetOptions)
} | {"pid": _numbers}

SECTIONS: dict[str, dict[str, Read]] = {
    "record": {**_TARGETS, "cmdline": _cmdline},
    "window": {"keep": _text, "after": _text, "when": _texts, "at_most_every": _time_ns},
    "recordings": {"folder": _text, "max_age": _time_ns, "max_disk": _bytes},
    "summaries": {"enabled": _yes, "every": _time_ns, "fleet": _text, "host": _text},
    "budget": {"max_cpu": _percent, "analysis_cpu": _percent},
    "metrics": {"listen": _address, "max_series": _count},
}
"""All settings, and what reads each."""


def _near(name: str, known: Mapping[str, Any]) -> str:
    """Return the known name that was probably meant, or all of them."""
    close = difflib.get_close_matches(name, known, 1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}."


def _values(path: Path, table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what is set, by section; raise ConfigError with all that is wrong."""
    wrong = []
    found: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for section, own in table.items():
        if section not in SECTIONS:
            wrong.append(f"{path}: there is no section [{section}]: {_near(section, SECTIONS)}")
            continue
        if not isinstance(own, dict):
            wrong.append(f"{path}: {section} is a section: write [{section}].")
            continue
        for name, value in own.items():
            read = SECTIONS[section].get(name)
            if read is None:
                near = _near(name, SECTIONS[section])
                wrong.append(f"{path}: [{section}] has no setting {name}: {near}")
                continue
            try:
                found[section][name] = read(value)
            except _WrongError as error:
                wrong.append(f"{path}: [{section}] {name} = {value!r}: {error}.")
    if wrong:
        raise ConfigError(wrong)
    return found


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            [f"{path} does not exist: write it, or name another with --config."]
        ) from None
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}: try with sudo."]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path} is not TOML: {error}."]) from error


def read_config(path: Path, max_cpu: float | None = None, max_disk: int | None = None) -> Config:
    """Read and check *path*; *max_cpu* (CPUs) and *max_disk* (bytes) replace what it says.

    Checks all that can be checked without recording. Raises ConfigError, or another UserError that
    names the setting as an option of ``rcp-trace record``.
    """
    found = _values(path, _table(path))
    record = dict(found["record"])
    cmdline = record.pop("cmdline", FULL)
    targets = TargetOptions(**record)
    settings = _settings(found, _request_names(targets), cmdline)
    if max_cpu is not None:
        settings = replace(settings, max_cpu=max_cpu)
    if max_disk is not None:
        settings = replace(settings, max_disk_bytes=max_disk)
    metrics = found["metrics"]
    return Config(
        targets,
        settings,
        metrics.get("listen", ("127.0.0.1", 9760)),
        metrics.get("max_series", 200),
    )


def _request_names(targets: TargetOptions) -> list[str]:
    """Return the names of the requests recorded, after checks of what needs no target process."""
    compile_globs(targets.comm)
    resolve_rules(targets.foreground, targets.background, targets.profile)
    requests = resolve_requests(targets.request, read_features().tracefs, targets.pid)
    return list(requests.names.values())


def _settings(found: Mapping[str, Mapping[str, Any]], names: list[str], cmdline: str) -> Settings:
    window, recordings = found["window"], found["recordings"]
    summaries, budget = found["summaries"], found["budget"]
    folder = Path(recordings.get("folder", "/var/lib/rcp-trace"))
    options = FlightOptions(window.get("keep", "30s"), window.get("when", ()), window.get("after"))
    plan = flight_plan(options, folder, names)
    assert plan is not None  # there is a keep
    return Settings(
        folder=folder,
        keep_ns=plan.keep_ns,
        after_ns=plan.after_ns,
        triggers=plan.triggers,
        dump_gap_ns=window.get("at_most_every", 60 * 10**9),
        max_age_s=recordings.get("max_age", 7 * _DAY_NS) / 1e9,
        max_disk_bytes=recordings.get("max_disk", 4 << 30),
        max_cpu=budget.get("max_cpu", 0.05),
        analysis_cpu=budget.get("analysis_cpu", 0.05),
        is_analysing=summaries.get("enabled", True),
        sample_every_ns=summaries.get("every", 300 * 10**9),
        fleet=summaries.get("fleet", ""),
        host=summaries.get("host", ""),
        cmdline=cmdline,
    )
