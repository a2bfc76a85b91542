// The plan as a Markdown document beside the panel, from a window in use to a copy that is kept and adopted.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, onDisk, plan, titles, version } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const DOCUMENTS = [
  {
    name: "a plan as Markdown: changed by typing, kept in the workspace, and adopted as a new plan",
    files: {},
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await plan(window, '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"');
      await plan(window, '1. Create file three.txt with content "3"\n2. Create file four.txt with content "4"');
      await until("the second plan", async () => (await titles(window)).join() === "Write three.txt,Write four.txt");
      await window.widen();
      await window.command("Planloom: Open Plan as Markdown");
      await until("the document", async () => /- \[ \] Write three\.txt/.test(await window.editorText()));
      const lenses = page.locator(".codelens-decoration a");
      await lenses.filter({ hasText: "Start execution" }).first().waitFor();

      // Typed before the id of the second step, and saved.
      await page.locator(".editor-instance .view-line", { hasText: "Write four.txt" }).first().click();
      await page.keyboard.press("End");
      for (let back = 0; back < " ^step_2".length; back++) await page.keyboard.press("ArrowLeft");
      await page.keyboard.type(" last");
      await page.keyboard.press("Control+S");
      await version(window, 2);
      assert.deepEqual(await titles(window), ["Write three.txt", "Write four.txt last"]);
      await window.shot(join(shots, "document-dark.png"));
      const skips = lenses.filter({ hasText: "Skip this step" });
      const heights = await skips.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
      await skips.nth(heights.indexOf(Math.min(...heights))).click();
      await version(window, 3);
      await until("the sign of the skipped step", async () => /- \[-\] Write three/.test(await window.editorText()));

      await window.command("Planloom: Save Plan in Workspace…");
      await window.answerInput("kept.plan.md");
      await page.locator('.tabs-container .tab[data-resource-name="kept.plan.md"]').waitFor();
      assert.match(onDisk(folder, "kept.plan.md"), /- \[-\] Write three\.txt[\s\S]*Write four\.txt last/);
      const message = page.locator(".notification-list-item").filter({ hasText: "kept.plan.md" });
      await message.first().waitFor();
      await window.shot(join(shots, "adopt-dark.png"));
      await message.first().locator(".monaco-button", { hasText: "Adopt as a new plan" }).click();
      await version(window, 1);
      await window.waitForStatus("pending_approval");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.equal(onDisk(folder, "four.txt"), "4");
      assert.ok(!existsSync(join(folder, "three.txt")));
    },
  },
];
