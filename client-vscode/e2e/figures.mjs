// What plans cost: a running plan in its line of figures, all plans on their page, in a window that is in use.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, onDisk, plan } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const FIGURES = [
  {
    name: "what a plan costs, and the statistics of all plans, exported",
    files: {},
    async run({ window, folder, shots }) {
      const { panel, page, workbench } = window;
      const spent = () => panel.locator("#spent");
      workbench.setMachine({ "planloom.model.prices": ["openai/scripted 2 10"] });
      await plan(window, "1. Write a haiku\n2. Write a haiku");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.match(await spent().textContent(), /tokens · 1 request · 0\.\d+/);
      assert.match(
        await spent().getAttribute("title"),
        /tokens read[\s\S]*At your prices: 0\.\d+[\s\S]*openai\/scripted/,
      );
      // The cost is there again in the next page, which has heard no event of the plan.
      await hidePanel(window);
      await window.showPanel();
      await until("the cost in the next page", async () => /0\.\d+$/.test((await spent().textContent()).trim()));
      await window.addressee("new");
      await plan(window, "1. Write a haiku\n2. Write a haiku again");
      await panel.locator("#reject").click();
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");

      await window.command("Planloom: Show Statistics");
      await panel.locator(".figures-page .tile").first().waitFor();
      const text = (await panel.locator(".figures-page").textContent()).replaceAll(/\s+/g, " ");
      assert.match(text, /\d+ rejected/);
      assert.match(text, /openai\/scripted/);
      assert.match(text, /These figures are sent nowhere/);
      await window.looks(shots, "looks/statistics");
      await window.choose("span", "All time");
      await until("all time", () => panel.locator("#span").evaluate((select) => select.value === "all"));
      await panel.locator('.figures-page button[aria-label="Export…"]').click();
      await window.answerInput(join(folder, "figures.csv"));
      const file = join(folder, "figures.csv");
      await until("the file", () => existsSync(file) && onDisk(folder, "figures.csv") !== "");
      assert.match(onDisk(folder, "figures.csv"), /^day,model,requests[^\n]*\n\d{4}-\d\d-\d\d,"openai\/scripted",\d+,/);
      await panel.locator('.figures-page button[aria-label="Back"]').click();
      await window.waitForStatus("rejected");
      await page.locator(".tabs-container .tab").filter({ hasText: "figures.csv" }).waitFor();
    },
  },
];
