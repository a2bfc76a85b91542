// A plan with a gate, a loop, a condition and a check, in a window that has shown another plan before.
import assert from "node:assert/strict";
import { join } from "node:path";
import { applyAll, nextApproval, onDisk, plan, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

/** The turns of the scripted model: a plan that stays under review, then a copy of each file behind a gate, a delete that is not needed, a check at the end. */
export const NODES_SCRIPT = [
  {
    when: { contains: ["Write a preface"] },
    text: JSON.stringify({
      summary: "A preface.",
      steps: ["one.txt", "two.txt"].map((path) => ({
        id: path.slice(0, 3),
        description: `Write ${path}`,
        tool: "write_file",
        args: { path, content: "once upon a time\n" },
        dependsOn: [],
      })),
    }),
  },
  {
    when: { contains: ["Back the notes up"] },
    text: JSON.stringify({
      summary: "Each note is copied once you say so.",
      steps: [
        { id: "look", description: "List the notes", tool: "find_files", args: { pattern: "*.md" }, dependsOn: [] },
        {
          id: "ask",
          description: "Ask before anything is written",
          kind: "approval",
          question: "Copy every note?",
          dependsOn: ["look"],
        },
        {
          id: "copy",
          description: "Copy a note",
          tool: "write_file",
          args: { path: "{{item}}.bak", content: "copy {{index}}\n" },
          forEach: "$look",
          dependsOn: ["ask"],
        },
        {
          id: "drop",
          description: "Delete the first note",
          tool: "delete_path",
          args: { path: "a.md" },
          when: "length(steps.look.value) > 9",
          dependsOn: ["copy"],
        },
        {
          id: "proof",
          description: "Check the copies",
          kind: "check",
          checks: [{ kind: "condition", text: "exists('b.md.bak')" }],
          dependsOn: ["drop"],
        },
      ],
    }),
  },
];

export const NODES = [
  {
    name: "a gate, a loop, a condition and a check",
    files: { "a.md": "a\n", "b.md": "b\n" },
    async run({ window, folder, shots }) {
      const { panel } = window;
      const row = (place) => panel.locator(".step").nth(place);
      await plan(window, "1. Write a preface\n2. Print it");
      await window.request("1. Back the notes up\n2. Check the copies");
      await until("the second plan", async () => (await titles(window)).length === 5);
      await window.waitForStatus("pending_approval");
      const details = async (place) => {
        await row(place).locator(".step-row").click();
        return row(place).textContent();
      };
      assert.match(await details(1), /asks for your yes/);
      assert.match(await details(2), /for each of \$look/);
      assert.match(await details(3), /if length\(steps\.look\.value\) > 9/);
      await window.shot(join(shots, "nodes-review-300-dark.png"));
      await panel.locator("#approve").click();
      const gate = await nextApproval(window);
      assert.match(await gate.textContent(), /Copy every note\?/);
      await gate.scrollIntoViewIfNeeded();
      await window.shot(join(shots, "nodes-gate-300-dark.png"));
      await gate.locator(".allow").click();
      await until("the loop unrolled", async () => (await titles(window)).length === 7);
      await window.widen(420);
      await window.shot(join(shots, "nodes-running-420-dark.png"));
      await applyAll(window);
      assert.equal(onDisk(folder, "a.md"), "a\n");
      await window.unfold();
      assert.match(await row(5).locator(".step-row").textContent(), /its condition did not hold/);
      assert.match((await titles(window))[4], /^Copy a note: b\.md$/);
      await window.shot(join(shots, "nodes-done-420-dark.png"));
    },
  },
];
