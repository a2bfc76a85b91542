"""Commands are held to what they were allowed: real processes try to get out, and usual work goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from planloom.domain.safety.confinement import Confinement, Network
from planloom.tools.confinement.abilities import abilities_of, means
from planloom.tools.confinement.confined_command import Confined, remove_plan_folder
from planloom.tools.confinement.places import Reach
from planloom.tools.confinement.policy import Means
from planloom.tools.processes.child_process import (
    Capture,
    ChildProcess,
    Launch,
    ProcessResult,
    run_process,
    shell_argv,
)
from planloom.workspace.disk import Folder
from planloom.workspace.index.programs import environment

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the means of Linux"),
]

needs_namespaces = pytest.mark.skipif("not means().namespaces", reason="no user namespaces here")
needs_landlock = pytest.mark.skipif("not means().landlock", reason="no Landlock here")
LEVELS = {
    "namespaces": Means(namespaces=True, landlock=0, system_calls=False, supervisor=True),
    "landlock": Means(namespaces=False, landlock=99, system_calls=True, supervisor=True),
    "calls": Means(namespaces=False, landlock=0, system_calls=True, supervisor=True),
    "nothing": Means(supervisor=True),
}
"""Less than a machine may have, so that the rest is seen to hold by itself."""


CONFINED = Confinement()
STATE = ".local/state/planloom"


class Place:
    """A home with secrets, a workspace in it, and commands that run in that."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = self.home / "work"
        self.ledger = self.home / STATE
        self.plan_folder = self.ledger / "plans" / "p"
        for name in (
            ".ssh",
            STATE,
            "work/.git/hooks",
            "work/.vscode",
            "work/src",
            ".cache/pip",
            ".cache/other",
        ):
            (self.home / name).mkdir(parents=True)
        for name in (".ssh/id_rsa", ".netrc", ".aws", f"{STATE}/ledger.sqlite3", "plain.txt"):
            (self.home / name).write_text("CANARY\n")
        (self.work / ".git" / "config").write_text("")
        (self.work / "AGENTS.md").write_text("rules\n")
        (self.work / ".vscode" / "settings.json").write_text("{}\n")

    def launch(
        self,
        command: str | tuple[str, ...],
        has: Means | None = None,
        confinement: Confinement = CONFINED,
        *,
        work: Path | None = None,
        **limits: int,
    ) -> Launch:
        """A command in the workspace, confined by these means, or by all that there are."""
        if has is not None and has.landlock:
            has = has._replace(landlock=means().landlock)
        work = work or self.work
        confined = Confined(confinement, Reach((work,), (self.ledger,)), self.plan_folder, has, **limits)
        argv = shell_argv(command) if isinstance(command, str) else command
        return Launch(argv, Folder(work), environment(os.environ) | {"HOME": str(self.home)}, confined)

    async def run(
        self,
        command: str,
        has: Means | None = None,
        *,
        seconds: float = 30,
        network: Network = "none",
        **limits: int,
    ) -> ProcessResult:
        """Run a command to its end."""
        launch = self.launch(command, has, Confinement(network=network), **limits)
        return await run_process(launch, timeout_seconds=seconds)

    def users(self) -> dict[str, str]:
        """The user's files outside of the workspace, by their paths, with their texts."""
        return {
            str(path): path.read_text()
            for path in self.home.rglob("*")
            if path.is_file() and not path.is_relative_to(self.work) and not path.is_relative_to(self.ledger)
        }


@pytest.fixture
def tmp_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk, since a confined command has a shared memory of its own."""
    monkeypatch.setenv("TMPDIR", "/tmp")
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


PYTHON = f"'{sys.executable}'"
ATTACKS: Mapping[str, tuple[str, frozenset[str]]] = {
    "change a file outside": ("sed -i s/CANARY/x/ {home}/plain.txt", frozenset({"namespaces", "landlock"})),
    "remove a file outside": (
        "rm {home}/plain.txt",
        frozenset({"namespaces", "landlock"}),
    ),
    "write in the system": ("echo x > /usr/new-file", frozenset({"namespaces", "landlock"})),
    "change the mode of a file outside": ("chmod 777 {home}/plain.txt", frozenset({"namespaces"})),
    "a file outside": ("cat {home}/plain.txt", frozenset({"namespaces", "landlock"})),
    "a link to outside": ("ln -s {home}/plain.txt l && cat l", frozenset({"namespaces", "landlock"})),
    "a hard link to outside": ("ln {home}/plain.txt h && echo x >> h", frozenset({"namespaces", "landlock"})),
    "a hook of git": ("echo x > .git/hooks/post-checkout", frozenset({"namespaces"})),
    "the settings of git": ("echo x >> .git/config", frozenset({"namespaces"})),
    "git's folder renamed": ("mv .git git2", frozenset({"namespaces"})),
    "an editor's settings": ("echo x > .vscode/settings.json", frozenset({"namespaces"})),
    "rules of agents": ("echo x >> AGENTS.md", frozenset({"namespaces"})),
    "rules of agents replaced": ("echo x > a && mv a AGENTS.md", frozenset({"namespaces"})),
    "a key": ("grep CANARY {home}/.ssh/id_rsa", frozenset({"namespaces", "landlock"})),
    "a password": ("grep CANARY {home}/.netrc", frozenset({"namespaces", "landlock"})),
    "the ledger": (
        "grep CANARY {home}/.local/state/planloom/ledger.sqlite3",
        frozenset({"namespaces", "landlock"}),
    ),
    "the names in the home": ("ls -A {home} | grep ssh", frozenset({"namespaces", "landlock"})),
    "a key by a link": ("ln -s {home}/.ssh/id_rsa k && grep CANARY k", frozenset({"namespaces", "landlock"})),
    "a key as an interpreter": (
        "mkdir -p v/bin .venv/bin && ln -s {home}/.ssh/id_rsa .venv/bin/python && grep CANARY .venv/bin/python",
        frozenset({"namespaces", "landlock"}),
    ),
    "a mount": ("mkdir m && mount -t tmpfs x m", frozenset({"namespaces", "landlock", "calls"})),
    "an unmount": ("umount {home} || umount /tmp", frozenset({"namespaces", "landlock", "calls"})),
    "a namespace of its own": ("unshare -Ur true", frozenset({"landlock", "calls"})),
    "the environment of the server": (
        f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ | grep -q =",
        frozenset({"namespaces", "landlock"}),
    ),
    "a signal to the server": (f"kill -0 {os.getpid()}", frozenset({"namespaces", "landlock"})),
    "the memory of the server": (
        f"{PYTHON} -c \"open('/proc/{os.getpid()}/mem', 'rb')\"",
        frozenset({"namespaces", "landlock"}),
    ),
    "the debugger": (
        f'{PYTHON} -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {os.getpid()}, 0, 0) and 1)"',
        frozenset({"namespaces", "landlock", "calls"}),
    ),
    "the key ring": (
        f'{PYTHON} -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(250, 0, -3, 0) < 0)"',
        frozenset({"landlock", "calls"}),
    ),
    "characters for the terminal": (
        f"{PYTHON} -c \"import fcntl, os, pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b'x')\"",
        frozenset({"landlock", "calls"}),
    ),
    "raw sockets": (
        f'{PYTHON} -c "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"',
        frozenset({"namespaces", "landlock", "calls"}),
    ),
    "a socket of the kernel": (
        f'{PYTHON} -c "import socket; socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)"',
        frozenset({"landlock", "calls"}),
    ),
}
"""What a command tries, as a shell says yes by its exit code, and the levels that stop it."""


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("level", ["all", *LEVELS])
async def test_a_command_does_not_get_out(level: str, attack: str, place: Place) -> None:
    command, stopped_by = ATTACKS[attack]
    has = LEVELS.get(level)
    needed = means() if has is None else has
    if (needed.namespaces and not means().namespaces) or (needed.landlock and not means().landlock):
        pytest.skip("this machine lacks it")
    if level not in ("all", *stopped_by):
        pytest.skip("this level does not stop it, and says so")
    before = place.users()
    for _ in range(2):
        # What it has made may let the next one out.
        ended = await place.run(command.replace("{home}", str(place.home)), has)
        assert ended.code not in (0, None, 125), ended.output
        assert place.users() == before


WRITES: Final = """
    .bashrc .profile .gitconfig .local/bin/x .config/systemd/user/x.service .config/autostart/x.desktop
    .ssh/authorized_keys .cargo/bin/cargo .nvm/versions/node/v20/bin/node .pyenv/shims/python
    .vscode/extensions/x/extension.js .cache/other/x
    .local/share/uv/tools/ruff/bin/ruff .local/share/uv/python/cpython-3.12/bin/python3.12
    .cache/pypoetry/virtualenvs/x/bin/pytest .cache/pypoetry/virtualenvs/x/lib/site-packages/x.pth
    .pub-cache/bin/flutterfire .mix/escripts/hex .mix/archives/hex-2.0/ebin/hex.beam
    .m2/wrapper/dists/x/bin/mvn .m2/repository/x/1/x-1.jar .conda/pkgs/python-3.12/bin/python3.12
    .stack/config.yaml .stack/programs/x/bin/ghc .cache/node/corepack/v1/pnpm/9.0.0/bin/pnpm.cjs
    .cache/deno/npm/x.js .cache/virtualenv/wheel/x.whl .cache/pipenv/x
    .cache/pre-commit/repo/bin/black .npm/_npx/0123/node_modules/.bin/create-vite
    .gradle/wrapper/dists/gradle-8.10/bin/gradle .local/share/pnpm/store/v3/files/00/abc
    .cache/uv/archive-v0/abc/pkg/__init__.py go/pkg/mod/x@v1.0.0/x.go
    .cargo/registry/src/x/serde-1.0.0/build.rs .cache/ms-playwright/chromium-1/chrome
    .cache/huggingface/modules/x.py .cache/electron/x.zip .local/share/virtualenv/x/pip.json .konan/x/bin/y
"""
"""What the user's later commands run, or other projects take in."""


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_nothing_that_a_command_writes_in_its_home_is_the_users(level: str, place: Place) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    for name in WRITES.split():
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text("good\n")
    before = place.users()
    # By its own name, by a link from the workspace, replaced, and below a folder that was moved away.
    command = "; ".join(
        f"mkdir -p ~/{Path(name).parent}; echo evil > ~/{name}; ln -s {place.home}/{name} {index}; echo evil > {index};"
        f"echo evil > {index}.new; mv -f {index}.new {place.home}/{name}"
        for index, name in enumerate(WRITES.split())
    )
    move = "; ".join(
        f"mv {place.home}/{each} {place.home}/{each}.old" for each in (".cache", ".npm", ".local")
    )
    links = f"ln -s {place.home}/.ssh {place.home}/.cache; ln -s / {place.home}/.npm"
    for each in (
        f"({command}) 2> /dev/null; echo done",
        f"({move}; {links}) 2> /dev/null; echo done",
        "echo done",
    ):
        ended = await place.run(each, LEVELS.get(level))
        assert (ended.code, ended.output) == (0, "done\n")
        assert place.users() == before


@needs_namespaces
async def test_what_a_command_puts_in_the_way_of_the_workspace_is_moved_aside(place: Place) -> None:
    work = place.home / "projects" / "one"
    work.mkdir(parents=True)
    for command in ("mv ~/projects ~/p && ln -s / ~/projects", "echo x > made"):
        ended = await run_process(place.launch(command, work=work), timeout_seconds=20)
        assert ended.code == 0, ended.output
    assert (work / "made").exists()


@needs_namespaces
async def test_a_cache_is_as_the_user_left_it_and_its_changes_stay_for_the_plan(place: Place) -> None:
    (place.home / ".cache/pip/wheel").write_text("lower")
    ended = await place.run("cat ~/.cache/pip/wheel && rm ~/.cache/pip/wheel && echo x > ~/.cache/pip/new")
    assert (ended.code, ended.output) == (0, "lower")
    # Two commands at once do not have the same.
    beside = ChildProcess(Capture())
    assert await beside.start(place.launch("echo y > ~/.cache/pip/beside; sleep 60")) is None
    try:
        assert (await place.run("ls ~/.cache/pip")).output in ("new\n", "wheel\n")
    finally:
        await beside.end()
    assert "new\n" in (await place.run("ls ~/.cache/pip")).output
    assert [each.name for each in (place.home / ".cache/pip").iterdir()] == ["wheel"]


@needs_namespaces
async def test_tools_put_programs_beside_the_users_for_the_plan_alone(place: Place) -> None:
    folders = ("go/bin", ".cargo/bin", ".nvm/versions/node/v20/bin", "work/.venv/bin", "other/.venv/bin")
    for name in folders:
        (place.home / name).mkdir(parents=True)
    added = [place.home / name / "new" for name in folders]
    launch = place.launch("; ".join(f"echo x > {each}; test -e {each} && echo there" for each in added))
    path = os.pathsep.join(str(place.home / name) for name in folders)
    launch = launch._replace(env={**launch.env, "PATH": f"{path}:{launch.env['PATH']}"})
    assert (await run_process(launch, timeout_seconds=20)).output == "there\n" * 5
    assert [each.exists() for each in added] == [False, False, False, True, False], "the workspace is changed"


@pytest.mark.parametrize("level", ["all", *LEVELS])
async def test_temporary_files_stay_for_the_plan_and_go_with_it(level: str, place: Place) -> None:
    has = LEVELS.get(level)
    if (has or means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    temporary = "/tmp" if (has or means()).namespaces else "$TMPDIR"
    assert (await place.run(f"echo kept > {temporary}/out.txt; mkdir -m 0 $TMPDIR/closed", has)).code == 0
    assert (await place.run(f"grep kept {temporary}/out.txt $TMPDIR/out.txt", has)).code == 0
    other = place.launch(f"test ! -e {temporary}/out.txt", has)
    assert other.confined is not None
    other = other._replace(confined=other.confined._replace(plan_folder=place.ledger / "plans" / "q"))
    assert (await run_process(other, timeout_seconds=20)).code == 0
    remove_plan_folder(place.plan_folder)
    assert not place.plan_folder.exists()


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_of_the_home_tools_and_their_settings_without_passwords_are_seen(
    level: str, place: Place, tmp_path: Path
) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    seen = (".pyenv/x", ".local/bin/x", ".gitconfig", ".npmrc", "own/bin/x", "own/lib/x", "named/x", "repo/x")
    hidden = (".cargo/credentials", ".config/pip/pip.conf", ".m2/settings.xml", "other/.env", ".mozilla/x")
    for name in (*seen, *hidden):
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text("https://a:b@host <password>" if name in hidden else "x\n")
    # A repository of which a part is the workspace, and a dotfile that is a link.
    work = place.home / "repo" / "part"
    for folder in (work, place.home / "repo" / ".git"):
        folder.mkdir()
    (place.home / ".gitconfig").rename(place.home / "gitconfig")
    (place.home / ".gitconfig").symlink_to("gitconfig")
    launch = place.launch(
        "cd ~; for f in "
        + " ".join(map(str, (*seen, *hidden)))
        + "; do cat $f > /dev/null 2>&1 && echo $f; done",
        LEVELS.get(level),
        work=work,
    )
    assert launch.confined is not None
    reach = launch.confined.reach._replace(readable=(place.home / "named",))
    path = f"{place.home}/own/bin:{launch.env['PATH']}"
    launch = launch._replace(env={**launch.env, "PATH": path}, confined=launch.confined._replace(reach=reach))
    ended = await run_process(launch, timeout_seconds=20)
    assert ended.output.split() == list(seen), ended.output


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
@pytest.mark.parametrize(
    "command",
    [
        "echo x > new && mkdir folder && echo y > folder/file && mv new folder && rm -r folder",
        "echo x > src/a && ln -s a src/b && cat src/b",
        'echo x > "$TMPDIR/t" && cat "$TMPDIR/t" && mktemp',
        "mkdir -p ~/.cache/pip ~/.config/tool && echo x > ~/.cache/pip/wheel && echo x > ~/.config/tool/rc",
        "echo x > /dev/null && head -c 3 /dev/urandom > r",
        "ls ~ && git --version",
        f"{PYTHON} -c 'import multiprocessing as m; m.set_start_method(\"spawn\"); m.Lock(); m.Queue()'",
        f"{PYTHON} -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
        f"{PYTHON} -c 'import pty; m, s = pty.openpty()'",
        f"{PYTHON} -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); b.recv(1)'",
        "test $(id -u) = " + str(os.getuid()),
    ],
)
async def test_usual_work_goes_on(level: str, command: str, place: Place) -> None:
    ended = await place.run(command, LEVELS.get(level))
    assert ended.code == 0, ended.output


NODE_SERVER = """
const http = require('http')
http.createServer((q, s) => s.end('hi')).listen(0, '127.0.0.1', function () {
  http.get({port: this.address().port}, r => r.on('data', d => process.exit(0)))
})
"""
CARGO = '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
GO_TEST = 'package main\n\nimport "testing"\n\nfunc TestNothing(t *testing.T) {}\n'
BUILDS: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "a commit in a new repository": (
        "git",
        {},
        "git init -q r && cd r && git config user.email a@b && touch a && git add a && git commit -qm x",
    ),
    "git's status": ("git", {}, "git init -q . ; git status --short | grep AGENTS"),
    "pytest": (
        "python3",
        {"test_a.py": "def test(tmp_path):\n    (tmp_path / 'a').write_text('x')\n"},
        f"{PYTHON} -m pytest -q",
    ),
    "a server and its client": ("node", {"a.js": NODE_SERVER}, "node a.js"),
    "npm": ("npm", {"package.json": '{"name": "x", "scripts": {"test": "node -e 0"}}'}, "npm test"),
    "make": (
        "gcc",
        {"a.c": "int main(void) { return 0; }\n", "Makefile": "a: a.c\n\tgcc -o a a.c\n"},
        "make && ./a",
    ),
    "cargo": ("cargo", {"Cargo.toml": CARGO, "src/main.rs": "fn main() {}\n"}, "cargo build --offline -q"),
    "go": (
        "go",
        {"go.mod": "module x.org/x\n", "a.go": "package main\n\nfunc main() {}\n", "a_test.go": GO_TEST},
        "git init -q . && go vet && go build -o a && ./a && go test && go install && ls ~/go/bin/x",
    ),
    "java": ("java", {"A.java": "class A { public static void main(String[] a) { } }\n"}, "java A.java"),
}
"""A program, the files that it works on, and the command."""


@pytest.mark.slow
@needs_namespaces
@pytest.mark.parametrize("name", BUILDS)
async def test_tools_of_builds_work(name: str, tmp_path: Path) -> None:
    program, files, command = BUILDS[name]
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    work = tmp_path / "work"
    for path, text in {"AGENTS.md": "rules\n", **files}.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    confined = Confined(Confinement(), Reach((work,)), tmp_path / "plan")
    launch = Launch(shell_argv(command), Folder(work), environment(os.environ), confined)
    ended = await run_process(launch, timeout_seconds=100)
    assert ended.code == 0, ended.output


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server on this machine's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


CONNECT = PYTHON + " -c \"import socket; socket.create_connection(('127.0.0.1', {}), 3)\""


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock", "calls"])
async def test_without_network_nothing_answers(level: str, listener: int, place: Place) -> None:
    ended = await place.run(CONNECT.format(listener), LEVELS.get(level))
    assert ended.code == 1 and ("refused" in ended.output or "not permitted" in ended.output)
    assert (await place.run(CONNECT.format(listener), LEVELS.get(level), network="all")).code == 0


@needs_namespaces
async def test_commands_without_network_reach_each_other_alone(place: Place) -> None:
    server = (
        PYTHON + " -c \"import socket, time; s = socket.create_server(('127.0.0.1', 5999)); time.sleep(20)\""
    )
    output = Capture()
    child = ChildProcess(output)
    assert await child.start(place.launch(server)) is None
    try:
        for _ in range(100):
            ended = await place.run(CONNECT.format(5999))
            if ended.code == 0:
                break
        assert ended.code == 0
        assert (await place.run(CONNECT.format(5999), network="all")).code == 1
    finally:
        await child.end()


SERVER = PYTHON + (
    " -c \"import socket; s = socket.create_server(('127.0.0.1', {port}))\n"
    "while True: c, _ = s.accept(); c.sendall(b'hello'); c.close()\""
)
FETCH = PYTHON + (
    " -c \"import socket; c = socket.create_connection(('127.0.0.1', {port}), 5); assert c.recv(9) == b'hello'\""
)


@needs_namespaces
async def test_this_machine_alone_is_reached_in_both_ways(place: Place) -> None:
    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    loopback = Confinement(network="loopback")
    host = await asyncio.start_server(hello, "127.0.0.1", 0)
    port = host.sockets[0].getsockname()[1]
    children = [ChildProcess(Capture()), ChildProcess(Capture())]
    try:
        # A server of the machine, and one of a command without network.
        assert await children[0].start(place.launch(SERVER.format(port=5998))) is None
        await reached(place, port, "loopback")
        await reached(place, 5998, "loopback")
        assert (await place.run(FETCH.format(port=port), network="none")).code == 1
        # What a command serves, for the machine.
        assert await children[1].start(place.launch(SERVER.format(port=5997), None, loopback)) is None
        await reached(place, 5997, "all")
        # Nothing else.
        outside = f"{PYTHON} -c \"import socket; socket.create_connection(('192.0.2.1', 80), 2)\""
        ended = await place.run(outside, network="loopback")
        assert ended.code == 1 and "unreachable" in ended.output
    finally:
        host.close()
        for child in children:
            await child.end()


async def reached(place: Place, port: int, network: Network) -> None:
    """A command with this network reaches a server, which may take a moment to start."""
    for _ in range(40):
        ended = await place.run(FETCH.format(port=port), network=network)
        if ended.code == 0:
            return
    pytest.fail(ended.output)


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_sockets_without_a_path_are_out_of_reach(level: str, place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0planloom-{os.getpid()}")
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + 'planloom-{os.getpid()}')"
        ended = await place.run(f'{PYTHON} -c "{code}"', LEVELS.get(level))
    assert ended.code == 1, ended.output


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
@pytest.mark.parametrize("network", ["none", "all"])
@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (socket.SOCK_STREAM, "socket.socket(socket.AF_UNIX).connect(path)"),
        (socket.SOCK_DGRAM, "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', path)"),
        (socket.SOCK_DGRAM, "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', path)"),
    ],
)
async def test_sockets_of_services_are_out_of_reach(
    level: str, network: Network, kind: int, call: str, place: Place
) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    with socket.socket(socket.AF_UNIX, kind) as server:
        server.bind(f"{place.home}/agent")
        if kind == socket.SOCK_STREAM:
            server.listen()
        command = f"{PYTHON} -c \"import socket; path = '{place.home}/agent'; {call}\""
        free = place.launch(command, None, Confinement(confined=False))
        assert (await run_process(free, timeout_seconds=20)).code == 0
        ended = await place.run(command, LEVELS.get(level), network=network)
    assert ended.code == 1 and "Error" in ended.output


@needs_namespaces
@pytest.mark.parametrize(
    "attack",
    [
        "for f in /proc/1/fd/*; do [ -p $f ] && printf 0 > $f; done 2> /dev/null",
        "for f in /proc/1/fd/*; do [ -p $f ] && printf xyz > $f; done 2> /dev/null",
        "kill -9 1; kill -STOP 1",
        f'{PYTHON} -c "import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)"',
    ],
)
async def test_a_command_does_not_say_itself_how_it_ended(attack: str, place: Place) -> None:
    ended = await place.run(f"{attack}; exit 7")
    assert (ended.code, ended.timed_out) == (7, False) and "Traceback" not in ended.output


def running(tag: str) -> list[int]:
    """The processes that have a tag as an argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if tag.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something holds within a few seconds."""
    until = time.monotonic() + 5
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


def gone(tag: str) -> bool:
    """Whether the processes with a tag are gone, after a moment."""
    return soon(lambda: not running(tag))


DAEMON = PYTHON + (
    ' -c "import os, sys, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);'
    " print('daemon', flush=True); open('begun', 'w'); os.close(0); os.close(1); os.close(2); time.sleep(60)\" {}"
)


@pytest.mark.parametrize("level", ["all", *LEVELS])
@pytest.mark.parametrize("end", ["by itself", "time limit", "cancelled"])
async def test_a_daemon_ends_with_its_command(level: str, end: str, place: Place) -> None:
    tag = f"planloom-daemon-{os.getpid()}-{level}-{end.replace(' ', '-')}"
    command = DAEMON.format(tag) + (
        "; until test -e begun; do :; done" if end == "by itself" else "; sleep 60"
    )
    heard = asyncio.Event()
    job = asyncio.create_task(
        run_process(
            place.launch(command, LEVELS.get(level)),
            timeout_seconds=2 if end == "time limit" else 30,
            on_output=lambda *_: heard.set(),
        )
    )
    async with asyncio.timeout(20):
        await heard.wait()
    if end == "cancelled":
        job.cancel()
    await asyncio.wait({job})
    assert gone(tag)


@pytest.mark.parametrize("level", ["all", *LEVELS])
def test_everything_ends_when_the_server_is_killed(level: str, place: Place) -> None:
    tag = f"planloom-orphan-{os.getpid()}-{level}"
    server = (
        "import asyncio, os, sys\n"
        "from tests.security.test_confinement import *\n"
        "place = Place.__new__(Place)\n"
        f"place.home = Path({str(place.home)!r})\n"
        "place.work, place.ledger = place.home / 'work', place.home / STATE\n"
        "place.plan_folder = place.ledger / 'plans' / 'p'\n"
        f"launch = place.launch({DAEMON.format(tag) + '; sleep 60'!r}, LEVELS.get({level!r}))\n"
        "told = lambda *_: print('ready', flush=True)\n"
        "asyncio.run(run_process(launch, timeout_seconds=60, on_output=told))\n"
    )
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, cwd=Path.cwd()) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        assert running(tag)
        process.kill()
    assert gone(tag)


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_a_fork_bomb_is_bounded(level: str, place: Place) -> None:
    tag = f"planloom-bomb-{os.getpid()}-{level}"
    loop = f"for _ in range(4000):\n  os.fork() or os.execlp('sleep', 'sleep', '60', '{tag}')"
    bomb = f'{PYTHON} -c "import os\n{loop}"'
    ended = await place.run(bomb, LEVELS.get(level), processes=400, seconds=60)
    assert ended.code != 0 and not ended.timed_out and gone(tag)


@pytest.mark.parametrize("level", ["all", "landlock", "calls"])
async def test_memory_is_bounded(level: str, place: Place) -> None:
    hog = f"{PYTHON} -c \"import time; a = b'x' * 600_000_000; time.sleep(20); print('done')\""
    ended = await place.run(hog, LEVELS.get(level), memory_bytes=300 << 20, seconds=15)
    assert ended.code != 0 and not ended.timed_out and "300 MB of memory" in ended.output


@pytest.mark.parametrize("level", ["all", "landlock", "calls"])
async def test_the_size_of_a_file_is_bounded(level: str, place: Place) -> None:
    ended = await place.run("head -c 3000000 /dev/zero > big", LEVELS.get(level), file_bytes=1_000_000)
    assert ended.code != 0 and (place.work / "big").stat().st_size == 1_000_000


async def test_without_confinement_it_has_the_rights_of_the_user(place: Place) -> None:
    tag = f"planloom-free-{os.getpid()}"
    command = f"echo x > ~/new && cat ~/.ssh/id_rsa && {DAEMON.format(tag)}"
    ended = await run_process(place.launch(command, None, Confinement(confined=False)), timeout_seconds=20)
    assert ended.code == 0 and "CANARY" in ended.output and (place.home / "new").exists()
    assert gone(tag)


async def test_how_it_ended_is_passed_on(place: Place) -> None:
    assert (await place.run("exit 7")).code == 7
    assert (await place.run("kill -9 $$")).signal == 9
    ended = await run_process(place.launch(("no-such-program",)), timeout_seconds=5)
    assert ended.problem == "no-such-program cannot be started: No such file or directory."


async def test_a_workspace_below_a_hidden_folder_is_worked_in(place: Place) -> None:
    work = place.home / ".aws.d" / "x"
    hidden = place.home / ".ssh" / "work"
    for folder in (work, hidden):
        folder.mkdir(parents=True)
        for level in (None, *LEVELS.values()):
            launch = place.launch("echo x > made && cat made", level, work=folder)
            ended = await run_process(launch, timeout_seconds=20)
            assert (ended.code, ended.output) == (0, "x\n"), level


@pytest.fixture
def in_shared_memory() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Place(Path(folder).resolve())


@needs_namespaces
@pytest.mark.skipif("not os.path.isdir('/dev/shm')", reason="no shared memory here")
async def test_a_home_and_a_workspace_in_shared_memory_are_where_they_were(in_shared_memory: Place) -> None:
    place = in_shared_memory
    for has in (None, *LEVELS.values()):
        ended = await place.run("echo x > made && echo x > ~/new", has)
        assert ended.code == 0, (has, ended.output)
    assert (place.work / "made").exists()
    there = {name for name, has in LEVELS.items() if not has.landlock or means().landlock}
    for attack in ("a key", "the ledger", "change a file outside", "the settings of git"):
        command, stopped_by = ATTACKS[attack]
        for level in stopped_by & there:
            ended = await place.run(command.replace("{home}", str(place.home)), LEVELS[level])
            assert ended.code not in (0, None, 125), (level, attack, ended.output)


@needs_namespaces
async def test_a_writable_folder_in_what_is_hidden_is_written_and_the_rest_is_not_seen(
    tmp_path: Path,
) -> None:
    work, private = tmp_path / "work", tmp_path / "private"
    (private / "caches").mkdir(parents=True)
    work.mkdir()
    (private / "ledger.sqlite3").write_text("CANARY")
    command = f"echo x > {private}/caches/made; cat {private}/ledger.sqlite3"
    reach = Reach((work,), (private,), (private / "caches",))
    confined = Confined(CONFINED, reach, private / "plans" / "p")
    launch = Launch(shell_argv(command), Folder(work), environment(os.environ), confined)
    ended = await run_process(launch, timeout_seconds=20)
    assert (private / "caches" / "made").exists() and "CANARY" not in ended.output, ended.output


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_what_the_user_lets_commands_write_is_written_but_for_what_is_protected(
    level: str, place: Place
) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    other = place.home / "other"
    (other / ".git").mkdir(parents=True)
    (place.home / ".docker").mkdir()

    async def run(command: str, *writable: Path) -> int | None:
        launch = place.launch(command, LEVELS.get(level))
        assert launch.confined is not None
        reach = launch.confined.reach._replace(writable=writable)
        launch = launch._replace(confined=launch.confined._replace(reach=reach))
        ended = await run_process(launch, timeout_seconds=20)
        assert ended.code != 125, ended.output
        return ended.code

    assert await run(f"echo x > {other}/made && cat {other}/made", other) == 0
    # One that is hidden unless it is named, and one that holds what is hidden.
    docker = place.home / ".docker"
    assert await run(f"echo x > {docker}/made && cat {docker}/made", docker) == 0
    assert (other / "made").exists() and (docker / "made").exists()
    assert await run(f"echo x >> {place.home}/plain.txt", place.home) == 0
    keys = f"grep CANARY {place.home}/.ssh/id_rsa || grep CANARY {place.home}/.netrc"
    assert await run(keys, place.home) not in (0, 125)
    if level != "landlock":
        assert await run(f"echo x > {other}/.git/config", other) not in (0, 125)


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_a_home_that_the_user_lets_commands_read_is_seen_but_for_hidden_names(
    level: str, place: Place
) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    for command, codes in {
        f"grep CANARY {place.home}/plain.txt && echo x > made": {0},
        f"grep CANARY {place.home}/.ssh/id_rsa {place.home}/.netrc {place.ledger}/ledger.sqlite3": {1, 2},
        f"echo x >> {place.home}/plain.txt": {1},
    }.items():
        launch = place.launch(command, LEVELS.get(level))
        assert launch.confined is not None
        reach = launch.confined.reach._replace(readable=(place.home,))
        launch = launch._replace(confined=launch.confined._replace(reach=reach))
        ended = await run_process(launch, timeout_seconds=20)
        assert ended.code in codes and (0 in codes or "CANARY" not in ended.output), ended.output


@pytest.mark.parametrize("level", ["all", "namespaces", "landlock"])
async def test_secrets_in_a_workspace_that_is_the_home_are_not_read(level: str, place: Place) -> None:
    if LEVELS.get(level, means()).landlock and not means().landlock:
        pytest.skip("no Landlock here")
    for command, codes in {
        "echo x > src/made && echo x >> plain.txt": {0},
        "grep CANARY .ssh/id_rsa .netrc .token*": {1, 2},
    }.items():
        (place.home / "src").mkdir(exist_ok=True)
        for number in range(9):
            (place.home / f".token{number}").write_text("CANARY\n")
        launch = place.launch(command, LEVELS.get(level), work=place.home)
        ended = await run_process(launch, timeout_seconds=20)
        assert ended.code in codes and "CANARY" not in ended.output, ended.output


@needs_namespaces
def test_what_is_mounted_read_only_stays_so_and_the_command_runs(place: Place) -> None:
    (place.work / "mounted").mkdir()
    server = (
        "import asyncio\n"
        "from tests.security.test_confinement import *\n"
        "place = Place.__new__(Place)\n"
        f"place.home = Path({str(place.home)!r})\n"
        "place.work, place.ledger = place.home / 'work', place.home / STATE\n"
        "place.plan_folder = place.ledger / 'plans' / 'p'\n"
        "ended = asyncio.run(place.run('echo x > made && ! echo x > mounted/made && echo x > ~/.cache/pip/made'))\n"
        "print(ended.output)\n"
        "raise SystemExit(ended.code)\n"
    )
    mounts = f"mount -t tmpfs -o ro x {place.work}/mounted && mount -t tmpfs -o ro x {place.home}/.cache/pip"
    script = f'{mounts} && exec {PYTHON} -c "$0"'
    argv = ["unshare", "-rm", "sh", "-c", script, server]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (place.work / "made").exists()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
def test_namespaces_are_found_where_there_are_some() -> None:
    made = subprocess.run(["unshare", "-Urmpf", "true"], capture_output=True, check=False)
    assert means().namespaces == (made.returncode == 0)


@needs_landlock
def test_a_machine_that_forbids_namespaces_confines_by_landlock(place: Place) -> None:
    server = (
        "import asyncio\n"
        "from planloom.tools.confinement.linux import kernel, system_calls\n"
        "kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)\n"
        "system_calls.restrict(internet=True, own_processes=True)\n"
        "from tests.security.test_confinement import *\n"
        "place = Place.__new__(Place)\n"
        f"place.home = Path({str(place.home)!r})\n"
        "place.work, place.ledger = place.home / 'work', place.home / STATE\n"
        "place.plan_folder = place.ledger / 'plans' / 'p'\n"
        "print(abilities_of(means()).how)\n"
        f"plain = '{place.home}/plain.txt'\n"
        "command = f'echo x > made; echo x > ~/own; cat ~/own {plain}; echo x > {plain}'\n"
        "print(asyncio.run(place.run(command)).output)\n"
    )
    before = place.users()
    done = subprocess.run([sys.executable, "-c", server], capture_output=True, text=True, check=False)
    how, own, *refused = done.stdout.splitlines()
    assert (how, own) == ("Landlock, seccomp, a supervisor", "x"), done
    assert [line.rpartition(": ")[2] for line in refused if line] == ["Permission denied"] * 2
    assert place.users() == before and (place.work / "made").exists()


async def test_a_hidden_folder_in_the_temporary_folder_is_not_there(place: Place, tmp_path: Path) -> None:
    private = Path(tempfile.mkdtemp(dir="/tmp", prefix="planloom-test-"))
    try:
        (private / "ledger.sqlite3").write_text("CANARY")
        launch = place.launch(f"cat {private}/ledger.sqlite3; true")
        assert launch.confined is not None
        reach = launch.confined.reach._replace(private=(private,))
        launch = launch._replace(confined=launch.confined._replace(reach=reach))
        ended = await run_process(launch, timeout_seconds=20)
        assert ended.code == 0 and "CANARY" not in ended.output
    finally:
        shutil.rmtree(private)


@pytest.mark.parametrize(
    ("has", "files", "network", "processes", "how"),
    [
        (Means(True, 7, True, True), True, True, True, "namespaces, Landlock, seccomp"),
        (LEVELS["namespaces"], True, True, True, "namespaces"),
        (Means(False, 7, True, True), True, True, True, "Landlock, seccomp, a supervisor"),
        (LEVELS["calls"], False, True, False, "seccomp, a supervisor"),
        (LEVELS["nothing"], False, False, False, "a supervisor"),
        (Means(), False, False, False, "nothing"),
        (Means(job_object=True), False, False, False, "a job object"),
        (Means(sandbox_exec=True), True, True, False, "sandbox-exec"),
    ],
)
def test_what_a_level_holds_is_said(
    has: Means, files: bool, network: bool, processes: bool, how: str
) -> None:
    found = abilities_of(has)
    assert (found.files, found.network, found.processes, found.how) == (files, network, processes, how)
    assert bool(found.missing) == (not has.namespaces)


@pytest.mark.skipif(not means().overlays, reason="no overlays here")
async def test_changes_of_a_workspace_can_be_thrown_away(place: Place) -> None:
    (place.work / "src" / "a.py").write_text("old\n")
    changes = "echo new > src/a.py && rm AGENTS.md && touch made ../.cache/pip/made && echo >> .git/config"
    commands = f"{changes} && cat src/a.py && ls && cat ../.ssh/id_rsa"
    launch = place.launch(f"{commands}; ls ../{STATE}", confinement=Confinement(workspace="throwaway"))
    ended = await run_process(launch, timeout_seconds=20)
    assert ended.output.split()[:3] == ["new", "made", "src"], ended.output
    assert "CANARY" not in ended.output
    assert (place.work / "src" / "a.py").read_text() == "old\n"
    assert sorted(each.name for each in place.work.iterdir()) == [".git", ".vscode", "AGENTS.md", "src"]
    assert not (place.home / ".cache" / "pip" / "made").exists()


@pytest.mark.skipif(not means().overlays, reason="no overlays here")
async def test_what_is_hidden_in_a_workspace_stays_hidden_where_its_changes_are_thrown_away(
    place: Place,
) -> None:
    launch = place.launch(
        f"cat .ssh/id_rsa {STATE}/ledger.sqlite3; cat plain.txt",
        confinement=Confinement(workspace="throwaway"),
        work=place.home,
    )
    ended = await run_process(launch, timeout_seconds=20)
    assert ended.output.count("CANARY") == 1, ended.output
