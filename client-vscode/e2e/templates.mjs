// Templates in a window in use: found behind a slash, filled in, planned; a plan saved as one.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, onDisk, plan, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const TEMPLATES = [
  {
    name: "a template is found behind a slash, filled in with a preview, planned; a plan is saved as one",
    files: {},
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const area = panel.locator("#request");
      const steps = () => panel.locator(".template-steps").textContent();
      await plan(window, '1. Create file shop/a.txt with content "shop"\n2. Create file shop/b.txt with content "b"');
      await window.addressee("new");
      await area.click();
      await page.keyboard.type("/");
      await panel.locator("#suggestions li").filter({ hasText: "New Python package" }).waitFor();
      await window.shot(join(shots, "templates-300-dark.png"));
      await page.keyboard.type("pyth");
      await until("one template", async () => (await panel.locator("#suggestions li").count()) === 1);
      await page.keyboard.press("Enter");
      const name = panel.locator("#template-name input");
      await name.waitFor();
      await until("the caret in the first field", () => name.evaluate((field) => field.matches(":focus")));
      assert.ok(await panel.locator("#template-send").evaluate((button) => button.disabled));
      await page.keyboard.type("teapot");
      await until("the preview", async () => (await steps()).includes("src/teapot/__init__.py"));
      await hidePanel(window);
      await page.locator('.activitybar .action-item:has(a.action-label[aria-label^="Planloom"])').click();
      await until("the form on the next page", async () => (await name.inputValue()) === "teapot");
      await until("its preview", async () => (await steps()).includes("src/teapot/__init__.py"));
      await window.shot(join(shots, "template-300-dark.png"));
      await window.widen(420);
      await window.theme("light");
      await window.shot(join(shots, "template-420-light.png"));
      await panel.locator("#template-send:not([disabled])").click();
      await until("its plan", async () => (await titles(window))[0] === "Write pyproject.toml");
      await window.waitForStatus("pending_approval");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.match(onDisk(folder, "pyproject.toml"), /name = "teapot"/);
      assert.ok(!existsSync(join(folder, "shop")));

      await panel.locator(".others button").click();
      await window.waitForStatus("pending_approval");
      await window.command("Planloom: Save Plan as Template…");
      await window.answerInput("My shop");
      await panel.locator(".banner.info").filter({ hasText: "My shop" }).waitFor();
      await window.command("Planloom: Plan from a Template…");
      await window.pick("My shop");
      await until("the steps of the plan", async () => (await steps()).includes("Write shop/a.txt"));
      await panel.locator("#template-close").click();
      await area.waitFor();
      await window.command("Planloom: Delete Template…");
      await window.pick("My shop");
    },
  },
];
