// What waits, in a window with several plans: shown in the panel, by the status bar and notifications; the list of all plans.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, hidePanel, NOTE, nextApproval, onDisk, plan } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const ATTENTION = [
  {
    name: "a plan that waits for another one leads there; what waits while the panel is hidden is notified",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const toast = page.locator(".notifications-toasts .notification-list-item");
      await window.widen(300);
      await plan(window, '1. Replace "alpha" with "one" in note.txt\n2. Create file a.txt with content "a"');
      await panel.locator("#approve").click();
      await nextApproval(window);
      await plan(window, '1. Replace "beta" with "two" in note.txt\n2. Create file b.txt with content "b"');
      await panel.locator("#approve").click();
      await panel.locator(".resource-wait").waitFor();
      assert.match(await panel.locator(".resource-wait").textContent(), /note\.txt[\s\S]*alpha/);
      assert.match(await panel.locator(".step").first().textContent(), /waits for note\.txt/);
      await until("the pill", async () => /Waits for note\.txt/.test(await panel.locator(".plan-state").textContent()));
      await window.shot(join(shots, "resource-300-dark.png"));
      await panel.locator(".show-user").click();
      await until("the other plan", async () => /alpha/.test(await panel.locator(".request").textContent()));
      assert.equal(await toast.count(), 0, "what is in view needs no notification");
      await hidePanel(window);
      await window.command("Planloom: Cancel Plan");
      await toast.filter({ hasText: /waits for your approval[\s\S]*Replace .beta/ }).waitFor();
      await window.shot(join(shots, "notified-dark.png"));
      await toast.getByText("Show", { exact: true }).click();
      await until("the plan that waits", async () => /beta/.test(await panel.locator(".request").textContent()));
      await until("no notification", async () => (await toast.count()) === 0);
      await applyAll(window);
      assert.equal(onDisk(folder, "b.txt").trim(), "b");
      assert.ok(!existsSync(join(folder, "a.txt")));
    },
  },
  {
    name: "the list of all plans: search, filter, export, delete, and a plan that waits in one click",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const rows = page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Create" });
      await plan(window, '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"');
      await window.more("reject");
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");
      await plan(window, '1. Replace "alpha" with "one" in note.txt\n2. List files');
      await panel.locator("#approve").click();
      await nextApproval(window);
      await plan(window, "1. Create folder Three\n2. Create folder Four");
      await window.command("Planloom: Show Plan…");
      const all = page.locator(".quick-input-list .monaco-list-row");
      await until("all plans", async () => (await all.filter({ hasText: "1. " }).count()) === 3);
      assert.deepEqual(
        (await all.allTextContents()).map((text) => /waits for your|Rejected/.exec(text)?.[0]),
        ["waits for your", "waits for your", "Rejected"],
      );
      await window.shot(join(shots, "plans-dark.png"));
      const input = page.locator('.quick-input-widget input[type="text"]');
      await input.fill("file TWO");
      await until("what is found", async () => (await rows.count()) === 1);
      const press = async (name) => {
        await rows.first().hover();
        await rows.first().locator(`[aria-label="${name}"]`).click();
      };
      await press("Export…");
      // The dialog lists the folder before it takes what is typed.
      await until("the name that is proposed", async () => /\.md$/.test(await input.inputValue()));
      await window.answerInput(join(folder, "exported.json"));
      await until("the exported plan", () => existsSync(join(folder, "exported.json")));
      assert.equal(JSON.parse(onDisk(folder, "exported.json")).status, "rejected");
      await page.locator('.tabs-container .tab[data-resource-name="exported.json"]').waitFor();
      await window.command("Planloom: Show Plan…");
      await until("all plans", async () => (await all.filter({ hasText: "1. " }).count()) === 3);
      await input.fill("file two");
      await until("what is found", async () => (await rows.count()) === 1);
      await press("Delete…");
      await page.locator(".monaco-dialog-box").getByText("Delete", { exact: true }).click();
      await until("the others", async () => (await all.filter({ hasText: "1. " }).count()) === 2);
      await all.filter({ hasText: "alpha" }).click();
      await (await nextApproval(window)).locator(".allow").click();
      await window.waitForStatus("completed");
    },
  },
  {
    name: "what a command printed stands once, survives a reload, opens whole and is typed into a terminal",
    files: {
      "good.sh": "echo ran >> ran.txt; for n in $(seq 60); do echo line $n; done; echo '3 passed in 0.10s'\n",
      "bad.sh": "echo 'FAILED tests/a.py::test_x - no'; echo '== 1 failed, 2 passed in 0.10s =='; exit 1\n",
    },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await plan(window, "1. Run `bash good.sh`\n2. Run `bash bad.sh`");
      await window.widen(420);
      await panel.locator("#approve").click();
      await until("the failure", async () => {
        const allow = panel.locator(".card.approval .allow:not([disabled])").first();
        if ((await allow.count()) > 0) await allow.click({ timeout: 2000 }).catch(() => undefined);
        return (await panel.locator(".card.failure").count()) > 0;
      });
      const printed = async () => (await panel.locator("main").innerText()).split("FAILED tests/a.py").length - 1;
      assert.equal(await printed(), 1, "a failure's output stands once");
      await window.shot(join(shots, "failure-420-dark.png"));
      const first = panel.locator(".step").first();
      await first.locator(".step-row").click();
      await first.locator(".test-results", { hasText: "3 passed" }).waitFor();
      assert.match(await first.locator(".printed").innerText(), /line 60/);
      await first.locator(".command-output").scrollIntoViewIfNeeded();
      await window.shot(join(shots, "output-420-dark.png"));
      await window.reload();
      await first.waitFor();
      if ((await first.locator(".details").count()) === 0) await first.locator(".step-row").click();
      await first.locator(".test-results", { hasText: "3 passed" }).waitFor();
      await first.locator(".open-output").click();
      await until("the whole output", async () => /\$ bash good\.sh\nline 1\n/.test(await window.editorText()));
      await first.locator(".run-in-terminal").click();
      const terminal = page.locator(".terminal-wrapper .xterm").first();
      await terminal.waitFor();
      assert.equal(onDisk(folder, "ran.txt"), "ran\n", "nothing runs without Enter");
      await window.shot(join(shots, "terminal-dark.png"));
      await terminal.click();
      await until("the command, by Enter", async () => {
        await page.keyboard.press("Enter");
        return onDisk(folder, "ran.txt") === "ran\nran\n";
      });
    },
  },
  {
    name: "a command that is allowed in the folder is listed, and taken back",
    files: { Makefile: "check:\n\t@echo checked\n" },
    async run({ window, shots }) {
      const { panel, page } = window;
      await plan(window, "1. Run `make check`\n2. Run `make -s check`");
      await panel.locator("#approve").click();
      const card = await nextApproval(window);
      await card.getByText("Allow in this folder").click();
      await applyAll(window);
      await window.command("Planloom: Allowed Commands…");
      const rows = page.locator(".quick-input-list .monaco-list-row");
      await rows.first().waitFor();
      assert.match(await rows.first().textContent(), /make check/);
      await window.shot(join(shots, "looks/allowed-commands.png"));
      await rows.first().click();
      await page.locator(".quick-input-widget").getByRole("button", { name: "OK" }).click();
      await panel.getByText("1 command is asked again.").waitFor();
      await window.command("Planloom: Allowed Commands…");
      await panel.getByText("No command is allowed in this folder without a question.").waitFor();
    },
  },
];
