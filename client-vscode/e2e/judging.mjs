// Language servers of Planloom's own, with ty from the folder's environment: what they say of a change before it is made, and their rename.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, nextApproval, onDisk, plan, saveUntil } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const BIN = join(import.meta.dirname, "../../.venv/bin");
const SHAPES = "def area(width: float, height: float) -> float:\n    return width * height\n";
const USE = "from shapes import area\n\nprint(area(2, 3))\n";
/** The caller lacks an argument, and the result is no number any more. */
const BROKEN = SHAPES.replace("float)", "float, unit: str)").replace("width * height", 'f"{width * height} {unit}"');
const MENDED = BROKEN.replace("unit: str", 'unit: str = "cm²"').replace("-> float", "-> str");
const FILES = { "shapes.py": SHAPES, "use.py": USE, "pyproject.toml": '[project]\nname = "shapes"\nversion = "1"\n' };

const call = (name, args) => ({ name, arguments: args });
const DONE = call("task_completed", { summary: "The area has a unit." });
const replace = (old_text, new_text) => call("edit_file", { path: "shapes.py", old_text, new_text });

/** A step that reads the file and breaks its callers in one edit; `when` are the words that its requests hold. */
function breaking(request, instruction, ...then) {
  const when = { contains: ["CURRENT TASK", instruction] };
  const step = { id: "unit", description: "Give the area a unit", instruction, dependsOn: [] };
  return [
    {
      when: { contains: [request], lacks: ["CURRENT TASK"] },
      text: JSON.stringify({ summary: "Written by a scripted model.", steps: [step] }),
    },
    { when, calls: [call("read_file", { path: "shapes.py" })] },
    { when, calls: [replace(SHAPES, BROKEN)] },
    ...then.map(({ told = [], does }) => ({ when: { contains: [...when.contains, ...told] }, calls: [does] })),
  ];
}

const TOLD = ["2 new problems:"];
const IN_CARE = "Add the unit and keep its callers";
const IN_HASTE = "Add the unit and leave its callers";
const UNSEEN = "Add the unit with nobody to look";

/** What the model does once it has been told: leave the problems, or mend them. A reload has it begin anew. */
export const JUDGING_SCRIPT = [
  ...breaking("Measure in haste", IN_HASTE, { told: TOLD, does: DONE }, { told: TOLD, does: DONE }),
  ...breaking("Measure in haste", IN_HASTE, { told: TOLD, does: DONE }, { told: TOLD, does: DONE }).slice(1),
  ...breaking("Measure with care", IN_CARE, { told: TOLD, does: replace(BROKEN, MENDED) }, { does: DONE }),
  ...breaking("Measure unseen", UNSEEN, { does: DONE }),
];

/** Give the folder an environment of Python with the type checker, as a project has one. */
function addEnvironment(folder) {
  execFileSync(join(BIN, "python"), ["-m", "venv", "--without-pip", join(folder, ".venv")]);
  symlinkSync(join(BIN, "ty"), join(folder, ".venv/bin/ty"));
}

const started = (folder) =>
  execFileSync("ps", ["-eo", "args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(`${folder}/.venv/bin/ty server`));

const said = (requests, instruction) =>
  JSON.stringify(requests.filter((each) => JSON.stringify(each).includes(instruction)));

export const JUDGING = [
  {
    name: "a type error is named before it is applied, and leads to its line",
    files: FILES,
    async run({ window, folder, shots, model }) {
      const { panel, page } = window;
      addEnvironment(folder);
      await window.openFile("use.py");
      await window.openFile("shapes.py");
      await plan(window, "1. Measure in haste\n2. Compose nothing else");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const judged = card.locator(".judged");
      const summary = judged.locator("summary");
      await until("the judgement", async () => (await summary.textContent()) === "2 new problems (ty)");
      const told = said(await model.requests(), IN_HASTE);
      assert.match(told, /2 new problems:\\\\?n?shapes\.py:2: error/);
      assert.match(told, /use\.py:3: error/);
      assert.equal(onDisk(folder, "shapes.py"), SHAPES);
      assert.ok(!(await window.isDirty("shapes.py")));
      assert.ok(started(folder).length > 0, "a server of the folder's environment");
      await window.looks(shots, "looks/judged-folded");
      // Its problems are one key away, each a stop of its own.
      await summary.focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      await until("the focus on the first problem", () =>
        judged
          .locator("button")
          .first()
          .evaluate((element) => element === document.activeElement),
      );
      assert.deepEqual(await judged.locator("button").allTextContents(), ["shapes.py:2", "use.py:3"]);
      await window.looks(shots, "looks/judged");
      await window.widen(700);
      await window.shot(join(shots, "judged-dark.png"));
      await window.widen(420);
      await judged.locator("button").first().focus();
      await page.keyboard.press("Enter");
      await page.locator(".tabs-container .tab.active").filter({ hasText: "now ↔ proposed" }).waitFor();
      await page.locator(".modified-in-monaco-diff-editor .squiggly-error").first().waitFor();
      await window.shot(join(shots, "judged-diff-dark.png"));
      await judged.locator("button").nth(1).click();
      await page.locator('.tabs-container .tab.active[data-resource-name="use.py"]').waitFor();
      await window.shot(join(shots, "judged-user-dark.png"));

      await hidePanel(window);
      await window.showPanel();
      await until("the judgement in the panel that was hidden", async () => (await summary.count()) === 1);
      assert.equal(await summary.textContent(), "2 new problems (ty)");
      assert.equal(onDisk(folder, "shapes.py"), SHAPES);
      // The server ends with its window: the plan pauses, and its question comes anew.
      await window.reload();
      await window.waitForStatus("paused");
      const diffs = page.locator(".tabs-container .tab").filter({ hasText: "now ↔ proposed" });
      await until("the diff of the old question to close", async () => (await diffs.count()) === 0);
      await window.shot(join(shots, "judged-reloaded-dark.png"));
      await panel.locator("#resume").click();
      await nextApproval(window);
      await until("the judgement after a reload", async () => (await summary.textContent()) === "2 new problems (ty)");
      await applyAll(window);
      await saveUntil(window, "the change on disk", () => onDisk(folder, "shapes.py") === BROKEN);
      // What is left is named where the plan has ended, too.
      await window.unfold();
      await panel.locator(".step-row").first().click();
      const left = panel.locator(".details .judged");
      await left.locator("summary").click();
      assert.deepEqual(await left.locator("button").allTextContents(), ["shapes.py:2", "use.py:3"]);
      await window.shot(join(shots, "judged-applied-dark.png"));
    },
  },
  {
    name: "a model that is told mends its edit, and nothing is left to say",
    files: FILES,
    async run({ window, folder, shots, model }) {
      const { panel } = window;
      addEnvironment(folder);
      await plan(window, "1. Measure with care\n2. Compose nothing else");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const judged = card.locator(".judged");
      await until("the judgement", async () => (await judged.textContent()) === "No new problems (ty)");
      assert.match(said(await model.requests(), IN_CARE), /2 new problems:/);
      await window.looks(shots, "looks/judged-clean");
      await applyAll(window);
      await until("the change on disk", () => onDisk(folder, "shapes.py") === MENDED);
    },
  },
  {
    name: "nobody judges where that is switched off",
    files: FILES,
    async run({ window, folder, model }) {
      const { panel, workbench } = window;
      workbench.setMachine({ "planloom.language.enabled": false });
      addEnvironment(folder);
      await plan(window, "1. Measure unseen\n2. Compose nothing else");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      assert.equal(await card.locator(".judged").count(), 0);
      assert.deepEqual(started(folder), []);
      await applyAll(window);
      assert.deepEqual(started(folder), []);
      assert.doesNotMatch(said(await model.requests(), UNSEEN), /new problem/);
      assert.equal(onDisk(folder, "shapes.py"), BROKEN);
    },
  },
];

/** Needs no model. */
export const RENAMING = [
  {
    name: "a function is renamed everywhere it is used, without a model",
    files: FILES,
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      addEnvironment(folder);
      // A use that is typed and not saved is renamed, too, and stays unsaved.
      await window.openFile("use.py");
      await window.caretAt("use.py", 4);
      await page.keyboard.type("print(area(4, 5))");
      await window.showPanel();
      await window.choose("mode", "Plan");
      await window.request("rename function area to surface everywhere");
      await window.waitForStatus("pending_approval");
      assert.equal(await panel.locator(".step").count(), 1);
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const files = (await card.locator(".file .path").allTextContents()).sort();
      assert.deepEqual(files, ["shapes.py", "use.py"]);
      await until(
        "the judgement",
        async () => (await card.locator(".judged").textContent()) === "No new problems (ty)",
      );
      await window.shot(join(shots, "renaming-dark.png"));
      await applyAll(window);
      const before = [SHAPES, `${USE}print(area(4, 5))`];
      const renamed = before.map((text) => text.replaceAll("area", "surface"));
      const now = async () => [onDisk(folder, "shapes.py"), await window.editorText()].join("").trim();
      await until("every use renamed", async () => (await now()) === renamed.join(""));
      assert.equal(onDisk(folder, "use.py"), USE);
      await panel.locator("#undo").click();
      await until("all as it was, with what was typed", async () => (await now()) === before.join(""));
      assert.equal(onDisk(folder, "use.py"), USE);
    },
  },
];
