"""Runs one command within limits, and ends everything that it has started with it.

The server starts this as a process of its own, with the policy in a file that it inherits. Up to three processes
stand for a command:

- the supervisor, which the server knows. It passes SIGTERM on, ends everything when the server has died, and ends as
  the command has ended;
- with namespaces the init process of a PID namespace, whose end ends every process in it;
- the command.

Without namespaces the supervisor adopts what the command leaves behind, and ends that itself.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import resource
import signal
import sys
import time
from contextlib import suppress

from planloom.tools.confinement.linux import kernel, landlock, namespaces, system_calls
from planloom.tools.confinement.linux.processes import Watch, descendants, end_all

# The module `typing` would take longer to load than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from planloom.tools.confinement.policy import Policy

NOT_CONFINED = 125
"""The exit code if the confinement could not be set up, so that the command was not run."""
_NOT_FOUND = 127
_CANNOT_RUN = 126
_TERM_SECONDS = 0.35
"""How long the command may take to end after SIGTERM; the server waits longer for the supervisor."""
_SECONDS_BETWEEN_LOOKS = 0.1
_OOM_SCORE = "500"
"""The kernel ends the command before the editor if memory runs out."""


def main() -> None:
    """Read the policy from the file that is named by the first argument, and carry it out."""
    with open(int(sys.argv[1]), "rb") as file:
        policy = marshal.load(file)
    Supervisor(policy).run()


class Supervisor:
    """The process that stands for the command; see `policy.py` for the fields of the policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._child = 0
        self._ends_at: float | None = None

    def run(self) -> None:
        """Run the command, and end this process as the command has ended."""
        policy = self._policy
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGHUP, self._on_hang_up)
        signal.signal(signal.SIGALRM, self._on_alarm)
        self._end_with_server()
        with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_OOM_SCORE)
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
        _end_like(self._in_namespaces() if policy["namespaces"] else self._beside())

    def _end_with_server(self) -> None:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGHUP)
        # It may have died before that.
        self._on_hang_up(signal.SIGHUP, None)

    def _in_namespaces(self) -> int:
        go_read, go_write = os.pipe()
        status_read, status_write = os.pipe()
        slot = _free_slot(self._policy["plan_folder"])
        try:
            flags = namespaces.NAMESPACES | self._join_network()
            self._child = kernel.fork_into(flags)
        except OSError as error:
            _refuse(error)
        if self._child == 0:
            os.close(go_write)
            os.close(status_read)
            _init(self._policy, slot, go_read, status_write)
        os.close(go_read)
        os.close(status_write)
        try:
            namespaces.map_ids(self._child)
        except OSError as error:
            os.kill(self._child, signal.SIGKILL)
            _refuse(error)
        os.write(go_write, b"\0")
        _, status = os.waitpid(self._child, 0)
        told = os.read(status_read, 16)
        return int(told) if told else status

    def _join_network(self) -> int:
        """Enter the network that the policy names. Returns the namespace to make if it is to be a new one."""
        if self._policy["network"] == "all":
            return 0
        if not self._policy["joined"]:
            return kernel.CLONE_NEWNET
        for number in self._policy["joined"]:
            kernel.join(number)
            os.close(number)
        # The change of the user namespace has undone both.
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
        self._end_with_server()
        return 0

    def _beside(self) -> int:
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._child = os.fork()
        if self._child == 0:
            try:
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
                if self._policy["confined"]:
                    _confine_beside(self._policy)
            except OSError as error:
                _refuse(error)
            _become(self._policy)
        watch = Watch(self._policy, lambda: [self._child, *descendants(os.getpid())])
        status: int = signal.SIGKILL
        while True:
            found, ended = os.waitpid(-1, os.WNOHANG)
            if found == self._child:
                status = ended
                break
            if not found:
                is_late = self._ends_at is not None and time.monotonic() > self._ends_at
                if is_late or (self._policy["confined"] and watch.exceeded()):
                    break
                signal.sigtimedwait((signal.SIGCHLD,), _SECONDS_BETWEEN_LOOKS)
        end_all(os.getpid())
        return status

    def _on_term(self, number: int, frame: object) -> None:  # noqa: ARG002
        if self._child:
            self._ends_at = time.monotonic() + _TERM_SECONDS
            signal.setitimer(signal.ITIMER_REAL, _TERM_SECONDS)
            with suppress(ProcessLookupError, PermissionError):
                if self._policy["namespaces"]:
                    os.kill(self._child, signal.SIGTERM)
                else:
                    os.killpg(self._child, signal.SIGTERM)

    def _on_alarm(self, number: int, frame: object) -> None:  # noqa: ARG002
        """The command had its time to end. Without namespaces the loop that waits for it sees that too."""
        if self._policy["namespaces"]:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)

    def _on_hang_up(self, number: int, frame: object) -> None:  # noqa: ARG002
        """The server has died, if it is not the parent any more: nobody would end the command."""
        if os.getppid() == self._policy["server"]:
            return
        if self._child and self._policy["namespaces"]:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
        elif self._child:
            end_all(os.getpid())
        os._exit(NOT_CONFINED)


def _free_slot(plan_folder: str) -> str:
    """A folder for the caches of this command alone, which it locks until it ends.

    Two mounts cannot share one. The commands that run one after another get the same.
    """
    number = 0
    while True:
        slot = f"{plan_folder}/caches/{number}"
        os.makedirs(slot, exist_ok=True)
        try:
            fcntl.flock(os.open(slot, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return slot
        except BlockingIOError:
            number += 1


def _init(policy: Policy, slot: str, go: int, told: int) -> None:
    """The first process of the PID namespace: makes the command's surroundings, runs it, and reaps its orphans."""
    try:
        os.read(go, 1)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        _see(policy, slot)
        if policy["network"] != "all" and not policy["joined"]:
            namespaces.bring_loopback_up()
        _limit(policy)
        if policy["landlock"]:
            own = [policy["home"], *namespaces.TEMPORARY, namespaces.SHARED_MEMORY]
            landlock.restrict(policy["landlock"], ["/"], [*policy["writable"], *policy["cached"], *own])
        _filter(policy, own_processes=True)
        # Its open files, by which it says how the command has ended, are out of reach, and so is its end.
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    except OSError as error:
        _refuse(error)
    command = os.fork()
    if command == 0:
        _become(policy)
    signal.signal(signal.SIGTERM, lambda *_: _group_signal(command, signal.SIGTERM))
    # Nobody else can be in this namespace, so all processes but this one are the command's.
    watch = Watch(
        policy, lambda: [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    )
    while True:
        found, status = os.waitpid(-1, os.WNOHANG)
        if found == command:
            break
        if not found:
            if watch.exceeded():
                status = signal.SIGKILL
                break
            signal.sigtimedwait((signal.SIGCHLD,), _SECONDS_BETWEEN_LOOKS)
    os.write(told, str(int(status)).encode())
    os._exit(0)


def _see(policy: Policy, slot: str) -> None:
    """Make the view, and enter the folder of the command in it. Raises OSError."""
    folder = os.stat(".")
    # An overlay has another inode than the folder below it.
    named = os.stat(policy["folder"]) if policy["throwaway"] else None
    namespaces.make_view(policy, slot)
    os.chdir(policy["folder"])
    if not os.path.samestat(folder, named or os.stat(".")):
        raise OSError(0, "the folder of the command has changed")


def _confine_beside(policy: Policy) -> None:
    """Confine this process without namespaces. Raises OSError."""
    _limit(policy)
    if policy["landlock"]:
        readable = landlock.all_but([*policy["hidden"], *namespaces.TEMPORARY])
        # A right to a folder would be one to what is hidden in it.
        readable += [part for path in policy["shown"] for part in landlock.all_but(policy["hidden"], path)]
        changeable = [
            part for path in policy["writable"] for part in landlock.all_but(policy["hidden"], path)
        ]
        changeable += [f"{policy['plan_folder']}/{name}" for name in ("tmp", "home")]
        kept = [*policy["hidden"], *policy["shown"]]
        # The shared memory is that of the machine here; what is allowed of a folder is allowed of all that is in it.
        if not any(path.startswith(f"{namespaces.SHARED_MEMORY}/") for path in kept):
            changeable.append(namespaces.SHARED_MEMORY)
        landlock.restrict(policy["landlock"], readable, changeable)
    _filter(policy, own_processes=False)


def _group_signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _limit(policy: Policy) -> None:
    """Set the limits that hold for the command by whatever means it is confined. Raises OSError."""
    if policy["namespaces"] or os.geteuid() == 0:
        kernel.keep_capabilities(namespaces.ROOT_KEEPS if os.geteuid() == 0 else 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, policy["file_bytes"])
    if policy["namespaces"]:
        # The kernel counts the processes of each user namespace by itself; elsewhere all of the user's would count.
        _lower(resource.RLIMIT_NPROC, policy["processes"])


def _lower(which: int, most: int) -> None:
    soft, hard = resource.getrlimit(which)
    bounds = [each for each in (most, soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(bounds), min(bounds)))


def _filter(policy: Policy, *, own_processes: bool) -> None:
    if policy["system_calls"]:
        internet = policy["network"] == "all" or policy["namespaces"]
        own_files = policy["namespaces"] or not policy["landlock"]
        system_calls.restrict(internet=internet, own_processes=own_processes, own_files=own_files)


def _become(policy: Policy) -> None:
    """Run the command in this process, in a session of its own."""
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(policy["arguments"][0], policy["arguments"])
    except FileNotFoundError as error:
        _say(f"{policy['arguments'][0]} cannot be started: {error.strerror}.")
        os._exit(_NOT_FOUND)
    except OSError as error:
        _say(f"{policy['arguments'][0]} cannot be started: {error.strerror}.")
        os._exit(_CANNOT_RUN)


def _refuse(error: OSError) -> None:
    _say(f"planloom: the command was not run, since it could not be confined: {error}")
    os._exit(NOT_CONFINED)


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode(errors="surrogateescape"))


def _end_like(status: int) -> None:
    """End this process as a child with this wait status has ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def network() -> None:
    """Make a network of its own, print the id of a process in it, and wait for the end of the input."""
    go_read, go_write = os.pipe()
    child = kernel.fork_into(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    if child == 0:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.read(go_read, 1)
        namespaces.bring_loopback_up()
        os.write(1, b"up\n")
        signal.pause()
    namespaces.map_ids(child)
    os.write(1, f"{child}\n".encode())
    os.write(go_write, b"\0")
    sys.stdin.read()
    os.kill(child, signal.SIGKILL)


def trial() -> None:
    """Print what the kernel allows: namespaces, overlays in them, the version of Landlock, a filter of calls."""
    version = landlock.version()
    overlays = _works(lambda: _try_namespaces(overlays=True))
    answers = [
        overlays or _works(lambda: _try_namespaces(overlays=False)),
        overlays,
        version if version and _works(lambda: _try_landlock(version)) else 0,
        system_calls.is_known() and _works(_try_filter),
    ]
    print(*map(int, answers))  # noqa: T201


def _works(attempt: Callable[[], None]) -> bool:
    """Whether something can be done in a child process."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _try_namespaces(*, overlays: bool) -> None:
    import tempfile

    folder = tempfile.mkdtemp(prefix="planloom-")
    os.mkdir(f"{folder}/tmp")
    try:
        policy: Policy = {
            "arguments": ["true"],
            "folder": os.getcwd(),
            "server": os.getpid(),
            "plan_folder": folder,
            "home": "",
            "writable": [folder],
            "throwaway": overlays,
            "read_only": [],
            "hidden": [],
            "shown": [os.getcwd()],
            "cached": [],
            "pinned": [],
            "network": "none",
            "joined": [],
            "confined": True,
            "namespaces": True,
            "landlock": 0,
            "system_calls": False,
            "memory_bytes": sys.maxsize,
            "processes": 1000,
            "file_bytes": sys.maxsize,
        }
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            Supervisor(policy).run()
        if os.waitpid(child, 0)[1] != 0:
            raise OSError("namespaces are not allowed")
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _try_landlock(version: int) -> None:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(version, ["/"], [])


def _try_filter() -> None:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    system_calls.restrict(internet=True, own_processes=True)
