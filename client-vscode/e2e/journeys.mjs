// What a user does, from the palette to the text on disk: each journey in a folder of its own, against the real server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { applyAll, moreOf, NOTE, onDisk, plan, saveUntil, version } from "./gestures.mjs";
import { until } from "./workbench.mjs";

export const JOURNEYS = [
  {
    name: "palette to disk, beside unsaved typing",
    files: { "note.txt": NOTE, "src/greeting.py": 'def greet(name):\n    return f"Hello, {name}!"\n' },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      await window.openFile("note.txt");
      await window.command("Planloom: Plan This Task", join(shots, "palette-dark.png"));
      const area = panel.locator("#request");
      await area.waitFor();
      await panel.locator("footer").waitFor({ timeout: 60_000 });
      await until("the caret in the composer", () => area.evaluate((element) => document.activeElement === element));
      await window.widen();
      await area.click();
      await page.keyboard.type('1. Replace "beta" with "BETA" in note.txt');
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type('2. Create file hello.txt with content "hello"');
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type('3. Replace "gamma" with "the end" in note.txt');
      assert.match(await panel.locator("#verdict").textContent(), /Will be planned/);
      await page.keyboard.press("Enter");
      await window.waitForStatus("pending_approval");
      assert.equal(await panel.locator(".step").count(), 3);

      // Change what the second step writes.
      await panel.locator(".step-row").nth(1).focus();
      await page.keyboard.press("F2");
      await panel.locator("#step-arg-content textarea").fill("hello, world");
      await window.shot(join(shots, "edit-dark.png"));
      await panel.locator("#step-save").click();
      await version(window, 2);
      await panel.locator(".step-row").nth(1).click();
      assert.match(await panel.locator(".details").textContent(), /hello, world/);
      await window.shot(join(shots, "review-dark.png"));
      await window.theme("light");
      await window.shot(join(shots, "review-light.png"));
      await window.theme("dark");

      // Type something and leave it unsaved while the plan runs.
      await page.locator(".editor-instance .view-line").first().click();
      await page.keyboard.press("Control+End");
      await page.keyboard.type("typed and not saved");
      assert.ok(await window.isDirty("note.txt"));
      await panel.locator("#approve").click();
      const card = panel.locator(".card.approval").first();
      await card.waitFor();
      assert.match(await card.locator(".file").first().textContent(), /note\.txt/);
      await card.locator(".diff").first().click();
      await page.locator(".tabs-container .tab.active").filter({ hasText: "now ↔ proposed" }).waitFor();
      await page.locator(".monaco-diff-editor .view-line").filter({ hasText: "BETA" }).first().waitFor();
      await window.shot(join(shots, "diff-dark.png"));
      // What is proposed can be changed before it is applied, beside the text of this moment; the diff closes then.
      const diff = page.locator(".monaco-diff-editor");
      await diff
        .locator(".original-in-monaco-diff-editor .view-line")
        .filter({ hasText: "typed and not saved" })
        .waitFor();
      await diff
        .locator(".modified-in-monaco-diff-editor .view-line")
        .filter({ hasText: /^BETA$/ })
        .click();
      await page.keyboard.press("End");
      await page.keyboard.type("!");
      await diff.locator(".modified-in-monaco-diff-editor .view-line").filter({ hasText: "BETA!" }).waitFor();
      await window.shot(join(shots, "diff-edited-dark.png"));
      await window.command("Planloom: Apply This Change");
      await until(
        "the diff to close",
        async () => (await page.locator(".tabs-container .tab").filter({ hasText: "now ↔ proposed" }).count()) === 0,
      );
      await applyAll(window);
      await page.locator('.tabs-container .tab[aria-label="note.txt"]').click();
      const text = await until("the edits in the buffer", async () => {
        const now = await window.editorText();
        return now.includes("the end") ? now : false;
      });
      assert.match(text, /^alpha\nBETA!\nthe end\n/);
      assert.match(text, /typed and not saved/);
      assert.equal(onDisk(folder, "note.txt"), NOTE, "a file with unsaved typing is not saved by anyone but its owner");
      assert.match(await panel.locator(".summary-text").textContent(), /3 of 3/);
      assert.match(await panel.locator(".changed .files").textContent(), /note\.txt[\s\S]*hello\.txt/);
      await window.shot(join(shots, "done-dark.png"));
      await window.theme("light");
      await window.shot(join(shots, "done-light.png"));
      await window.theme("dark");
      await saveUntil(window, "the text on disk", () => onDisk(folder, "note.txt").includes("BETA"));
      assert.match(onDisk(folder, "note.txt"), /typed and not saved/);
      assert.match(onDisk(folder, "note.txt"), /the end/);
      await saveUntil(
        window,
        "the new file on disk",
        () => onDisk(folder, "hello.txt") === "hello, world" || onDisk(folder, "hello.txt") === "hello, world\n",
      );

      // Take it back: what was typed stays.
      await panel.locator("#undo").click();
      await until("the edits taken back", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await saveUntil(window, "the old text on disk", () => onDisk(folder, "note.txt").includes("beta"));
      assert.match(onDisk(folder, "note.txt"), /typed and not saved/);
      assert.doesNotMatch(onDisk(folder, "note.txt"), /the end/);
      await panel.locator("#redo").click();
      await saveUntil(window, "the edits once more", () => onDisk(folder, "note.txt").includes("the end"));
      assert.match(onDisk(folder, "note.txt"), /typed and not saved/);
    },
  },
  {
    name: "all changes of an ended plan in one view",
    files: {
      "note.txt": NOTE,
      "old.txt": "old\n",
      "src/greeting.py": 'def greet(name):\n    return f"Hello, {name}!"\n',
    },
    async run({ window, shots }) {
      const { panel, page } = window;
      await window.openFile("note.txt");
      await plan(
        window,
        '1. Replace "beta" with "BETA" in note.txt\n2. Create file docs/new.md with content "# New"\n3. Delete old.txt\n4. Rename src/greeting.py to src/welcome.py',
      );
      await window.widen();
      await panel.locator("#approve").click();
      await applyAll(window);
      const renamed = panel.locator(".changed .file").filter({ hasText: "src/greeting.py → src/welcome.py" });
      await renamed.locator(".diff").waitFor();
      await panel.locator("#changes").click();
      const tab = page.locator(".tabs-container .tab.active").filter({ hasText: "Changes of the plan" });
      await tab.waitFor();
      const editor = page.locator(".multiDiffEditor");
      await until("every file's text", async () => {
        const text = (await editor.locator(".view-line").allTextContents()).join("\n").replaceAll("\u00a0", " ");
        return text.includes("BETA") && text.includes("# New") && text.includes("old");
      });
      await window.shot(join(shots, "changes-dark.png"));
      await window.theme("light");
      await window.shot(join(shots, "changes-light.png"));
      await window.theme("dark");
    },
  },
  {
    name: "files are suggested behind @",
    files: {
      "src/greeting.py": "",
      "docs/guide.md": "",
      ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`parts/part${at}.md`, ""])),
    },
    async run({ window, shots }) {
      const { panel, page } = window;
      await window.showPanel();
      await panel.locator("#request").click();
      await page.keyboard.type("Add a farewell function to @gree");
      await panel.locator("#suggestions li").filter({ hasText: "greeting.py" }).first().waitFor();
      await window.shot(join(shots, "composer-dark.png"));
      await page.keyboard.press("Enter");
      await until("the file in the text", async () =>
        /@src\/greeting\.py $/.test(await panel.locator("#request").inputValue()),
      );
      await page.keyboard.type("and @part");
      const items = panel.locator("#suggestions li");
      await until("the parts", async () => (await items.count()) > 15);
      // Upwards from the first entry is the last, far below the end of the list.
      await page.keyboard.press("ArrowUp");
      const last = items.last();
      const isSeen = (item) => {
        const [row, list] = [item.getBoundingClientRect(), item.parentElement.getBoundingClientRect()];
        return item.matches(".active") && row.top >= list.top - 1 && row.bottom <= list.bottom + 1;
      };
      await until("the last entry in view", () => last.evaluate(isSeen));
      await page.keyboard.press("F1");
      await until("the list closed without the caret", async () => (await items.count()) === 0);
      await page.keyboard.press("Escape");
    },
  },
  {
    name: "a rejected plan changes nothing",
    files: { "note.txt": NOTE },
    async run({ window, folder }) {
      const { panel } = window;
      await plan(window, '1. Delete note.txt\n2. Create file other.txt with content "x"');
      await window.more("reject");
      await panel.locator("#prompt-text textarea").fill("Keep the note");
      await panel.locator("#prompt-send").click();
      await window.waitForStatus("rejected");
      assert.match(await panel.locator("main").textContent(), /Keep the note/);
      assert.equal(onDisk(folder, "note.txt"), NOTE);
      assert.ok(!existsSync(join(folder, "other.txt")));
    },
  },
  {
    name: "a skipped change is not written, its reason is kept",
    files: { "note.txt": NOTE },
    async run({ window, folder }) {
      const { panel } = window;
      await plan(window, '1. Replace "alpha" with "one" in note.txt\n2. Create file other.txt with content "x"');
      await panel.locator("#approve").click();
      const card = panel.locator(".card.approval").first();
      await card.locator(".skip").click();
      await card.locator(".skip-reason textarea").fill("Not here");
      await card.locator(".deny").click();
      await panel.locator('.step[data-status="skipped"]').waitFor();
      await applyAll(window);
      assert.equal(onDisk(folder, "note.txt"), NOTE);
      assert.ok(existsSync(join(folder, "other.txt")));
    },
  },
  {
    name: "a step asks, the plan goes on with the answer",
    files: {},
    async run({ window, folder, shots }) {
      const { panel } = window;
      await plan(
        window,
        '1. Ask me which colour the button should have\n2. Create file colour.txt with content "asked"',
      );
      await panel.locator("#approve").click();
      const card = panel.locator(".card.question");
      await card.waitFor();
      await window.shot(join(shots, "question-dark.png"));
      await card.locator(".answer input").fill("green");
      await card.locator(".send-answer").click();
      await card.waitFor({ state: "detached" });
      await applyAll(window);
      assert.ok(existsSync(join(folder, "colour.txt")));
    },
  },
  {
    name: "a failing step offers ways on",
    files: { "note.txt": NOTE },
    async run({ window, folder, shots }) {
      const { panel } = window;
      await plan(window, '1. Replace "no such text" with "B" in note.txt\n2. Create file after.txt with content "x"');
      await panel.locator("#approve").click();
      const card = panel.locator(".card.failure");
      await card.waitFor();
      await window.shot(join(shots, "failure-dark.png"));
      await window.theme("light");
      await window.shot(join(shots, "failure-light.png"));
      await window.theme("dark");
      await moreOf(card, "Change and retry");
      const args = card.locator(".retry-args textarea");
      await args.fill((await args.inputValue()).replace("no such text", "beta"));
      await card.locator(".retry-changed").click();
      await applyAll(window);
      await saveUntil(window, "the mended step on disk", () => onDisk(folder, "note.txt") === "alpha\nB\ngamma\n");
    },
  },
  {
    name: "the server is killed, the panel finds its plan again",
    files: { "note.txt": NOTE },
    async run({ window, folder }) {
      const { panel } = window;
      await plan(
        window,
        '1. Replace "alpha" with "alpha one" in note.txt\n2. Replace "gamma" with "gamma two" in note.txt',
      );
      await panel.locator("#approve").click();
      const first = panel.locator(".card.approval .allow:not([disabled])").first();
      await first.waitFor();
      await first.click();
      await panel.locator('.step[data-status="completed"]').first().waitFor();
      await panel.locator(".card.approval").first().waitFor();
      const before = serverPids();
      process.kill(before.at(-1), "SIGKILL");
      await until("a new server", () => serverPids().some((each) => !before.includes(each)), 60);
      // The card of the ended server stays until the next one has told that the plan is paused.
      await window.waitForStatus("paused");
      await panel.locator("#resume").click();
      await applyAll(window);
      await saveUntil(
        window,
        "both edits, each once",
        () => onDisk(folder, "note.txt") === "alpha one\nbeta\ngamma two\n",
      );
    },
  },
  {
    name: "a small request runs directly",
    files: {},
    async run({ window, folder }) {
      const { panel } = window;
      await window.showPanel();
      await panel.locator("#request").fill("Create folder TestFolder");
      await until("the verdict", async () => /Runs directly/.test(await panel.locator(".composer-row").textContent()));
      await panel.locator("#request").press("Enter");
      await panel.locator("main.plan").waitFor();
      await applyAll(window);
      await until("the folder", () => existsSync(join(folder, "TestFolder")));
    },
  },
];

/** The bundled servers that run now, by their command line, the newest last. */
export function serverPids() {
  const list = execFileSync("ps", ["-eo", "pid=,args=", "--sort=start_time"], { encoding: "utf8" });
  return list
    .split("\n")
    .filter((line) => /-I -S .*planloom-e2e-.*start\.py serve --stdio/.test(line))
    .map((line) => Number(line.trim().split(/\s+/)[0]));
}
