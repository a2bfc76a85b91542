// What plans cost: a running plan in its line of figures, all plans in a document, in a window that is in use.
import assert from "node:assert/strict";
import { applyAll, hidePanel, plan } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const FIGURES = [
  {
    name: "what a plan costs, and the statistics of all plans",
    files: {},
    async run({ window }) {
      const { panel, workbench } = window;
      const spent = () => panel.locator(".about").textContent();
      workbench.setMachine({ "planloom.model.prices": ["openai/scripted 2 10"] });
      await plan(window, "1. Write a haiku\n2. Write a haiku");
      await panel.locator("#approve").click();
      await applyAll(window);
      await window.more("about");
      assert.match(await spent(), /tokens read[\s\S]*At your prices: 0\.\d+[\s\S]*openai\/scripted/);
      // The cost is there again in the next page, which has heard no event of the plan.
      await hidePanel(window);
      await window.showPanel();
      await until("the cost in the next page", async () => /At your prices: 0\.\d+/.test(await spent()));
      await window.addressee("new");
      await plan(window, "1. Write a haiku\n2. Write a haiku again");
      await window.more("reject");
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");

      await window.command("Planloom: Show Statistics");
      const shown = () => window.editorText();
      await until("the statistics", async () => (await shown()).includes("# Statistics"));
      assert.match(await shown(), /Rejected: \d+[\s\S]*openai\/scripted/);
      await window.waitForStatus("rejected");
    },
  },
];
