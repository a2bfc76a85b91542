// The demo's request in the panel: the picture on the project's first page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { applyAll, nextApproval, onDisk, plan, saveUntil } from "./gestures.mjs";

const FOLDER = join(import.meta.dirname, "../../demo");
const read = (name) => readFileSync(join(FOLDER, name), "utf8");

export const DEMO = [
  {
    name: "the demo's request, its change in the panel and in the editor's diff",
    files: { "tides.py": read("workspace/tides.py") },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("tides.py");
      await plan(window, read("request.txt").trim());
      await window.guide(shots, "guide-review");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      await window.guide(shots, "guide-apply");
      await window.widen();
      await card.locator(".diff").first().click();
      await page.locator(".monaco-diff-editor .view-line").filter({ hasText: "not in BAYS" }).first().waitFor();
      await window.shot(join(shots, "panel-dark.png"));
      await applyAll(window);
      await saveUntil(window, "the edit on disk", () => onDisk(folder, "tides.py").includes("not in BAYS"));
      assert.match(onDisk(folder, "CHANGES.md"), /names checked/);
    },
  },
];
