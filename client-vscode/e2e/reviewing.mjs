// Changes reviewed in the editor and in the card: merges, hunks, all files at once, what stays open afterwards.
import assert from "node:assert/strict";
import { join } from "node:path";
import { nextApproval, onDisk, plan } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const LINES = Array.from({ length: 20 }, (_, line) => `line ${line + 1}\n`).join("");
const tabs = (window) => window.page.locator(".tabs-container .tab");

export const REVIEWING = [
  {
    name: "an overlap is merged in the merge editor",
    files: { "note.txt": LINES },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("note.txt");
      // The window is in use: another plan waits for its review.
      await plan(window, "1. Create folder One\n2. Create folder Two");
      await plan(
        window,
        '1. Replace "line 5" with "plan 5" in note.txt\n2. Replace "line 9" with "plan 9" in note.txt\n3. Create folder Three',
      );
      await window.choose("review", "Review all at the end");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      await window.caretAt("note.txt", 5);
      await page.keyboard.type(" of mine");
      await until("the typing in the buffer", async () => (await window.editorText()).includes("line 5 of mine"));
      await card.locator(".allow").click();
      const conflict = panel.locator(".card.conflict");
      await conflict.waitFor();
      // Two plans wait by now: the palette lists both, and leads to the one that is picked.
      await panel.locator(".others button").first().click();
      await conflict.waitFor({ state: "detached" });
      await window.command("Planloom: Answer What Waits…");
      await page.locator(".quick-input-list .monaco-list-row").nth(1).waitFor();
      await window.shot(join(shots, "answer-dark.png"));
      await window.pick(/waits for your choice/);
      await conflict.locator(".merge").click();
      await page.locator(".merge-editor").first().waitFor();
      await window.shot(join(shots, "merge-editor-dark.png"));
      await page.locator(".merge-editor-conflict-actions a").filter({ hasText: "Accept Combination" }).first().click();
      await page.locator('.editor-actions [aria-label^="Complete the Merge"]').first().click();
      await page.locator(".merge-editor").first().waitFor({ state: "detached" });
      await conflict.locator(".merged .diff-line").first().waitFor();
      await window.shot(join(shots, "merged-dark.png"));
      await conflict.locator(".resolve").click();
      await window.waitForStatus("completed");
      await until("the merge in the buffer", async () =>
        /line 4\nplan 5 of mine\nline 6[\s\S]*plan 9/.test(await window.editorText()),
      );
      assert.equal(onDisk(folder, "note.txt"), LINES, "a file with unsaved typing is saved by its owner alone");
    },
  },
  {
    name: "hunks are left out, all files are reviewed at once, and no tab is left open",
    files: { "note.txt": LINES, "other.txt": "one\n", "shown.txt": LINES },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("shown.txt");
      await plan(
        window,
        [
          '1. Replace "line 5" with "plan 5" in note.txt',
          '2. Replace "line 16" with "plan 16" in note.txt',
          '3. Replace "one" with "two" in other.txt',
          '4. Replace "line 7" with "plan 7" in shown.txt',
          '5. Create file new.txt with content "new"',
        ].join("\n"),
      );
      await window.choose("review", "Review all at the end");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const note = card.locator(".file").filter({ hasText: "note.txt" });
      await note.locator(".lines").click();
      await note.locator(".hunk-choice input").nth(1).uncheck();
      await card.locator(".allow").filter({ hasText: "of" }).waitFor();
      await window.shot(join(shots, "hunks-dark.png"));
      await window.widen(420);
      await window.shot(join(shots, "hunks-420-dark.png"));
      await card.locator(".all-changes").click();
      await page.locator(".multiDiffEntry").filter({ hasText: "new.txt" }).first().waitFor();
      await window.shot(join(shots, "all-proposed-dark.png"));
      await card.locator(".allow").click();
      await window.waitForStatus("completed");
      await until("the changes on disk", () => onDisk(folder, "note.txt").includes("plan 5"));
      assert.match(onDisk(folder, "note.txt"), /line 16\n/);
      assert.equal(onDisk(folder, "other.txt"), "two\n");
      await until("the list of changes to close", async () => (await tabs(window).count()) === 1);
      // The file that was open is marked and left to its owner, who saves it from the summary.
      assert.ok(await window.isDirty("shown.txt"));
      await window.shot(join(shots, "marked-dark.png"));
      await panel.locator("#save").click();
      await panel.locator("#save").waitFor({ state: "detached" });
      assert.match(onDisk(folder, "shown.txt"), /plan 7\n/);
      await window.command("Planloom: Show All Changes of the Plan");
      await page.locator(".multiDiffEntry").filter({ hasText: "new.txt" }).first().waitFor();
      await window.shot(join(shots, "all-made-dark.png"));
    },
  },
];
