"""The seccomp filter of a confined command: system calls that it is refused, and the sockets that it may open."""

from __future__ import annotations

import ctypes

from planloom.tools.confinement.linux import kernel

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

# One instruction: (code, jump if true, jump if false, constant). See linux/bpf_common.h.
_LOAD = 0x20
_EQUAL = 0x15
_AND = 0x54
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_EPERM = 1
_ENOSYS = 38
_EAFNOSUPPORT = 97
_NUMBER, _ARCHITECTURE = 0, 4
_X32 = 0x40000000

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {
    "x86_64": {
        "mount": 165,
        "umount2": 166,
        "pivot_root": 155,
        "chroot": 161,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "acct": 163,
        "quotactl": 179,
        "syslog": 103,
        "iopl": 172,
        "ioperm": 173,
        "init_module": 175,
        "finit_module": 313,
        "delete_module": 176,
        "kexec_load": 246,
        "kexec_file_load": 320,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "setns": 308,
        "perf_event_open": 298,
        "open_by_handle_at": 304,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "mount": 40,
        "umount2": 39,
        "pivot_root": 41,
        "chroot": 51,
        "swapon": 224,
        "swapoff": 225,
        "reboot": 142,
        "acct": 89,
        "quotactl": 60,
        "syslog": 116,
        "init_module": 105,
        "finit_module": 273,
        "delete_module": 106,
        "kexec_load": 104,
        "kexec_file_load": 294,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "unshare": 97,
        "setns": 268,
        "perf_event_open": 241,
        "open_by_handle_at": 265,
        "bpf": 280,
        "userfaultfd": 282,
    },
}
"""System calls that could undo the confinement, or reach parts of the kernel that building and testing do not need."""
_REFUSED_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}
_OTHER_PROCESSES = {
    "x86_64": {"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311},
    "aarch64": {"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271},
}
"""Without a PID namespace these could reach processes that the command has not started."""
_OTHER_PROCESSES_EVERYWHERE = {"pidfd_getfd": 438, "process_madvise": 440}
_CLONE3 = 435
_CALLS = {
    "x86_64": {"clone": 56, "socket": 41, "socketpair": 53, "ioctl": 16},
    "aarch64": {"clone": 220, "socket": 198, "socketpair": 199, "ioctl": 29},
}
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_DATAGRAM, _RAW, _TYPE_BITS = 2, 3, 0xF


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("constant", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


def is_known() -> bool:
    """Whether the filter is written for this architecture."""
    return kernel.machine() in _ARCHITECTURES


def restrict(*, internet: bool, own_processes: bool, own_files: bool = True) -> None:
    """Install the filter in this process, for all its children too. Needs `no_new_privs`. Raises OSError.

    `internet`: sockets of the internet may be opened. `own_processes`: only processes of the command can be seen, so
    that it may debug them. `own_files`: sockets that are files can be seen only if they are its own, so that it may
    connect to them. The path of one stands in memory, where a filter cannot look.
    """
    rows = _filter(internet=internet, own_processes=own_processes, own_files=own_files)
    code = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    program = _Program(len(rows), code)
    result = kernel.LIBC.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(program), 0, 0)
    kernel.checked(result, "seccomp")


def _filter(*, internet: bool, own_processes: bool, own_files: bool) -> list[tuple[int, int, int, int]]:
    machine = kernel.machine()
    calls = _CALLS[machine]
    refused = [*_REFUSED[machine].values(), *_REFUSED_EVERYWHERE.values()]
    if not own_processes:
        refused += [*_OTHER_PROCESSES[machine].values(), *_OTHER_PROCESSES_EVERYWHERE.values()]
    rows = [
        # A program of another architecture has other numbers for its calls.
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        _error(_ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        rows += [(0x35, 0, 1, _X32), _error(_ENOSYS)]
    for number in refused:
        rows += [(_EQUAL, 0, 1, number), _error(_EPERM)]
    # The flags of clone3 stand in memory, where a filter cannot look; without it programs use clone.
    rows += [(_EQUAL, 0, 1, _CLONE3), _error(_ENOSYS)]
    rows += _call(
        calls["clone"],
        [_argument(0), (_AND, 0, 0, kernel.CLONE_NAMESPACES & ~0xFF), (_EQUAL, 1, 0, 0), _error(_EPERM)],
    )
    rows += _call(
        calls["ioctl"],
        [
            _argument(1),
            (_EQUAL, 1, 0, _TIOCSTI),
            (_EQUAL, 0, 1, _TIOCLINUX),
            _error(_EPERM),
        ],
    )
    rows += _call(calls["socket"], _socket(internet=internet, own_files=own_files))
    if not own_files:
        # A datagram socket of a pair can send to any address, a stream socket only to its peer.
        datagram = [_argument(1), (_AND, 0, 0, _TYPE_BITS), (_EQUAL, 0, 1, _DATAGRAM), _error(_EPERM)]
        rows += _call(calls["socketpair"], [*datagram, _allowed()])
    return [*rows, (_RETURN, 0, 0, _ALLOW)]


def _socket(*, internet: bool, own_files: bool) -> list[tuple[int, int, int, int]]:
    """Sockets of this machine, those that tell its addresses, and those of the internet that are not raw."""
    rows = [
        _argument(0),
        (_EQUAL, 0, 1, _UNIX),
        _allowed() if own_files else _error(_EPERM),
        # Of this family only the protocol that tells the machine's addresses.
        (_EQUAL, 0, 4, _NETLINK),
        _argument(2),
        (_EQUAL, 0, 1, 0),
        _allowed(),
        _error(_EAFNOSUPPORT),
    ]
    if not internet:
        return [*rows, _error(_EPERM)]
    return [
        *rows,
        (_EQUAL, 2, 0, _INET),
        (_EQUAL, 1, 0, _INET6),
        _error(_EAFNOSUPPORT),
        _argument(1),
        (_AND, 0, 0, _TYPE_BITS),
        (_EQUAL, 0, 1, _RAW),
        _error(_EPERM),
        _allowed(),
    ]


def _call(number: int, rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Rows for one system call; those of the others jump over them."""
    return [(_EQUAL, 0, len(rows) + 1, number), *rows, (_LOAD, 0, 0, _NUMBER)]


def _argument(index: int) -> tuple[int, int, int, int]:
    """Load the lower half of an argument; both architectures have it first."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _error(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERROR | number)


def _allowed() -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ALLOW)
