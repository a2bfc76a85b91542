// The plan drawn by its dependencies, in a window that has shown another plan as a list.
import assert from "node:assert/strict";
import { join } from "node:path";
import { applyAll, hidePanel, nextApproval, plan, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const write = (id, dependsOn, description = `Write ${id}.txt`) => ({
  id,
  description,
  tool: "write_file",
  args: { path: `${id}.txt`, content: id },
  dependsOn,
});

/** Turns of the scripted model: a plan of sixty steps, and one whose steps part and meet again. */
export const GRAPH_SCRIPT = [
  {
    when: { contains: ["Write an encyclopaedia"] },
    text: JSON.stringify({
      summary: "Volume by volume, each with its articles.",
      steps: Array.from({ length: 60 }, (_, place) =>
        write(
          `f${place}`,
          place === 0
            ? []
            : place % 6 === 0
              ? [1, 2, 3, 5].map((back) => `f${place - back}`)
              : [`f${place - (place % 6)}`],
        ),
      ),
    }),
  },
  {
    when: { contains: ["Write a handbook"] },
    text: JSON.stringify({
      summary: "The chapters are written side by side, then bound.",
      steps: [
        write("outline", [], "Outline the handbook and name its chapters"),
        write("install", ["outline"], "Write the chapter on installing"),
        write("use", ["outline"], "Write the chapter on using it every day"),
        write("extend", ["outline"], "Write the chapter on extending"),
        write("index", ["install", "use", "extend"], "Write the index"),
        write("cover", ["outline"], "Draw the cover"),
        write("book", ["index", "cover"], "Bind the book"),
      ],
    }),
  },
];

export const GRAPH = [
  {
    name: "a plan drawn as a graph, walked by keys, followed while it runs",
    files: {},
    async run({ window, shots }) {
      const { panel, page } = window;
      const node = (id) => panel.locator(`.node[data-node="${id}"]`);
      const status = (id) => node(id).getAttribute("data-status");
      const focused = () => panel.locator(".node:focus").getAttribute("data-node");
      await plan(window, "1. Write an encyclopaedia\n2. Print it");
      assert.equal((await titles(window)).length, 60);
      await window.command("Planloom: Show Steps as Graph or List");
      await until("sixty steps drawn", async () => (await panel.locator(".node").count()) === 60);
      assert.equal(await panel.locator(".graph").getAttribute("data-many"), "true");
      await window.shot(join(shots, "graph-60-300-dark.png"));

      // Another plan is a list until it is drawn, too.
      await window.request("1. Write a handbook\n2. Bind it");
      await until(
        "the second plan as a list",
        async () => (await titles(window))[0] === "Outline the handbook and name its chapters",
      );
      await window.waitForStatus("pending_approval");
      assert.equal(await panel.locator(".graph").count(), 0);
      await window.command("Planloom: Show Steps as Graph or List");
      await node("outline").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      await until("the second step of the second wave", async () => (await focused()) === "use");
      assert.deepEqual(await titles(window), ["Write the chapter on using it every day"]);
      assert.equal(await node("index").getAttribute("aria-description"), "after 2, 3, 4, wave 3 of 4");
      await window.shot(join(shots, "graph-300-dark.png"));
      await window.widen(420);
      await window.theme("light");
      await window.shot(join(shots, "graph-420-light.png"));
      const place = () => node("book").boundingBox();
      const before = await place();
      await panel.locator("#approve").click();
      await (await nextApproval(window)).locator(".allow").click();
      await until("the first step done in the drawing", async () => (await status("outline")) === "completed");
      await nextApproval(window);
      await panel.locator(".graph").scrollIntoViewIfNeeded();
      await window.shot(join(shots, "graph-running-light.png"));
      await hidePanel(window);
      await window.showPanel();
      await until("the drawing on the next page", async () => (await status("outline")) === "completed");
      await applyAll(window);
      await window.unfold();
      await until("all steps done", async () => (await panel.locator('.node[data-status="completed"]').count()) === 7);
      const after = await place();
      assert.deepEqual([after.x, after.width], [before.x, before.width], "a status moves no step");
      await panel.locator('.graph > button[aria-label="Show as List"]').click();
      await until("the list again", async () => (await titles(window)).length === 7);
    },
  },
];
