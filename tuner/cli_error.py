"""Errors as users see them: one line on stderr, exit status 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rcp.tuner.command import CliError


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what users can cause into ``CliError``."""
    from rcp.analyzer.latencies.latency import LatencyError
    from rcp.analyzer.latencies.slo import SloError
    from rcp.tuner.errors import TuneError
    from rcp.tuner.objective import ObjectiveError
    from rcp.tuner.source import SourceError
    from rcp.tuner.workload import WorkloadError

    known = (TuneError, SloError, LatencyError, ObjectiveError, SourceError, WorkloadError)
    try:
        yield
    except known as error:
        raise CliError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"{error.filename or 'output'}: {error.strerror}") from error
