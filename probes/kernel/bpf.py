"""The bpf(2) system call: maps, programs, and what programs are attached to."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

_BPF = 321  # arch/x86/entry/syscalls/syscall_64.tbl
_ATTR_BYTES = 128
# enum bpf_cmd, include/uapi/linux/bpf.h
_MAP_CREATE, _MAP_LOOKUP, _MAP_UPDATE, _MAP_DELETE, _MAP_GET_NEXT_KEY = 0, 1, 2, 3, 4
_PROG_LOAD = 5
_BTF_GET_NEXT_ID, _BTF_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD, _RAW_TRACEPOINT_OPEN = 23, 19, 15, 17
_NAME_MAX = 15
_LOG_BYTES = 1 << 20
_POSSIBLE_CPUS = Path("/sys/devices/system/cpu/possible")

RINGBUF = 27
"""BPF_MAP_TYPE_RINGBUF, which has neither keys nor values."""


def _call(command: int, attributes: bytes) -> int:
    """Make the system call; return its result, raise OSError."""
    buffer = ctypes.create_string_buffer(attributes.ljust(_ATTR_BYTES, b"\0"), _ATTR_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(_BPF, command, buffer, ctypes.c_ulong(_ATTR_BYTES)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    if command == _BTF_GET_NEXT_ID:
        return int.from_bytes(buffer.raw[4:8], "little")
    return result


def _name(text: str) -> bytes:
    return text.encode()[:_NAME_MAX].ljust(16, b"\0")


def create_map(
    name: str, kind: int, key_bytes: int, value_bytes: int, max_entries: int, flags: int
) -> int:
    """Return the file descriptor of a new map; raise OSError."""
    if kind == RINGBUF:
        key_bytes = value_bytes = 0
    numbers = struct.pack("<7I", kind, key_bytes, value_bytes, max_entries, flags, 0, 0)
    return _call(_MAP_CREATE, numbers + _name(name))


def clear_map(fd: int, key_bytes: int) -> None:
    """Remove all elements of a hash map."""
    key = ctypes.create_string_buffer(key_bytes)
    address = ctypes.addressof(key)
    while True:
        try:
            # without a key: the first one
            _call(_MAP_GET_NEXT_KEY, struct.pack("<IIQQ", fd, 0, 0, address))
            _call(_MAP_DELETE, struct.pack("<IIQ", fd, 0, address))
        except OSError as error:
            if error.errno == errno.ENOENT:
                return
            raise


class Map:
    """A map whose keys are integers of 4 or 8 bytes; one system call for each access."""

    def __init__(self, fd: int, key_bytes: int, value_bytes: int) -> None:
        """``value_bytes``: of a per-CPU map, for all CPUs."""
        self.fd = fd
        self._key = ctypes.create_string_buffer(key_bytes)
        self._value = ctypes.create_string_buffer(value_bytes)
        addresses = ctypes.addressof(self._key), ctypes.addressof(self._value)
        self._attributes = struct.pack("<IIQQQ", fd, 0, *addresses, 0).ljust(_ATTR_BYTES, b"\0")
        self._libc = ctypes.CDLL(None, use_errno=True)

    def _call(self, command: int) -> bool:
        size = ctypes.c_ulong(_ATTR_BYTES)
        return bool(self._libc.syscall(_BPF, command, self._attributes, size) == 0)

    def look_up(self, key: int) -> bytes | None:
        """Return a value, None when there is none."""
        self._key.raw = key.to_bytes(len(self._key), "little")
        return self._value.raw if self._call(_MAP_LOOKUP) else None

    def words(self, key: int) -> list[int]:
        """Return the 64-bit words of a value, [] when there is none."""
        value = self.look_up(key)
        return list(struct.unpack(f"<{len(value) // 8}Q", value)) if value else []

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of a hash map; what changes meanwhile may be missed."""
        after, address = 0, ctypes.addressof(self._key)
        while True:
            try:
                _call(_MAP_GET_NEXT_KEY, struct.pack("<IIQQ", self.fd, 0, after, address))
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return
                raise
            after = address
            if self._call(_MAP_LOOKUP):
                yield self._key.raw, self._value.raw

    def update(self, key: int, value: bytes) -> None:
        """Set a value; raise OSError."""
        self._key.raw = key.to_bytes(len(self._key), "little")
        self._value.raw = value
        if not self._call(_MAP_UPDATE):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))


def load_program(
    name: str, kind: int, code: bytes, *, attach_type: int = 0, btf_id: int = 0, btf_fd: int = 0
) -> int:
    """Return the file descriptor of a loaded program; raise OSError with the verifier's reason.

    *btf_id*, *btf_fd*: the kernel function that fentry and fexit programs hook, and the BTF of its
    module (0: the kernel's).
    """
    try:
        return _load(name, kind, code, (attach_type, btf_id, btf_fd), None)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
        log = ctypes.create_string_buffer(_LOG_BYTES)
        try:
            return _load(name, kind, code, (attach_type, btf_id, btf_fd), log)
        except OSError as again:
            lines = log.value.decode(errors="replace").splitlines()
            reason = next((line for line in reversed(lines) if line[:9] != "processed"), "")
            fault = f"{name}: {again.strerror}" + (f": {reason}" if reason else "")
            raise OSError(again.errno, fault) from error


def _load(
    name: str,
    kind: int,
    code: bytes,
    hook: tuple[int, int, int],
    log: ctypes.Array[ctypes.c_char] | None,
) -> int:
    attach_type, btf_id, btf_fd = hook
    instructions = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "<IIQQIIQII16sII",
        *(kind, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(licence)),
        *(1 if log else 0, _LOG_BYTES if log else 0, ctypes.addressof(log) if log else 0),
        *(0, 0, _name(name), 0, attach_type),
    )
    # prog_btf_fd … line_info_cnt, which nothing here needs, then what is hooked
    attributes += struct.pack("<IIQIIQI", 0, 0, 0, 0, 0, 0, 0) + struct.pack("<II", btf_id, btf_fd)
    return _call(_PROG_LOAD, attributes)


def open_raw_tracepoint(program_fd: int, name: str = "") -> int:
    """Attach a program to a tracepoint, or without a name to the function it was loaded for.

    Returns the file descriptor that keeps it attached; raises OSError.
    """
    text = ctypes.create_string_buffer(name.encode())
    address = ctypes.addressof(text) if name else 0
    return _call(_RAW_TRACEPOINT_OPEN, struct.pack("<QI", address, program_fd))


def module_btf_fd(module: str) -> int:
    """Return a file descriptor of a loaded module's BTF; raise OSError when there is none."""
    number = 0
    while True:
        number = _call(_BTF_GET_NEXT_ID, struct.pack("<II", number, 0))
        fd = _call(_BTF_GET_FD_BY_ID, struct.pack("<I", number))
        name = ctypes.create_string_buffer(64)
        # struct bpf_btf_info: btf, btf_size, id, name, name_len, kernel_btf
        info = ctypes.create_string_buffer(
            struct.pack("<QIIQII", 0, 0, 0, ctypes.addressof(name), len(name), 0)
        )
        attributes = struct.pack("<IIQ", fd, len(info) - 1, ctypes.addressof(info))
        _call(_OBJ_GET_INFO_BY_FD, attributes)
        if name.value.decode() == module:
            return fd
        os.close(fd)


def n_possible_cpus() -> int:
    """Return for how many CPUs a per-CPU map has values."""
    text = _POSSIBLE_CPUS.read_text().strip()
    return int(text.replace(",", "-").rpartition("-")[2]) + 1
