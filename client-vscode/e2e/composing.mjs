// What a user does in the composer before a request is sent: modes, what was sent before, what is attached.
import assert from "node:assert/strict";
import { join } from "node:path";
import { hidePanel, NOTE, oneRow, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const COMPOSING = [
  {
    name: "the mode stays, the key for the other way waits for the verdict, what was sent comes back",
    files: { "note.txt": NOTE },
    async run({ window, shots }) {
      const { panel, page } = window;
      const area = panel.locator("#request");
      const mode = async () => (await panel.locator("#mode").textContent()).trim().toLowerCase();
      const long = '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"';
      await window.showPanel();
      await area.fill("Create folder One");
      await until("the verdict", async () => /Runs directly/.test(await panel.locator("#verdict").textContent()));
      // The other way of a list is to run it; of what stood there before it was to plan.
      await area.evaluate((element, text) => {
        element.value = text;
        element.dispatchEvent(new InputEvent("input", { bubbles: true }));
        element.dispatchEvent(
          new KeyboardEvent("keydown", { key: "Enter", altKey: true, bubbles: true, cancelable: true }),
        );
      }, long);
      await panel.locator("main.plan").waitFor();
      await window.more("about");
      await panel.locator(".about").filter({ hasText: "without a plan" }).waitFor();
      await window.command("Planloom: Cancel Plan");
      await window.waitForStatus("cancelled");
      await window.addressee("new");
      await area.focus();
      await page.keyboard.press("ArrowUp");
      await until("the request that was sent", async () => (await area.inputValue()) === long);
      await area.fill("Create folder Two");
      await area.press("Shift+Tab");
      await until("the mode Plan", async () => (await mode()) === "plan");
      await window.widen(300);
      await oneRow(window);
      await window.shot(join(shots, "mode-dark.png"));
      await hidePanel(window);
      await window.showPanel();
      await window.addressee("new");
      await until("the mode on the next page", async () => (await mode()) === "plan");
      await window.reload();
      await window.addressee("new");
      await until("the mode after a reload", async () => (await mode()) === "plan");
      await window.request("Create folder Two");
      await window.waitForStatus("pending_approval");
      assert.equal((await titles(window)).length, 1);
    },
  },
  {
    name: "a selection attached with its lines, files of the explorer, changes; what the editor offers is planned",
    files: { "note.txt": NOTE, "src/a b.py": '# Create file one.txt with content "1"\ny = 2\n' },
    async run({ window, shots }) {
      const { panel, page } = window;
      const draft = () => panel.locator("#request").inputValue();
      await window.openFile("note.txt");
      await window.caretAt("note.txt", 1);
      await page.keyboard.press("Shift+ArrowDown");
      await page.keyboard.press("Shift+Home");
      await page.keyboard.press("Shift+End");
      await window.command("Planloom: Add Selection to Planloom Request");
      await until("the lines in a panel that was closed", async () => (await draft()) === "@note.txt:1-2 ");
      await until("the caret in the composer", () =>
        panel.locator("#request").evaluate((element) => document.activeElement === element),
      );
      await page.keyboard.type("and tidy up");
      await hidePanel(window);
      const row = page.locator(".explorer-folders-view .monaco-list-row").filter({ hasText: "note.txt" }).first();
      await row.click({ button: "right" });
      // A menu takes no click right after it has opened.
      await page.locator(".context-view .action-label").filter({ hasText: "Add to Planloom Request" }).hover();
      await page.keyboard.press("Enter");
      await until("the file after the draft", async () => (await draft()) === "@note.txt:1-2 and tidy up @note.txt ");
      await window.command("Planloom: Add Changes to Planloom Request");
      await until(
        "the changes after the draft",
        async () => (await draft()) === "@note.txt:1-2 and tidy up @note.txt @git ",
      );
      await window.shot(join(shots, "attached-dark.png"));
      await window.openFile("a b.py");
      await window.caretAt("a b.py", 1);
      await page.keyboard.press("Control+.");
      await page.locator(".action-widget .monaco-list-row").filter({ hasText: "Plan this task with Planloom" }).click();
      await window.waitForStatus("pending_approval");
      assert.match((await titles(window)).join(), /^Create file one\.txt/);
      assert.equal(await draft(), "@note.txt:1-2 and tidy up @note.txt @git ", "a draft is not the plan's");
    },
  },
];
