// What a user decides along the way: steps, approvals, conflicts, saving, pausing; each journey against the real server.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, focusInPanel, NOTE, nextApproval, onDisk, plan, saveUntil, titles, version } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const OTHER = "one\ntwo\nthree\n";
const LONG = Array.from({ length: 300 }, (_, line) => `line ${line}\n`).join("");
const write = (name) => `Create file ${name}.txt with content "${name}"`;

export const DECISIONS = [
  {
    name: "steps are moved, skipped, removed and added",
    files: {},
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await plan(window, ["a", "b", "c", "d"].map((name, index) => `${index + 1}. ${write(name)}`).join("\n"));
      const row = (place) => panel.locator(".step-row").nth(place);
      await row(0).focus();
      await page.keyboard.press("Alt+ArrowDown");
      await version(window, 2);
      assert.deepEqual(await titles(window), ["Write b.txt", "Write a.txt", "Write c.txt", "Write d.txt"]);
      await row(2).focus();
      await page.keyboard.press("s");
      await version(window, 3);
      await panel.locator('.step[data-status="skipped"]').filter({ hasText: "c.txt" }).waitFor();
      await row(3).focus();
      await page.keyboard.press("Delete");
      await version(window, 4);
      assert.equal(await panel.locator(".step").count(), 3);
      await focusInPanel(window, "a row after the deletion", ".step-row");
      // What was removed is named until it was read, and comes back by one button.
      assert.match(await panel.locator(".revision").textContent(), /1 removed[\s\S]*Back to version 3/);
      await panel.locator("#restore").click();
      await version(window, 5);
      await panel.locator('.step[data-change="added"]').filter({ hasText: "d.txt" }).waitFor();
      await row(3).focus();
      await page.keyboard.press("Delete");
      await version(window, 6);
      await panel.locator('.revision [aria-label="Mark as read"]').click();
      await panel.locator(".revision").waitFor({ state: "detached" });
      // The same by the buttons of an opened step.
      await row(1).click();
      await panel.locator('.step-tools [aria-label^="Move up"]').click();
      await version(window, 7);
      assert.deepEqual(await titles(window), ["Write a.txt", "Write b.txt", "Write c.txt"]);
      await panel.locator("#add-step").click();
      await panel.locator("#step-description input").fill("Write e");
      await window.choose("step-tool", "write_file");
      await panel.locator("#step-arg-content textarea").fill("e");
      await panel.locator("#step-save").click();
      await panel.locator(".step-form .bad").filter({ hasText: "path" }).waitFor();
      await window.shot(join(shots, "invalid-dark.png"));
      await panel.locator("#step-arg-path input").fill("e.txt");
      await panel.locator("#step-save").click();
      await version(window, 8);
      await focusInPanel(window, "the row of the new step", ".step-row");
      assert.equal(await panel.locator(".step-form, .banner.error").count(), 0);
      // A check, whose condition and loop are its own; and a sub-plan, which needs what its template asks for.
      await panel.locator("#add-step").click();
      await panel.locator("#step-description input").fill("Is it done?");
      await window.choose("step-kind", "Check");
      await window.choose("step-check-0", "Condition holds");
      await panel.locator("#step-check-0-text input").fill("platform != 'none'");
      await panel.locator(".step-form .rules summary").click();
      await panel.locator("#step-when input").fill("platform != 'none'");
      await window.shot(join(shots, "check-form-dark.png"));
      await panel.locator("#step-save").click();
      await version(window, 9);
      await panel.locator("#add-step").click();
      await panel.locator("#step-description input").fill("Add tests");
      await window.choose("step-kind", "Sub-plan");
      await window.choose("step-template", "Add tests for a file");
      await panel.locator("#step-value-file input").waitFor();
      await panel.locator("#step-save").click();
      await panel.locator(".step-form .bad").filter({ hasText: "required" }).waitFor();
      await window.shot(join(shots, "sub-plan-form-dark.png"));
      await panel.locator(".step-form vscode-button[secondary]").click();
      await panel.locator("#approve").click();
      // One word for all of them: no other card comes.
      await (await nextApproval(window)).locator(".link").filter({ hasText: "Allow for this plan" }).click();
      await window.waitForStatus("completed");
      for (const name of ["a", "b", "e"])
        await saveUntil(
          window,
          `${name}.txt`,
          () => existsSync(join(folder, `${name}.txt`)) && onDisk(folder, `${name}.txt`).trim() === name,
        );
      assert.ok(!existsSync(join(folder, "c.txt")) && !existsSync(join(folder, "d.txt")));
    },
  },
  {
    name: "typing into the lines of a waiting change is a conflict with both sides",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("note.txt");
      await plan(
        window,
        '1. Replace "beta" with "BETA" in note.txt\n2. Replace "gamma" with "GAMMA" in note.txt\n3. Replace "alpha" with "ALPHA" in note.txt',
      );
      await panel.locator("#approve").click();
      const rounds = [
        { line: 2, typed: " of mine", change: /BETA/, stays: "Take the plan's" },
        { line: 3, typed: " of mine too", change: /GAMMA/, stays: "Keep mine" },
        { line: 1, typed: " of mine also", change: /ALPHA/, stays: "Keep both" },
      ];
      for (const { line, typed, change, stays } of rounds) {
        const card = await nextApproval(window);
        await window.caretAt("note.txt", line);
        await page.keyboard.type(typed);
        await until("the typing in the buffer", async () => (await window.editorText()).includes(typed));
        await card.locator(".allow").click();
        const conflict = panel.locator(".card.conflict");
        await conflict.waitFor();
        assert.match(await conflict.locator(".mine").textContent(), new RegExp(typed));
        assert.match(await conflict.locator(".theirs").textContent(), change);
        assert.equal(onDisk(folder, "note.txt"), NOTE);
        if (line === 2) await window.shot(join(shots, "conflict-dark.png"));
        await conflict.getByLabel(stays).check();
        await conflict.locator(".resolve").click();
        await conflict.waitFor({ state: "detached" });
      }
      await applyAll(window);
      await until("the chosen texts in the buffer", async () =>
        /^alpha of mine also\nALPHA\nBETA\ngamma of mine too\n?/.test(await window.editorText()),
      );
      await saveUntil(
        window,
        "the chosen texts on disk",
        () => onDisk(folder, "note.txt") === "alpha of mine also\nALPHA\nBETA\ngamma of mine too\n",
      );
    },
  },
  {
    name: "a command finds on disk what the plan changed; unsaved typing stays unsaved",
    files: { "note.txt": NOTE, "other.txt": OTHER },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("note.txt");
      await plan(
        window,
        '1. Replace "beta" with "BETA" in note.txt\n2. Run `cp note.txt first.txt`\n3. Replace "one" with "zero" in other.txt\n4. Run `cp other.txt second.txt`',
      );
      await panel.locator("#approve").click();
      await (await nextApproval(window)).locator(".allow").click();
      await until(
        "the command's card",
        async () =>
          /cp note/.test(
            await panel
              .locator(".card.approval .command")
              .textContent({ timeout: 500 })
              .catch(() => ""),
          ),
        60,
      );
      await until("the edit saved before the command", () => onDisk(folder, "note.txt").includes("BETA"));
      assert.ok(!(await window.isDirty("note.txt")));
      await (await nextApproval(window)).locator(".allow").click();
      await until("the copy", () => existsSync(join(folder, "first.txt")));
      assert.equal(onDisk(folder, "first.txt"), "alpha\nBETA\ngamma\n");

      // What the user has typed is for the user to save: the plan waits for it.
      await window.openFile("other.txt");
      await window.caretAt("other.txt", 4);
      await page.keyboard.type("typed");
      await until("unsaved typing", () => window.isDirty("other.txt"));
      await until(
        "the plan waits for the user's save",
        async () => {
          const allow = panel.locator(".card.approval .allow:not([disabled])").first();
          if ((await allow.count()) > 0) await allow.click({ timeout: 2000 }).catch(() => undefined);
          return (await window.status()) === "paused";
        },
        60,
      );
      assert.match(await panel.locator(".plan-header .banner").textContent(), /unsaved/);
      assert.match(await panel.locator(".plan-header .banner").textContent(), /other\.txt/);
      assert.equal(onDisk(folder, "other.txt"), OTHER);
      await window.shot(join(shots, "unsaved-dark.png"));
      await window.command("File: Save All Files");
      await applyAll(window);
      assert.equal(onDisk(folder, "second.txt"), onDisk(folder, "other.txt"));
      assert.match(onDisk(folder, "second.txt"), /zero/);
      assert.match(onDisk(folder, "second.txt"), /typed/);
    },
  },
  {
    name: "a long change is applied only when it was seen to its end, and a command names its folder and rights",
    files: { "long.txt": LONG },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await plan(window, "1. Delete long.txt\n2. Run `echo done > after.txt`");
      await panel.locator("#approve").click();
      const card = panel.locator(".card.approval").first();
      await card.locator(".unseen").waitFor();
      assert.match(await card.locator(".unseen").textContent(), /without having seen 300 changed lines of 1 file/);
      assert.equal(await card.locator(".allow:not([disabled])").count(), 0);
      await window.shot(join(shots, "unseen-dark.png"));
      await card.locator(".diff").first().click();
      await page.locator(".monaco-diff-editor .view-line").filter({ hasText: "line 2" }).first().waitFor();
      assert.equal(await card.locator(".allow:not([disabled])").count(), 0);
      // The list of all changes shows its end as well as the diff.
      await window.command("Planloom: Show All Changes of the Plan");
      const entry = page.locator(".multiDiffEntry").filter({ hasText: "long.txt" });
      await entry.locator(".view-line").filter({ hasText: "line 2" }).first().click();
      await page.keyboard.press("Control+End");
      await nextApproval(window);
      await window.shot(join(shots, "seen-dark.png"));
      await card.locator(".allow").click();
      await panel.locator(".card.approval .command").waitFor();
      const asked = await nextApproval(window);
      assert.match(await asked.textContent(), /in the workspace folder \//);
      assert.match(await asked.locator(".confinement p").textContent(), /onfined/);
      await window.shot(join(shots, "command-dark.png"));
      await window.theme("light");
      await window.shot(join(shots, "command-light.png"));
      await window.theme("dark");
      await asked.locator(".allow").click();
      await window.waitForStatus("completed");
      assert.equal(onDisk(folder, "after.txt"), "done\n");
      assert.ok(!existsSync(join(folder, "long.txt")));
    },
  },
  {
    name: "all changes are reviewed at the end, one file is left out",
    files: { "note.txt": NOTE, "other.txt": "one\n" },
    async run({ window, folder }) {
      const { panel } = window;
      await plan(window, '1. Replace "beta" with "BETA" in note.txt\n2. Replace "one" with "two" in other.txt');
      await window.choose("review", "Review all at the end");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      assert.equal(await card.locator(".file").count(), 2);
      assert.equal(await panel.locator(".card.approval").count(), 1);
      await card.locator(".file").filter({ hasText: "other.txt" }).locator('input[type="checkbox"]').uncheck();
      await card.locator(".allow").click();
      await until("the plan's end", async () => ["completed", "failed"].includes(await window.status()), 60);
      await saveUntil(window, "the allowed change on disk", () => onDisk(folder, "note.txt").includes("BETA"));
      assert.equal(onDisk(folder, "other.txt"), "one\n");
    },
  },
  {
    name: "the other way than detection says, before and after planning",
    files: {},
    async run({ window, folder }) {
      const { panel, page } = window;
      await window.showPanel();
      await window.request("Create folder Small", "Alt+Enter");
      await window.waitForStatus("pending_approval");
      assert.ok(!existsSync(join(folder, "Small")));
      await window.command("Planloom: Execute Directly, Without a Plan");
      await window.more("about");
      await panel.locator(".about").filter({ hasText: "without a plan" }).waitFor();
      await applyAll(window);
      await until("the small folder", () => existsSync(join(folder, "Small")));
      await plan(window, "1. Create folder Other\n2. Create folder Another");
      // A plan that was edited is left only after a question.
      await panel.locator(".step-row").first().press("s");
      await version(window, 2);
      const question = page.locator(".monaco-dialog-box").filter({ hasText: "Leave this plan?" });
      await window.more("direct");
      await question.waitFor();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      assert.equal(await window.status(), "pending_approval");
      await window.more("direct");
      await question.getByText("Execute directly", { exact: true }).click();
      await applyAll(window);
      await until("both folders", () => existsSync(join(folder, "Other")) && existsSync(join(folder, "Another")));
    },
  },
  {
    name: "paused, resumed and cancelled from the palette",
    files: {},
    async run({ window, folder }) {
      const { panel, page } = window;
      await plan(window, `1. Run \`sleep 600\`\n2. ${write("after")}`);
      await window.command("Planloom: Approve and Start Execution");
      await (await nextApproval(window)).locator(".allow").click();
      const running = panel.locator('.step[data-status="running"]').first();
      await running.waitFor();
      const entries = async () =>
        (await page.locator(".statusbar-item").allTextContents()).filter((each) => /Planloom/.test(each));
      await until("the plan's count in the status bar", async () => /\d\/\d/.test((await entries()).join("\n")));
      assert.equal((await entries()).length, 1, "one entry says where the plans stand");
      await until("the command", () => running.locator(".doing").count());
      await window.command("Planloom: Pause Execution");
      await window.waitForStatus("paused");
      await window.command("Planloom: Resume Execution");
      await until("the plan goes on", async () => (await window.status()) !== "paused");
      await window.command("Planloom: Cancel Plan");
      await window.waitForStatus("cancelled");
      assert.ok(!existsSync(join(folder, "after.txt")));
    },
  },
  {
    name: "a selection becomes the request; rejected, shown again and logged from the palette",
    files: { "todo.txt": '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"\n' },
    async run({ window, folder }) {
      const { panel, page } = window;
      await window.openFile("todo.txt");
      await window.caretAt("todo.txt", 1);
      await page.keyboard.press("Control+A");
      await window.command("Planloom: Plan This Task");
      const area = panel.locator("#request");
      await area.waitFor();
      await until("the selection in the composer", async () => /one\.txt[\s\S]*two\.txt/.test(await area.inputValue()));
      await panel.locator("footer").waitFor();
      await area.press("Enter");
      await window.waitForStatus("pending_approval");
      await window.command("Planloom: Reject Plan");
      await window.answerInput("Not today");
      await window.waitForStatus("rejected");
      assert.match(await panel.locator("main").textContent(), /Not today/);
      await window.addressee("new");
      await panel.locator("#request").fill("Create folder Sub");
      await panel.locator("#verdict").waitFor();
      await panel.locator("#request").press("Enter");
      await until("the direct request", async () =>
        /Create folder Sub/.test(await panel.locator(".request").textContent()),
      );
      await applyAll(window);
      await window.command("Planloom: Show Plan…");
      await window.pick("Create file one");
      await window.waitForStatus("rejected");
      await window.command("Planloom: Show Log");
      await page.locator(".part.panel .view-line, .part.panel .monaco-editor").first().waitFor();
      assert.ok(!existsSync(join(folder, "one.txt")));
    },
  },
  {
    name: "no fitting Python: the panel says so and looks again",
    files: {},
    async run({ window }) {
      const { panel, workbench } = window;
      await window.showPanel();
      workbench.setMachine({ "planloom.server.python": "/usr/bin/false" });
      try {
        await until(
          "the missing Python",
          async () => {
            await window.command("Planloom: Restart Server");
            return panel
              .locator(".banner.error")
              .filter({ hasText: "needs Python" })
              .waitFor({ timeout: 5000 })
              .then(
                () => true,
                () => false,
              );
          },
          60,
        );
      } finally {
        workbench.setMachine({});
      }
      await until(
        "a server again",
        async () => {
          const again = panel.locator("vscode-button").filter({ hasText: "Look again" });
          if ((await again.count()) > 0) await again.click({ timeout: 2000 }).catch(() => undefined);
          return panel
            .locator("footer")
            .waitFor({ timeout: 5000 })
            .then(
              () => true,
              () => false,
            );
        },
        60,
      );
    },
  },
];
