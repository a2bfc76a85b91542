"""Random workspaces and plans by seed, each with the effects it must have and the state it must end in.

Every effect carries a word of its own, so that a test counts it in the final state: an edit puts its word into a
line, a new file holds it, a command appends it to `counter.log`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["edit", "create", "folder", "rename", "delete", "command"]
State = dict[str, str | None]
"""What a workspace holds: the text of each file and None for each folder, by relative path."""

COUNTER = "counter.log"
LINES = 8


@dataclass(frozen=True)
class Effect:
    """One thing that a step does: the call that does it, and the word or path by which it is recognised.

    `source` is the file's name when the plan starts; `old` and `new` are texts for an edit, paths for a rename.
    """

    kind: Kind
    step: str
    token: str
    tool: str
    args: Mapping[str, Any]
    source: str = ""
    old: str = ""
    new: str = ""

    def made(self, state: Mapping[str, str | None], counter: str) -> int:
        """How often it was made, as the state of the workspace shows it."""
        match self.kind:
            case "edit" | "create":
                return sum(text.count(self.token) for text in state.values() if text is not None)
            case "command":
                return counter.split().count(self.token)
            case "folder":
                return int(self.token in state)
            case "rename":
                return int(self.new in state and self.old not in state)
            case "delete":
                return int(self.token not in state)


@dataclass
class World:
    """A workspace and a plan for it; `scripts` holds the effects of each model step by the word that names it."""

    key: str
    files: dict[str, str]
    plan: dict[str, Any] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    scripts: dict[str, tuple[Effect, ...]] = field(default_factory=dict)
    not_needed: set[str] = field(default_factory=set)
    """The steps whose conditions do not hold."""
    gates: dict[str, str] = field(default_factory=dict)
    """The step behind each gate, by the gate's id."""
    templates: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The steps of the templates that sub-plans name."""

    def expected(self, without: Collection[str] = ()) -> State:
        """The state after the plan, but for the steps in `without`."""
        state: State = dict(self.files)
        names = {name: name for name in self.files}
        for effect in self.effects:
            if effect.step not in without:
                _do(effect, state, names)
        return state

    def steps(self) -> list[str]:
        """The ids of the steps that change anything, those that a loop or a sub-plan becomes among them, in order."""
        return [*dict.fromkeys(effect.step for effect in self.effects)]

    def of_step(self, step: str) -> list[Effect]:
        """The effects of one step."""
        return [effect for effect in self.effects if effect.step == step]


def _do(effect: Effect, state: State, names: dict[str, str]) -> None:
    match effect.kind:
        case "edit":
            path = names[effect.source]
            text = state.get(path)
            if text is not None:
                state[path] = text.replace(effect.old, effect.new, 1)
        case "create":
            state[effect.args["path"]] = effect.args["content"]
            _parents(state, effect.args["path"])
        case "folder":
            state[effect.token] = None
            _parents(state, effect.token)
        case "rename":
            if effect.old in state:
                for path in [path for path in state if f"{path}/".startswith(f"{effect.old}/")]:
                    state[effect.new + path.removeprefix(effect.old)] = state.pop(path)
                for name, path in names.items():
                    if f"{path}/".startswith(f"{effect.old}/") and (
                        not effect.source or name == effect.source
                    ):
                        names[name] = effect.new + path.removeprefix(effect.old)
                _parents(state, effect.new)
        case "delete":
            state.pop(effect.token, None)
        case "command":
            pass


def _parents(state: State, path: str) -> None:
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        state.setdefault("/".join(parts[:count]), None)


@dataclass(frozen=True)
class Shape:
    """What a world may hold."""

    steps: tuple[int, int] = (3, 7)
    models: bool = True
    commands: bool = True
    moves: bool = True
    """Renames, deletes and folders, and names that are used again."""
    again: int = 4
    """How often a name is used again, beside one rename and one delete."""
    nodes: bool = False
    """Loops, rounds, conditions, checks, gates and sub-plans."""
    sleep: float = 0.15
    """The longest time that a command takes, in seconds."""


def make_world(rng: random.Random, key: str, shape: Shape) -> World:
    """A world from random numbers alone."""
    return _Maker(rng, key, shape).make()


class _Maker:
    def __init__(self, rng: random.Random, key: str, shape: Shape) -> None:
        self.rng = rng
        self.shape = shape
        names = [f"f{number}.txt" for number in range(rng.randint(4, 6))]
        self.world = World(key, {name: self._text(name) for name in names})
        self.free = {name: list(range(LINES)) for name in names}
        self.names = {name: name for name in names}
        self.last_touch: dict[str, str] = {}
        self.freed: dict[str, str] = {}
        """The names that nothing has any more, each with the step that has freed it."""
        self.queue: list[tuple[str, str]] = []
        """The renames that complete a cycle, as file and new name."""

    def make(self) -> World:
        steps: list[dict[str, Any]] = []
        sequential = self.rng.random() < 0.5
        for number in range(1, self.rng.randint(*self.shape.steps) + 1):
            step_id = f"s{number}"
            needs: set[str] = set()
            step = {"id": step_id, "description": f"Step {step_id}", **self._work(step_id, number, needs)}
            if steps and steps[-1].get("kind") == "approval":
                needs.add(steps[-1]["id"])
                self.world.gates[steps[-1]["id"]] = step_id
            before = [steps[-1]["id"]] if sequential and steps else sorted(needs)
            steps.append({**step, "dependsOn": before})
        self.world.plan = {"summary": "A random plan", "steps": steps}
        return self.world

    def _text(self, name: str) -> str:
        words = ("alpha", "beta", "gamma", "délta", "😀 smile")
        stem = name.removesuffix(".txt")
        return "".join(
            f"line {number} of {stem} {self.rng.choice(words)}\nanchor-{stem}-{number}-end\n"
            for number in range(LINES)
        )

    def _work(self, step: str, number: int, needs: set[str]) -> dict[str, Any]:
        """What a step of a random kind does; `needs` gets the steps that must come before it."""
        kinds = ["edit"] * 5 + ["create"] * 2
        if self.shape.moves:
            kinds += ["folder", "rename", "delete", *["again"] * self.shape.again]
        if self.shape.commands:
            kinds += ["command"] * 2
        if self.shape.models:
            kinds += ["model"] * 3
        if self.shape.nodes:
            kinds += ["loop", "rounds", "condition", "check", "gate", "sub_plan"]
        kind = self.rng.choice(kinds)
        files = [name for name, lines in self.free.items() if lines]
        if kind == "delete" and len(files) < 3:
            kind = "edit"
        if self.queue:
            name, new = self.queue.pop(0)
            self._touch(name, step, needs)
            return self._literal(self._rename(step, name, new, needs))
        match kind:
            case "again":
                return self._literal(self._again(step, number, files, needs))
            case "edit":
                return self._literal(self._edit(step, self._pick(files, step, needs)))
            case "rename":
                name = self._pick(files, step, needs)
                new = self.rng.choice(["", "moved/"]) + f"r{number}-{name}"
                return self._literal(self._rename(step, name, new, needs))
            case "delete":
                return self._literal(self._delete(step, self._pick(files, step, needs)))
            case "folder":
                path = f"dir{number}" + self.rng.choice(["", "/sub"])
                return self._literal(self._add(Effect("folder", step, path, "create_folder", {"path": path})))
            case "command":
                return {**self._literal(self._command(step)), "agent": "devo"}
            case "model":
                return self._model(step, files, needs)
            case "loop":
                return self._loop(step, files, needs)
            case "rounds":
                return self._rounds(step)
            case "condition":
                self.world.not_needed.add(step)
                work = {"path": f"never-{step}.txt", "content": "never\n"}
                return {
                    "tool": "write_file",
                    "args": work,
                    "when": f"platform == 'amiga' || exists('{COUNTER}/x')",
                }
            case "check":
                holds = {"kind": "condition", "text": "length(glob('*.txt')) > 0 && platform != 'amiga'"}
                return {"kind": "check", "checks": [holds, {"kind": "no_new_errors"}]}
            case "gate":
                return {"kind": "approval", "question": f"Go on at {step}?"}
            case "sub_plan":
                return self._sub_plan(step, self._pick(files, step, needs))
            case _:
                return self._literal(self._create(step))

    def _literal(self, effect: Effect) -> dict[str, Any]:
        return {"tool": effect.tool, "args": dict(effect.args)}

    def _model(self, step: str, files: list[str], needs: set[str]) -> dict[str, Any]:
        """A step in words: one or two edits of different files, perhaps a new file, perhaps a command."""
        # A model is told of renames by name, which says too little where a name is used again.
        files = [
            name for name in files if self.names[name] == name or self.names[name].startswith(("r", "m"))
        ]
        count = self.rng.randint(1, 2)
        chosen: list[str] = []
        for _ in range(min(count, len(files))):
            chosen.append(self._pick([name for name in files if name not in chosen], step, needs))
        effects = [self._edit(step, name) for name in chosen]
        if self.rng.random() < 0.5 or not effects:
            effects.append(self._create(step))
        work: dict[str, Any] = {}
        if self.shape.commands and self.rng.random() < 0.4:
            command = self._command(step)
            place = len(effects) if self.rng.random() < 0.6 else self.rng.randrange(len(effects))
            effects.insert(place, command)
            work["agent"] = "devo"
        marker = f"SCRIPT-{self.world.key}x{step}"
        self.world.scripts[marker] = tuple(effects)
        return {**work, "instruction": f"Work on {marker}", "description": f"Step {step} {marker}"}

    def _loop(self, step: str, files: list[str], needs: set[str]) -> dict[str, Any]:
        """A loop over at most three edits of different files, and one more item that its condition leaves out."""
        items: list[dict[str, Any]] = []
        for number in range(1, min(self.rng.randint(2, 3), len(files)) + 1):
            name = self._pick(
                [each for each in files if each not in {item["name"] for item in items}], step, needs
            )
            args = self._edit(f"{step}_{number}", name).args
            items.append(
                {"name": name, "path": args["path"], "old": args["old_text"], "new": args["new_text"]}
            )
        items.append({**items[0], "name": "none"})
        names = {"path": "path", "old_text": "old", "new_text": "new"}
        args = {name: f"{{{{item.{part}}}}}" for name, part in names.items()}
        return {"tool": "edit_file", "args": args, "forEach": items, "when": "item.name != 'none'"}

    def _rounds(self, step: str) -> dict[str, Any]:
        """A new file in each of two rounds."""
        token = self._token("NEW", step)
        for number in (0, 1):
            args = {"path": f"round{number}-{step}.txt", "content": f"head {token}r{number}\n"}
            self._add(Effect("create", f"{step}_{number + 1}", f"{token}r{number}", "write_file", args))
        args = {"path": f"round{{{{index}}}}-{step}.txt", "content": f"head {token}r{{{{index}}}}\n"}
        until = {"repeatUntil": "last.ok && index > 0", "repeatMost": 4}
        return {"tool": "write_file", "args": args, **until}

    def _sub_plan(self, step: str, name: str) -> dict[str, Any]:
        """A template of an edit and a new file."""
        effects = (self._edit(f"{step}_one", name), self._create(f"{step}_two"))
        template = f"template-{self.world.key}-{step}"
        self.world.templates[template] = [
            {"step_id": each.step.rpartition("_")[2], "description": each.token, **self._literal(each)}
            for each in effects
        ]
        return {"kind": "sub_plan", "templateId": template}

    def _again(self, step: str, number: int, files: list[str], needs: set[str]) -> Effect:
        """An effect on a name that was used before, or the first of several."""
        there = {name: path for name, path in self.names.items() if name in self.free}
        way = self.rng.choice(["create", "take", "take", "cycle", "cycle", "case", "folder"])
        if way in ("create", "take") and self.freed:
            path = self.rng.choice(sorted(self.freed))
            if way == "create":
                needs.add(self.freed.pop(path))
                return self._create(step, path)
            return self._rename(step, self._pick(files, step, needs), path, needs)
        if way == "folder" and any(path.startswith("moved/") for path in there.values()):
            return self._move_folder(step, number, there, needs)
        name = self._pick(files, step, needs)
        path = self.names[name]
        others = [each for each in there if each != name]
        if way != "cycle" or not others:
            folder, _, last = path.rpartition("/")
            new = f"{folder}/".lstrip("/") + last.swapcase()
            taken = {
                *there.values(),
                *(each.args.get("path") for each in self.world.effects if each.kind == "create"),
            }
            return self._rename(step, name, f"{number}{new}" if new in taken else new, needs)
        ring = self.rng.sample(others, min(len(others), self.rng.randint(1, 2)))
        ends = [path, *(there[each] for each in ring)]
        self.queue = [*zip(ring, ends, strict=False), (name, ends[-1])]
        return self._rename(step, name, f"t{number}.txt", needs)

    def _move_folder(self, step: str, number: int, there: Mapping[str, str], needs: set[str]) -> Effect:
        """Rename the folder of files that were moved, and all that is in it."""
        new = f"moved{number}"
        for name, path in there.items():
            if path.startswith("moved/"):
                self._touch(name, step, needs)
                self.names[name] = new + path.removeprefix("moved")
        for path in [path for path in self.freed if path.startswith("moved/")]:
            needs.add(self.freed.pop(path))
        args = {"path": "moved/", "new_path": new}
        return self._add(Effect("rename", step, new, "rename_path", args, "", "moved", new))

    def _touch(self, name: str, step: str, needs: set[str]) -> None:
        if name in self.last_touch and self.last_touch[name] != step:
            needs.add(self.last_touch[name])
        self.last_touch[name] = step

    def _pick(self, files: list[str], step: str, needs: set[str]) -> str:
        name = self.rng.choice(files)
        self._touch(name, step, needs)
        return name

    def _edit(self, step: str, name: str) -> Effect:
        number = self.rng.choice(self.free[name])
        self.free[name].remove(number)
        anchor = f"anchor-{name.removesuffix('.txt')}-{number}-end"
        token = self._token("INS", step)
        style = self.rng.random()
        new = f"{anchor}\n{token}" if style < 0.6 else f"{token} {anchor}" if style < 0.8 else token
        args = {"path": self.names[name], "old_text": anchor, "new_text": new}
        return self._add(Effect("edit", step, token, "edit_file", args, name, anchor, new))

    def _create(self, step: str, path: str | None = None) -> Effect:
        token = self._token("NEW", step)
        folder = self.rng.choice(["", "new/", f"deep/{step}/"])
        args = {
            "path": path or f"{folder}n{len(self.world.effects)}.txt",
            "content": f"head {token}\nbody é😀\n",
        }
        return self._add(Effect("create", step, token, "write_file", args))

    def _rename(self, step: str, name: str, new: str, needs: set[str]) -> Effect:
        old = self.names[name]
        self.names[name] = new
        if new in self.freed:
            needs.add(self.freed.pop(new))
        self.freed[old] = step
        args = {"path": old, "new_path": new}
        return self._add(Effect("rename", step, new, "rename_path", args, name, old, new))

    def _delete(self, step: str, name: str) -> Effect:
        path = self.names[name]
        del self.free[name]
        self.freed[path] = step
        return self._add(Effect("delete", step, path, "delete_path", {"path": path}, name))

    def _command(self, step: str) -> Effect:
        token = self._token("CMD", step)
        seconds = round(self.rng.random() * self.shape.sleep, 2)
        line = f"echo {token} >> {COUNTER}; sleep {seconds}"
        return self._add(Effect("command", step, token, "run_command", {"command": line}))

    def _token(self, kind: str, step: str) -> str:
        return f"{kind}-{self.world.key}-{step}-{len(self.world.effects)}-end"

    def _add(self, effect: Effect) -> Effect:
        self.world.effects.append(effect)
        return effect


def shown(world: World) -> str:
    """A world for a person who looks into a failure."""
    return json.dumps(world.plan, indent=1, ensure_ascii=False)
