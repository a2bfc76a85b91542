import { chmodSync, existsSync, mkdirSync, mkdtempSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import {
  environment,
  findPython,
  installedServer,
  isInside,
  onPath,
  type RememberedPython,
  startCommand,
  stillFits,
  toRemember,
} from "../src/connection/python";

const scratch = (): string => mkdtempSync(join(tmpdir(), "planloom-python-"));

/** A program that answers the probe with a version, and tells of every run. */
function fakePython(folder: string, version: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "python3");
  writeFileSync(file, `#!/bin/sh\necho "$@" >> "${folder}/runs"\necho ${version}\n`);
  chmodSync(file, 0o755);
  return file;
}

const bundle = (folder: string) => ({ folder, pythons: ["3.11", "3.12"] });

test("an interpreter of an opened folder is never run, linked or not", async () => {
  const home = scratch();
  const workspace = join(home, "work");
  const planted = fakePython(join(workspace, ".venv/bin"), "3.12");
  symlinkSync(join(workspace, ".venv/bin"), join(home, "link"));
  await findPython("", [planted, join(home, "link/python3")], bundle(home), [workspace], home);
  expect(existsSync(join(workspace, ".venv/bin/runs"))).toBe(false);
  expect(isInside(planted, [workspace])).toBe(true);
  expect(isInside(join(home, "link/python3"), [workspace])).toBe(true);
  expect(isInside("/usr/bin/python3", [workspace])).toBe(false);
  expect(isInside(`${workspace}er/bin/python3`, [workspace])).toBe(false);
});

test("the first that fits is taken, and what was tried is told", async () => {
  const home = scratch();
  const old = fakePython(join(home, "old"), "3.9");
  const good = fakePython(join(home, "good"), "3.12");
  expect(await findPython("", [old, good], bundle(home), [], home)).toEqual({
    kind: "found",
    python: good,
    version: "3.12",
  });
  expect(await findPython(old, [good], bundle(home), [], home)).toEqual({ kind: "none", tried: [`${old} (3.9)`] });
  expect(await findPython(join(home, "missing"), [], bundle(home), [], home)).toMatchObject({ kind: "none" });
});

test("the interpreter itself is started, not the script on PATH that looks for it", async () => {
  const home = scratch();
  const real = fakePython(join(home, "versions"), "3.12");
  const shim = fakePython(join(home, "shims"), `3.12; echo ${real}`);
  expect(await findPython("", [shim], bundle(home), [], home)).toMatchObject({ kind: "found", python: real });
  const planted = await findPython("", [shim], bundle(home), [join(home, "versions")], home);
  expect(planted).toMatchObject({ python: shim });
});

test("what was found is remembered until it, the setting, PATH or the opened folders change", () => {
  const home = scratch();
  const python = fakePython(join(home, "bin"), "3.12");
  const remembered = toRemember("", python, "3.12");
  const fits = (setting = "", folders: string[] = [], known: RememberedPython | undefined = remembered) =>
    stillFits(known, setting, bundle(home), folders);
  expect(fits()).toBe(python);
  expect(stillFits(undefined, "", bundle(home), [])).toBeUndefined();
  expect(fits("/other/python")).toBeUndefined();
  expect(fits("", [home])).toBeUndefined();
  expect(fits("", [], { ...remembered, version: "3.9" })).toBeUndefined();
  expect(fits("", [], { ...remembered, by: "\n/another/path" })).toBeUndefined();
  utimesSync(python, new Date(0), new Date(0));
  expect(fits()).toBeUndefined();
});

test("relative folders of PATH are left out", () => {
  expect(onPath(`.:bin:${scratch()}`)).toEqual([]);
});

test("the server starts isolated", () => {
  const { args } = startCommand("/usr/bin/python3", bundle("/ext/bundled"), "/cache");
  expect(args.slice(0, 2)).toEqual(["-I", "-S"]);
  expect(args.slice(-3)).toEqual([join("/ext/bundled", "start.py"), "serve", "--stdio"]);
  expect(environment({ PATH: "/bin", PYTHONPATH: "/evil", VIRTUAL_ENV: "/v", OPENAI_API_KEY: "k" })).toEqual({
    PATH: "/bin",
    OPENAI_API_KEY: "k",
  });
});

test("a server that is installed is started where none is bundled, never that of an opened folder", () => {
  const home = scratch();
  const put = (...place: string[]): string => {
    mkdirSync(join(home, ...place), { recursive: true });
    const file = join(home, ...place, process.platform === "win32" ? "planloom.exe" : "planloom");
    writeFileSync(file, "");
    return file;
  };
  const work = join(home, "work");
  const found = (path: string) => installedServer(path, home, [work])?.command;
  expect(found("/nowhere")).toBeUndefined();
  put("work", "bin");
  expect(found(join(work, "bin"))).toBeUndefined();
  const byPipx = put(".local", "bin");
  expect(found(join(work, "bin"))).toBe(byPipx);
  const own = put("own");
  expect(found(join(home, "own"))).toBe(own);
  expect(installedServer(join(home, "own"), home, [])?.args).toEqual(["serve", "--stdio"]);
});
