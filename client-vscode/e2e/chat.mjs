// The editor's own language model and its chat, with a small extension that brings such a model.
import assert from "node:assert/strict";
import { join } from "node:path";
import { applyAll, onDisk } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const SETTINGS = { "chat.disableAIFeatures": false, "chatModel.enabled": true };
const SHOP = { "README.md": "# Shop\n\nA small shop.\n" };
const QUIET = { "planloom.planning.perspectives": "never", "planloom.planning.classifyWithModel": "never" };

export const CHAT = [
  {
    name: "the editor's own model is chosen by its name, and plans",
    files: SHOP,
    settings: { ...SETTINGS, ...QUIET },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.showPanel();
      await window.command("Planloom: Choose Model…");
      const row = page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "journey-1" });
      await row.filter({ hasText: "32,000 tokens" }).waitFor();
      await window.shot(join(shots, "editor-models-dark.png"));
      await row.click();
      const consent = page.locator(".monaco-dialog-box .monaco-button").filter({ hasText: "Allow" });
      const foot = panel.locator("footer").filter({ hasText: "Editor · journey-1" });
      await until("the model in the foot", async () => {
        if ((await consent.count()) > 0) await consent.first().click();
        return (await foot.count()) > 0;
      });
      await panel.locator(".banner.info").filter({ hasText: "It answered “Ready.”" }).waitFor();
      await window.request("1. Correct the title of the shop\n2. Nothing else");
      await window.waitForStatus("pending_approval");
      await panel.locator(".step-title").filter({ hasText: "Correct the title" }).waitFor();
      await panel.locator("#approve").click();
      await applyAll(window);
      await until("the change on disk", () => onDisk(folder, "README.md").includes("A tiny shop."));
    },
  },
  {
    name: "the editor's chat plans for @planloom, and its button leads to the panel",
    files: SHOP,
    settings: { ...SETTINGS, ...QUIET },
    async run({ window, shots }) {
      const { panel, page } = window;
      await window.showPanel();
      await window.command("Chat: Open Chat");
      const input = page.locator(".interactive-input-editor .view-lines, .chat-input-container .view-lines").first();
      await input.click();
      await page.keyboard.type('@planloom 1. Replace "small" with "tiny" in README.md', { delay: 10 });
      await page.keyboard.press("Escape");
      await page.keyboard.press("Enter");
      const answer = page.locator(".interactive-item-container.interactive-response").last();
      await answer.filter({ hasText: "README.md" }).waitFor();
      const button = answer.locator(".monaco-button").filter({ hasText: "Review and start in the panel" });
      await button.waitFor();
      await window.shot(join(shots, "chat-dark.png"));
      await button.click();
      await window.waitForStatus("pending_approval");
      assert.equal(await panel.locator(".step").count(), 1);
    },
  },
];
