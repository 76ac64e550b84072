"""Compiles the probes: the only module that imports bcc."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from typing import Any

from rcp.probes.compiled import Compiled, MapSpec, ProgramSpec, relocations
from rcp.probes.formats.btf import Btf
from rcp.probes.kernel.features import RecordError
from rcp.probes.kernel.headers import HEADERS_DIR

_NO_BCC = (
    "Python cannot import bcc: run `apt-get install python3-bpfcc`, and inside a virtual "
    "environment make it with `python3 -m venv --system-site-packages`."
)
_FUNCTION = ("kfunc__vmlinux__", "kretfunc__vmlinux__")


def require_bcc() -> None:
    """Raise RecordError where bcc is not installed. Does not import it, which takes long."""
    if find_spec("bcc") is None:
        raise RecordError(_NO_BCC)


def import_bcc() -> Any:
    """Return the bcc module, or raise RecordError that names the package to install."""
    try:
        import bcc
    except ImportError:
        raise RecordError(_NO_BCC) from None
    return bcc


def load_program(text: str, cflags: list[str]) -> Any:
    """Compile one BPF program and return bcc's object; raise RecordError when it fails."""
    bcc = import_bcc()
    os.environ["BCC_KERNEL_SOURCE"] = str(HEADERS_DIR)
    try:
        return bcc.BPF(text=text, cflags=cflags, debug=0)
    except Exception as error:  # bcc raises bare Exception for every failure
        raise RecordError(f"the probes did not load: {error}") from error


def compile_probes(
    text: str, cflags: list[str], btfs: Mapping[str, Btf], may_lack: Collection[str] = ()
) -> Compiled:
    """Return the programs and maps of one C unit; raise RecordError when it does not compile.

    *btfs*: the kernel's types, and those with each module, for the functions that are hooked. Of
    those that it *may_lack*, programs are left out.
    """
    bcc = import_bcc()

    # loader.py loads and attaches
    unit_class = type("Unit", (bcc.BPF,), {"_trace_autoload": lambda _self: None})
    os.environ["BCC_KERNEL_SOURCE"] = str(HEADERS_DIR)
    try:
        unit = unit_class(text=text, cflags=cflags, debug=0)
    except Exception as error:  # bcc raises bare Exception for every failure
        raise RecordError(f"the probes did not compile: {error}") from error
    try:
        return _compiled(bcc.lib, unit.module, btfs, may_lack)
    finally:
        unit.cleanup()


def _compiled(
    lib: Any, module: int, btfs: Mapping[str, Btf], may_lack: Collection[str]
) -> Compiled:
    def ask(name: str, result: Any, *arguments: Any) -> Any:
        function = getattr(lib, name)
        types = [ctypes.c_char_p if isinstance(a, bytes) else ctypes.c_size_t for a in arguments]
        function.restype, function.argtypes = result, [ctypes.c_void_p, *types]
        return function(module, *arguments)

    maps, names = [], {}
    for number in range(ask("bpf_num_tables", ctypes.c_size_t)):
        name = ask("bpf_table_name", ctypes.c_char_p, number).decode()
        numbers = [
            ask(f"bpf_table_{what}_id", ctypes.c_int, number)
            for what in ("type", "key_size", "leaf_size", "max_entries", "flags")
        ]
        maps.append(MapSpec(name, *numbers))
        names[int(ask("bpf_table_fd_id", ctypes.c_int, number))] = name
    programs = []
    for number in range(ask("bpf_num_functions", ctypes.c_size_t)):
        name = ask("bpf_function_name", ctypes.c_char_p, number)
        start = ask("bpf_function_start", ctypes.c_void_p, name)
        code = ctypes.string_at(start, ask("bpf_function_size", ctypes.c_size_t, name))
        hooked = _hooked(name.decode(), btfs, may_lack)
        if hooked is not None:
            programs.append(ProgramSpec(name.decode(), code, relocations(code, names), *hooked))
    return Compiled(tuple(maps), tuple(programs))


def _hooked(
    name: str, btfs: Mapping[str, Btf], may_lack: Collection[str]
) -> tuple[int, str] | None:
    """Return the BTF id of the function that a program hooks, and its module.

    None if it may lack it and does.
    """
    for prefix in _FUNCTION:
        function = name.removeprefix(prefix)
        if function == name:
            continue
        for module, btf in btfs.items():
            if number := btf.functions({function}).get(function):
                return number, module
        if function in may_lack:
            return None
        raise RecordError(f"the kernel's BTF lacks the function {function}, which a probe hooks.")
    return 0, ""
