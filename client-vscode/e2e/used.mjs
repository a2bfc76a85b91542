// What happens in a window that is in use already: a second plan, a panel that was open or hidden before, a reload.
import assert from "node:assert/strict";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, NOTE, nextApproval, onDisk, plan, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

/** What is easily lost on the way through an editor: line ends, letters beyond ASCII, no line end at the end. */
const DELETED = "alpha\r\ngrün\r\nlast";

export const USED = [
  {
    name: "a selection reaches the composer of an open panel, of a draft, and of a hidden panel",
    files: { "todo.txt": "Create folder One\nCreate folder Two\nCreate folder Three\n" },
    async run({ window, shots }) {
      const { panel, page } = window;
      const draft = () => panel.locator("#request").inputValue();
      const planLine = async (line) => {
        await window.caretAt("todo.txt", line);
        await page.keyboard.press("Shift+Home");
        await window.command("Planloom: Plan This Task");
      };
      await window.showPanel();
      await window.openFile("todo.txt");
      await planLine(1);
      await until("the selection in the open panel", async () => (await draft()) === "Create folder One");
      await until("its verdict", async () => /Runs directly/.test(await panel.locator("#verdict").textContent()));
      // What is written there already stays: the selection comes after it.
      await panel.locator("#request").fill("Tidy up:");
      await planLine(2);
      await until("the selection after the draft", async () => (await draft()) === "Tidy up:\nCreate folder Two");
      await window.shot(join(shots, "selection-dark.png"));
      await hidePanel(window);
      await planLine(3);
      await until(
        "the draft and the selection in the panel that was hidden",
        async () => (await draft()) === "Tidy up:\nCreate folder Two\nCreate folder Three",
      );
    },
  },
  {
    name: "forms stay with their plan, beside another plan and through a hidden panel",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      const form = panel.locator("#prompt-text textarea");
      await plan(window, '1. Create file a1.txt with content "a1"\n2. Create file a2.txt with content "a2"');
      await panel.locator(".step-row").first().click();
      await panel.locator(".details").waitFor();
      await window.addressee("new");
      await panel
        .locator("#request")
        .fill('1. Create file b1.txt with content "b1"\n2. Create file b2.txt with content "b2"');
      await panel.locator("#request").press("Enter");
      await until("the second plan", async () => (await titles(window)).join() === "Write b1.txt,Write b2.txt");
      await window.waitForStatus("pending_approval");
      assert.equal(await panel.locator(".details").count(), 0, "a step that is open belongs to its own plan");
      await window.more("reject");
      await form.fill("Not these two");
      await panel.locator(".others").filter({ hasText: "a1.txt" }).locator("button").click();
      await until("the first plan", async () => (await titles(window)).join() === "Write a1.txt,Write a2.txt");
      assert.equal(await panel.locator(".details").count(), 1);
      assert.equal(await panel.locator("#prompt-send").count(), 0, "a form that was opened for another plan");
      await window.shot(join(shots, "others-dark.png"));
      await panel.locator(".others").filter({ hasText: "b1.txt" }).locator("button").click();
      await until("the second plan again", async () => (await titles(window)).join() === "Write b1.txt,Write b2.txt");
      assert.equal(await form.inputValue(), "Not these two");
      await hidePanel(window);
      await window.showPanel();
      await until(
        "the form after the panel was hidden",
        async () => (await form.count()) === 1 && (await form.inputValue()) === "Not these two",
      );
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");
      assert.match(await panel.locator("main").textContent(), /Not these two/);
      await panel.locator(".others button").click();
      await window.waitForStatus("pending_approval");
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.ok(existsSync(join(folder, "a2.txt")) && !existsSync(join(folder, "b1.txt")));
    },
  },
  {
    name: "a plan that waits for review is back after a reload, and is sent only once",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      await window.showPanel();
      const area = panel.locator("#request");
      await area.fill('1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"');
      await panel.locator("#verdict").waitFor();
      await area.evaluate((element) => {
        for (let times = 0; times < 2; times++)
          element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
      });
      await window.waitForStatus("pending_approval");
      await until("the composer empty again", async () => (await area.inputValue()) === "");
      assert.equal(await panel.locator(".others button").count(), 0, "two Enters have made two plans");
      await window.reload();
      await window.waitForStatus("pending_approval");
      await until("the composer without the request that was sent", async () => (await area.inputValue()) === "");
      assert.deepEqual(await titles(window), ["Write one.txt", "Write two.txt"]);
      await window.shot(join(shots, "reloaded-dark.png"));
      await panel.locator("#approve").click();
      await applyAll(window);
      assert.ok(existsSync(join(folder, "two.txt")));
    },
  },
  {
    name: "the user's review setting is what Start execution does",
    files: {},
    async run({ window, folder, shots }) {
      const { panel, workbench } = window;
      const review = () => panel.locator("#review").textContent();
      workbench.setMachine({ "planloom.execution.review": "end" });
      try {
        await plan(window, '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"');
        await until("the setting in the panel", async () => /at the end/.test(await review()));
        await window.shot(join(shots, "review-setting-dark.png"));
        await panel.locator("#approve").click();
        assert.equal(await (await nextApproval(window)).locator(".file").count(), 2);
        await applyAll(window);
        // A choice for one plan is that plan's alone.
        await plan(window, '1. Create file three.txt with content "3"\n2. Create file four.txt with content "4"');
        await until("the setting for the next plan", async () => /at the end/.test(await review()));
        await window.choose("review", "risky");
        await until("the choice", async () => /risky/.test(await review()));
        await plan(window, '1. Create file five.txt with content "5"\n2. Create file six.txt with content "6"');
        await until("the third plan", async () => (await titles(window)).join() === "Write five.txt,Write six.txt");
        assert.match(await review(), /at the end/);
        await panel.locator(".others button").click();
        await until("the second plan", async () => (await titles(window)).join() === "Write three.txt,Write four.txt");
        assert.match(await review(), /risky/);
        await window.command("Planloom: Approve and Start Execution");
        await window.waitForStatus("completed");
        assert.ok(existsSync(join(folder, "four.txt")));
      } finally {
        workbench.setMachine({});
      }
    },
  },
  {
    name: "what waits says so, what is not done is told, and the rest is planned anew",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await plan(
        window,
        '1. Replace "alpha" with "one" in note.txt\n2. Create file other.txt with content "x"\n3. Run `touch third.txt`',
      );
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      const row = panel.locator(".step").first();
      assert.match(await row.textContent(), /waits for your approval/);
      assert.match(await panel.locator(".plan-state").textContent(), /Waits for your approval/);
      await until("the status bar", async () =>
        /waits for your approval/.test((await page.locator(".statusbar-item").allTextContents()).join("\n")),
      );
      assert.doesNotMatch(await panel.locator(".steps").textContent(), /Running|Replacing|Writing/);
      await window.shot(join(shots, "waits-dark.png"));
      await card.locator(".skip").click();
      await card.locator(".skip-reason textarea").fill("Not here");
      await card.locator(".deny").click();
      await panel.locator('.step[data-status="skipped"]').waitFor();
      await applyAll(window);
      assert.match(await panel.locator(".plan-state").textContent(), /Partly done, 2 of 3/);
      assert.match(
        await panel.locator(".not-done").textContent(),
        /1[\s\S]*Replace 'alpha' in note\.txt[\s\S]*not allowed: Not here/,
      );
      await window.shot(join(shots, "partly-dark.png"));
      await panel.locator("#rest").click();
      await until(
        "a plan of what is left",
        async () =>
          (await window.status()) === "pending_approval" &&
          (await titles(window)).join() === "Replace 'alpha' in note.txt",
      );
      assert.equal(onDisk(folder, "note.txt"), NOTE);
      await window.more("reject");
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");
    },
  },
  {
    name: "a new file and a file that an undo brings back are on disk with their text",
    files: { "note.txt": DELETED, "other.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const dirty = () =>
        page.locator(".tabs-container .tab.dirty").evaluateAll((tabs) => tabs.map((tab) => tab.dataset.resourceName));
      const made = async () => {
        assert.ok(!existsSync(join(folder, "note.txt")));
        assert.equal(onDisk(folder, "sub/new.txt").trim(), "new text");
        assert.equal(
          await page.locator('.tabs-container .tab[data-resource-name="new.txt"]').count(),
          0,
          "a tab of the new file",
        );
        await until("the edit in its buffer", async () => /^alpha\nBETA\ngamma\n?$/.test(await window.editorText()));
        assert.deepEqual(await dirty(), ["other.txt"]);
        assert.equal(onDisk(folder, "other.txt"), NOTE);
      };
      await window.openFile("note.txt");
      await window.openFile("other.txt");
      await plan(
        window,
        '1. Delete note.txt\n2. Create file sub/new.txt with content "new text"\n3. Replace "beta" with "BETA" in other.txt',
      );
      await panel.locator("#approve").click();
      await applyAll(window);
      await made();
      await window.shot(join(shots, "created-dark.png"));
      await panel.locator("#undo").click();
      await until("the edits taken back", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await until("the new file and its folder gone", () => !existsSync(join(folder, "sub")));
      await until(
        "the deleted file with its bytes",
        () => existsSync(join(folder, "note.txt")) && onDisk(folder, "note.txt") === DELETED,
      );
      await until("the old text in the buffer", async () => /^alpha\nbeta\ngamma\n?$/.test(await window.editorText()));
      assert.deepEqual(
        (await dirty()).filter((name) => name !== "other.txt"),
        [],
      );
      assert.equal(onDisk(folder, "other.txt"), NOTE);
      await window.shot(join(shots, "restored-dark.png"));
      await panel.locator("#redo").click();
      await until(
        "the edits once more",
        () => !existsSync(join(folder, "note.txt")) && existsSync(join(folder, "sub/new.txt")),
      );
      await made();
      // One step by itself; the rows are one tab stop.
      assert.equal(await panel.locator('.step-row[tabindex="0"]').count(), 1);
      await window.unfold();
      const first = panel.locator(".step").first();
      await first.locator(".step-row").click();
      await first.locator(".undo-step").click();
      await until(
        "the deleted file, by the undo of its step",
        () => existsSync(join(folder, "note.txt")) && onDisk(folder, "note.txt") === DELETED,
      );
      assert.equal(onDisk(folder, "sub/new.txt").trim(), "new text");
      await first.locator(".redo-step").waitFor();
      await window.shot(join(shots, "redo-step-dark.png"));
      await first.locator(".redo-step").click();
      await until("the step redone", () => !existsSync(join(folder, "note.txt")));
      await first.locator(".undo-step").waitFor();
      await made();
    },
  },
  {
    name: "a long plan keeps its state and its button in view",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      const steps = Array.from(
        { length: 30 },
        (_, index) => `${index + 1}. Create file f${index + 1}.txt with content "x"`,
      );
      await plan(window, steps.join("\n"));
      const head = () =>
        panel.locator(".scroller").evaluate((scroller) => {
          const [title, line, row] = [".plan-title", ".plan-line", ".step-row"].map((each) =>
            scroller.querySelector(each).getBoundingClientRect(),
          );
          return {
            height: row.top - title.top,
            row: row.height,
            line: line.top - scroller.getBoundingClientRect().top,
          };
        });
      await window.widen(300);
      const { height, row } = await head();
      assert.ok(height <= 180, `the head has ${height} px`);
      assert.equal(row, 24, "a row is one line");
      await panel.locator(".step-row").last().scrollIntoViewIfNeeded();
      assert.match(await panel.locator(".plan-line").textContent(), /30 steps/);
      assert.equal((await head()).line, 0, "the line of the plan stays in view");
      await window.shot(join(shots, "line-review-dark.png"));
      // One key starts the plan; its first change opens, and has the focus.
      await panel.locator("#approve").focus();
      await window.page.keyboard.press("Control+Enter");
      await panel.locator("#waits").waitFor();
      await until("the focus in the change", () =>
        window.page.evaluate(() => document.activeElement?.closest(".editor-instance, .webview, iframe") !== null),
      );
      await window.shot(join(shots, "line-waits-dark.png"));
      await panel.locator("#waits").click();
      await (await nextApproval(window)).getByText("Allow for this plan").click();
      await applyAll(window, "completed", 90);
      assert.ok(existsSync(join(folder, "f30.txt")));
    },
  },
  {
    name: "a rename names both its ends, and where a link leads",
    files: { "old.txt": NOTE, "real/kept.txt": "kept\n" },
    async run({ window, folder, shots }) {
      const { panel } = window;
      symlinkSync("real", join(folder, "link"));
      await window.openFile("old.txt");
      await plan(window, '1. Rename old.txt to link/new.txt\n2. Create file other.txt with content "x"');
      await panel.locator("#approve").click();
      const file = (await nextApproval(window)).locator(".file");
      assert.match(await file.textContent(), /old\.txt → real\/new\.txt/);
      await window.shot(join(shots, "rename-dark.png"));
      await applyAll(window);
      assert.equal(onDisk(folder, "real/new.txt"), NOTE);
      assert.ok(!existsSync(join(folder, "old.txt")));
      await panel.locator("#undo").click();
      await until("the rename taken back", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await until(
        "the file under its old name",
        () =>
          existsSync(join(folder, "old.txt")) &&
          !existsSync(join(folder, "real/new.txt")) &&
          !existsSync(join(folder, "other.txt")),
      );
      assert.equal(onDisk(folder, "old.txt"), NOTE);
    },
  },
];
