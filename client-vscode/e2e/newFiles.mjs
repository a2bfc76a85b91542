// New files as the editor's own: in the explorer, in its undo and redo, whole after a kill, and in a file system that only the editor can reach.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, NOTE, onDisk, plan, saveUntil } from "./gestures.mjs";
import { serverPids } from "./journeys.mjs";
import { until } from "./workbench.mjs";

const inExplorer = (window, name) =>
  window.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`).first();

/** The editor's own undo or redo in a file of the edit; it may ask whether to do so in all files of the edit. */
async function inTheEditor(window, key, done) {
  await window.caretAt("note.txt", 1);
  await window.page.keyboard.press(key);
  await until(`the editor's ${key}`, async () => {
    const button = window.page.locator(".monaco-dialog-box .monaco-button").filter({ hasText: /^(Undo|Redo|Yes)/ });
    if ((await button.count()) > 0)
      await button
        .first()
        .click({ timeout: 1000 })
        .catch(() => undefined);
    return done();
  });
}

export const NEW_FILES = [
  {
    name: "a new file is in the explorer, and in the editor's own undo and redo",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel } = window;
      const made = join(folder, "new.txt");
      await window.openFile("note.txt");
      await plan(window, '1. Create file new.txt with content "new text"\n2. Replace "beta" with "BETA" in note.txt');
      await window.choose("review", "Review all at the end");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.equal(onDisk(folder, "new.txt").trim(), "new text");
      await hidePanel(window);
      await inExplorer(window, "new.txt").waitFor();
      await window.shot(join(shots, "new-file-dark.png"));
      await inTheEditor(window, "Control+Z", () => !existsSync(made));
      await inExplorer(window, "new.txt").waitFor({ state: "detached" });
      await window.showPanel();
      await until("the plan shown as undone", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await window.shot(join(shots, "new-file-undone-dark.png"));
      await inTheEditor(window, "Control+Y", () => existsSync(made));
      assert.equal(onDisk(folder, "new.txt").trim(), "new text");
      await window.showPanel();
      await until("the plan shown as made", async () => !/undone/.test(await panel.locator("body").textContent()));
      await window.shot(join(shots, "new-file-redone-dark.png"));
    },
  },
  {
    name: "a server killed between an edit and its outcome leaves the new file whole and once",
    files: { "note.txt": NOTE },
    async run({ window, folder }) {
      const { panel } = window;
      // The new file is covered by the plan's approval; the other step asks, so that the plan cannot end before the kill.
      await plan(window, '1. Create file new.txt with content "new text"\n2. Replace "beta" with "BETA" in note.txt');
      const before = serverPids();
      const approved = panel.locator("#approve").click();
      while (!existsSync(join(folder, "new.txt"))) await new Promise(setImmediate);
      process.kill(before.at(-1), "SIGKILL");
      await approved;
      // The editor may be writing it at this moment; the server is gone.
      await until("the whole text", () => onDisk(folder, "new.txt").trim() === "new text");
      await until("a new server", () => serverPids().some((each) => !before.includes(each)), 60);
      await window.waitForStatus("paused");
      await panel.locator("#resume").click();
      await applyAll(window);
      assert.equal(onDisk(folder, "new.txt").trim(), "new text");
      await saveUntil(window, "the other step", () => onDisk(folder, "note.txt") === "alpha\nBETA\ngamma\n");
    },
  },
  {
    name: "a folder that only the editor can reach is planned for, edited and undone",
    scheme: "memfs",
    files: { "note.txt": NOTE, "old.txt": "old\n" },
    async run({ window, folder, shots }) {
      const { panel } = window;
      await plan(
        window,
        '1. Replace "beta" with "BETA" in note.txt\n2. Rename old.txt to kept.txt\n3. Create file docs/new.md with content "# New"',
      );
      await window.shot(join(shots, "virtual-review-dark.png"));
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.equal(onDisk(folder, "docs/new.md").trim(), "# New");
      assert.ok(existsSync(join(folder, "kept.txt")) && !existsSync(join(folder, "old.txt")));
      await saveUntil(window, "the edit", () => onDisk(folder, "note.txt") === "alpha\nBETA\ngamma\n");
      await window.shot(join(shots, "virtual-done-dark.png"));
      await panel.locator("#undo").click();
      await until("the edits taken back", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await saveUntil(window, "the old text", () => onDisk(folder, "note.txt") === NOTE);
      assert.ok(!existsSync(join(folder, "docs")) && existsSync(join(folder, "old.txt")));
    },
  },
];
