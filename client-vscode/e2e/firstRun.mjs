// The first run: no model is set up, and the panel offers the ways to one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./workbench.mjs";

export const FIRST_RUN = [
  {
    name: "a first run without a model: a server's address with its key, automatic, then without",
    files: {},
    async run({ window, model, shots, machineSettings }) {
      const { panel, page } = window;
      const card = panel.locator("#model-set-up");
      await window.showPanel();
      await card.waitFor();
      await page.mouse.move(900, 500);
      await page.locator(".monaco-hover").waitFor({ state: "hidden" });
      await window.shot(join(shots, "first-run-dark.png"));

      await card.locator('[data-way="address"]').click();
      await window.answerInput(model.machine["planloom.model.baseUrl"]);
      const secret = page.locator('.quick-input-widget input[type="password"]');
      await secret.waitFor();
      await secret.fill("canary-key-1234");
      await page.keyboard.press("Enter");
      await until(
        "the model in the foot",
        async () => !(await panel.locator("footer").textContent()).includes("No model"),
      );
      await card.waitFor({ state: "detached" });
      assert.match(machineSettings(), /"planloom\.model\.baseUrl"/);
      assert.ok(!machineSettings().includes("canary"));
      await window.shot(join(shots, "first-run-model-dark.png"));

      await window.command("Planloom: Choose Model…");
      await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "in use" }).waitFor();
      await window.shot(join(shots, "choose-model-dark.png"));
      await window.pick("Automatic");
      await card.waitFor();

      await card.locator('[data-way="without"]').click();
      await card.waitFor({ state: "detached" });
      const kept = JSON.parse(machineSettings());
      assert.deepEqual(
        ["provider", "baseUrl", "name"].map((name) => kept[`planloom.model.${name}`]),
        ["embedded", "", ""],
      );
      assert.ok(!window.workbench.log().includes("canary"));
    },
  },
].map((journey) => ({
  ...journey,
  run: (given) =>
    journey.run({
      ...given,
      machineSettings: () => readFileSync(join(given.window.workbench.home, "user/Machine/settings.json"), "utf8"),
    }),
}));
