// Windows that are not as usual: on the walkthrough, without a folder, in Restricted Mode; and one with a plan of sixty files.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, moreOf, nextApproval, onDisk, plan } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const TWO = '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"';
const FILES = Array.from({ length: 60 }, (_, index) => `file-${String(index + 1).padStart(2, "0")}.txt`);
export const SIXTY_FILES = "a plan of sixty files is reviewed at the end, applied and undone";
const BEFORE = "alpha\nbeta\n";

/** How long something takes, in milliseconds. */
async function timed(work) {
  const began = performance.now();
  await work();
  return Math.round(performance.now() - began);
}

export const WINDOWS = [
  {
    name: "the walkthrough shows its pictures and leads to the composer",
    files: {},
    async run({ window, shots }) {
      const { panel, page } = window;
      await window.command("Welcome: Open Walkthrough...");
      await window.pick("Get Started with Planloom");
      // Beside a side bar there is no room for the pictures.
      await window.command("View: Toggle Primary Side Bar Visibility");
      const picture = page.locator(".getting-started-media img").first();
      const step = (title) => page.locator(".getting-started-step").filter({ hasText: title });
      for (const title of ["Choose a model", "Write what should be done", "Apply change by change"]) {
        await step(title).locator(".step-title").click();
        await until(
          `the picture of “${title}”`,
          async () =>
            (await picture.isVisible()) && picture.evaluate((image) => image.naturalWidth > 0).catch(() => false),
        );
      }
      await window.shot(join(shots, "walkthrough-dark.png"));
      await step("Write what should be done").locator(".step-title").click();
      await page.locator(".getting-started-step .monaco-button").filter({ hasText: "Plan a Task" }).click();
      await until("the caret in the composer", () =>
        panel
          .locator("#request")
          .evaluate((area) => area.ownerDocument.activeElement === area)
          .catch(() => false),
      );
      await until(
        "the step's tick",
        async () =>
          (await step("Write what should be done").locator(".codicon-getting-started-step-checked.complete").count()) >
          0,
      );
    },
  },
  {
    name: "without a folder the request stays, and goes on in the folder to which the panel leads",
    files: { "note.txt": "a note\n" },
    isEmpty: true,
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.showPanel();
      await panel.locator("#no-folder").waitFor();
      await window.shot(join(shots, "no-folder-dark.png"));
      await window.request(TWO);
      await panel.locator(".notices .banner").filter({ hasText: "Open a folder first" }).waitFor();
      assert.equal(await panel.locator("#request").inputValue(), TWO);
      await panel.locator('#no-folder [data-mend="folder"]').click();
      const path = page.locator('.quick-input-widget input[type="text"]');
      const rows = page.locator(".quick-input-widget .monaco-list-row");
      const inSight = (name) => rows.filter({ hasText: name }).count();
      // The dialog writes its own folder into the field when it has read it, and lists a folder behind what is typed.
      await rows.first().waitFor();
      const isBegun = await inSight("extensions");
      await path.fill(`${folder}/`);
      if (isBegun) await until("the folder in the dialog", async () => (await inSight("extensions")) === 0);
      await until("its path in the field", async () => (await path.inputValue()) === `${folder}/`);
      await page.locator(".quick-input-widget .quick-input-action .monaco-button").filter({ hasText: "OK" }).click();
      await until("the folder in the address", () => page.url().includes(encodeURI(folder)));
      await window.showPanel();
      await panel.locator("#no-folder").waitFor({ state: "detached" });
      await until("the request in the new window", async () => (await panel.locator("#request").inputValue()) === TWO);
      await panel.locator("#send").click();
      await window.waitForStatus("pending_approval");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.deepEqual(
        ["one.txt", "two.txt"].map((name) => onDisk(folder, name)),
        ["1", "2"],
      );
    },
  },
  {
    name: "in Restricted Mode plans are drafted and nothing is written, until the folder is trusted",
    files: { "note.txt": "a note\n" },
    settings: { "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never" },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.showPanel();
      await panel.locator("#restricted").waitFor();
      await plan(window, TWO);
      // What starts a plan elsewhere asks for trust here; the palette starts it all the same.
      await panel.locator('.plan-line [data-mend="trust"]').waitFor();
      assert.equal(await panel.locator("#approve").count(), 0);
      await window.command("Planloom: Approve and Start Execution");
      const failure = panel.locator(".card.failure");
      await failure.filter({ hasText: "not trusted" }).waitFor();
      await window.shot(join(shots, "restricted-dark.png"));
      assert.ok(!existsSync(join(folder, "one.txt")));
      await panel.locator('#restricted [data-mend="trust"]').click();
      await page
        .locator(".workspace-trust-editor .monaco-button")
        .filter({ hasText: /^Trust$/ })
        .first()
        .click();
      await panel.locator("#restricted").waitFor({ state: "detached" });
      await page.locator(".workspace-trust-editor").click();
      await page.keyboard.press("Escape");
      await moreOf(failure, "Retry");
      await applyAll(window);
      assert.equal(onDisk(folder, "two.txt"), "2");
    },
  },
  {
    name: SIXTY_FILES,
    files: Object.fromEntries(FILES.map((name) => [name, BEFORE])),
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const all = (text) => FILES.every((name) => onDisk(folder, name) === text);
      // The window is in use: another plan waits for its review.
      await plan(window, TWO);
      const request = FILES.map((name, index) => `${index + 1}. Replace "alpha" with "ALPHA" in ${name}`).join("\n");
      const planned = await timed(() => plan(window, request));
      await until("the second plan", async () => (await panel.locator(".step").count()) === FILES.length);
      await window.choose("review", "Review all at the end");
      const card = panel.locator(".card.approval").first();
      const reviewed = await timed(async () => {
        await panel.locator("#approve").click();
        await card.waitFor();
      });
      assert.equal(await card.locator(".file").count(), FILES.length);
      assert.equal(await card.locator(".allow:not([disabled])").count(), 0, "a list of sixty has an end to be seen");
      await window.widen(300);
      await window.shot(join(shots, "many-files-300-dark.png"));
      await card
        .locator("[data-end]")
        .last()
        .evaluate((end) => end.scrollIntoView());
      await nextApproval(window);
      const applied = await timed(async () => {
        await card.locator(".allow").click();
        await window.waitForStatus("completed", 120);
        await until("all changes on disk", () => all(BEFORE.replace("alpha", "ALPHA")), 60);
      });
      await panel.locator(".outcome").waitFor();
      await window.shot(join(shots, "many-files-done-300-dark.png"));
      const undone = await timed(async () => {
        await panel.locator("#undo").click();
        await until("all files as they were", () => all(BEFORE), 120);
      });
      assert.ok((await page.locator(".tabs-container .tab").count()) <= 1, "no tab is left of sixty files");
      return { planned, reviewed, applied, undone };
    },
  },
];
