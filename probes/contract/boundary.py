"""What every program of rcp runs in: Ctrl-C ends it quietly, a fault of rcp has its own status.

Imports nothing slow: until a program's modules are imported, Ctrl-C is this module's alone.
Before that it is that of ``start.py``.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    import click

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_ERROR = 2
EXIT_FAULT = 70
"""EX_SOFTWARE of sysexits.h: never 1, which means a regression, a missed SLO or no recording."""

_IMPORTING = "<frozen importlib._bootstrap>"
_RETRY_S = 0.01


def _end_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """End where nothing has to be cleaned up."""
    os._exit(EXIT_INTERRUPTED)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


class _Interrupts:
    """Turns Ctrl-C into KeyboardInterrupt where that can be raised, and remembers it."""

    def __init__(self) -> None:
        self.received = False

    def install(self) -> None:
        signal.signal(signal.SIGINT, self._on_signal)
        sys.unraisablehook = self._on_unraisable

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        self.received = True
        if _is_importing(frame):
            # An extension module that is interrupted while it starts may abort the process.
            self._again()
        else:
            raise KeyboardInterrupt

    def _on_unraisable(self, unraisable: UnraisableHookArgs) -> None:
        """Raise a KeyboardInterrupt again that hit a destructor, which cannot pass it on."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._again()
        else:
            sys.__unraisablehook__(unraisable)

    @staticmethod
    def _again() -> None:
        def later() -> None:
            time.sleep(_RETRY_S)
            _thread.interrupt_main()

        Thread(target=later, daemon=True).start()


def end_on_ctrl_c() -> bool:
    """Let Ctrl-C end the process at once, until another handler is installed.

    Returns False where it is ignored, and leaves it so: under nohup, in a shell's background job.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return False
    signal.signal(signal.SIGINT, _end_at_once)
    return True


def leave(status: int) -> NoReturn:
    """End the process with *status*, also while a thread that was left behind is at work.

    Python ends such a thread when it next asks for the interpreter, by unwinding its stack. With
    C++ on that stack (DuckDB, pyarrow) this aborts the process, after a right answer.
    """
    if any(thread.daemon for thread in threading.enumerate()):
        # Its libraries may interrupt it now (DuckDB does), and then it has nothing to say.
        threading.excepthook = lambda _args: None
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.flush()
        os._exit(status)
    sys.exit(status)


def _hold_streams() -> None:
    """Put /dev/null in the place of closed standard streams, which the next file would get.

    What is printed would go into that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, descriptor == number)
            setattr(sys, name, os.fdopen(descriptor, mode))


def run(program: str, where: str) -> NoReturn:
    """Run the click command *where* (``MODULE:NAME``) as *program*; exit with its status.

    130 after Ctrl-C, without a word; 0 where nobody reads its output any more (``| head``), but
    what it found out by then stands;
    EXIT_FAULT after an exception that no one foresaw, with its traceback.
    """
    _hold_streams()
    heeded = end_on_ctrl_c()
    interrupts = _Interrupts()
    try:
        status = _status(program, where, interrupts, heeded)
    finally:
        if heeded:
            signal.signal(signal.SIGINT, _end_at_once)  # what is left is Python's own shutdown
    _drop_unwritable()
    leave(status)


def _status(program: str, where: str, interrupts: _Interrupts, heeded: bool) -> int:
    import click

    try:
        module, _, name = where.partition(":")
        command: click.Command = getattr(import_module(module), name)
        if heeded:
            interrupts.install()
        status = _answer(command, program)
        with suppress(BrokenPipeError):  # what was found stands, read or not
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:
        if interrupts.received:  # DuckDB, for one, makes a RuntimeError of it
            return EXIT_INTERRUPTED
        return _failed(program, error)
    return status if isinstance(status, int) else 0


def _answer(command: click.Command, program: str) -> Any:
    """Parse the words of the command line and run *command*, as its own ``main`` does.

    That one ends a program whose reader is gone with 1, which here means a regression.
    """
    from click.exceptions import Exit

    if os.environ.get(f"_{program}_COMPLETE".replace("-", "_").upper()):
        command.main(prog_name=program)  # a shell asks for words; exits
    try:
        with command.make_context(program, sys.argv[1:]) as context:
            return command.invoke(context)
    except Exit as ended:
        return ended.exit_code
    except KeyboardInterrupt:
        with suppress(OSError):
            print(file=sys.stderr)  # a terminal has shown ^C on this line
        raise


def _failed(program: str, error: Exception) -> int:
    """Say what went wrong, if there is anything to say; return the exit status."""
    import click

    from rcp.probes.contract.atomic import UNWRITABLE

    if isinstance(error, click.ClickException):
        with suppress(OSError):  # here and below: where stderr is full, the status tells
            error.show()
        return error.exit_code
    if isinstance(error, BrokenPipeError) and _is_unread(sys.__stdout__):
        return 0
    if isinstance(error, BrokenPipeError) and _is_unread(sys.__stderr__):
        return EXIT_ERROR  # it ended before its answer, which may be a verdict
    if isinstance(error, OSError) and error.filename is None and error.errno in UNWRITABLE:
        return _say(program, f"output: {error.strerror}.", EXIT_ERROR)
    # An incomplete installation lacks it, such as one made without dependencies.
    if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("rcp."):
        lacks = f"the Python package {error.name} is not installed"
        return _say(program, f"{lacks}: install rcp with pip, which brings it.", EXIT_ERROR)
    import traceback

    with suppress(OSError):
        traceback.print_exc()
    return _say(program, "a fault of rcp: please report the lines above.", EXIT_FAULT)


def _say(program: str, message: str, status: int) -> int:
    with suppress(OSError):
        print(f"{program}: error: {message}", file=sys.stderr)
    return status


def _is_unread(stream: TextIO | None) -> bool:
    """Whether nobody reads a stream any more; a program may have other pipes that break."""
    import select

    if stream is None:
        return False
    streams = select.poll()
    streams.register(stream.fileno(), 0)  # errors are always told
    return bool(streams.poll(0))


def _drop_unwritable() -> None:
    """Let go what cannot be printed: Python would try again at its end, and exit with 120."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (OSError, ValueError):
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
