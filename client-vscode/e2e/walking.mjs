// A plan reviewed in the editor by one key, counted: what a person presses after the words of the request.
import assert from "node:assert/strict";
import { join } from "node:path";
import { onDisk } from "./gestures.mjs";
import { until } from "./workbench.mjs";

const GO_ON = "Control+Alt+Enter";
const FIVE = ["one", "two", "three", "four", "five"];

/** Counts the keys that are pressed, each with what must be seen before the next one. */
function keys(window) {
  const { page } = window;
  let pressed = 0;
  return {
    count: () => pressed,
    async press(key) {
      pressed++;
      await page.keyboard.press(key);
    },
    /** The change of this tab is in front, and its buttons work. */
    async shown(name) {
      await page.locator(".tabs-container .tab.active").filter({ hasText: name }).waitFor();
      await page.locator('.editor-actions [aria-label^="Apply This Change"]').first().waitFor();
      await focused(window);
    },
  };
}

/** Something that takes keys has the focus. */
const focused = (window) =>
  until("the focus", () => window.page.evaluate(() => document.activeElement?.matches("body") === false));

async function ask(window, by, text) {
  await by.press("Control+Alt+P");
  const area = window.panel.locator("#request");
  await area.waitFor();
  await window.panel.locator("footer").waitFor({ timeout: 60_000 });
  await until("the caret in the composer", () => area.evaluate((element) => document.activeElement === element));
  await window.page.keyboard.insertText(text);
  await window.panel.locator("#verdict").waitFor();
}

const openTabs = (window) => window.page.locator(".tabs-container .tab").count();

export const WALKING = [
  {
    name: "one change by keyboard alone: asked, started, seen, applied, saved; at most six keys",
    files: { "note.txt": "alpha\nbeta\n", "other.txt": "" },
    async run({ window, folder, shots }) {
      await window.openFile("other.txt");
      const by = keys(window);
      await ask(window, by, '1. Replace "beta" with "BETA" in note.txt');
      // So small a request runs at once; this key has it planned.
      await by.press("Alt+Enter");
      await window.waitForStatus("pending_approval");
      await by.press(GO_ON);
      await by.shown("note.txt (now ↔ proposed)");
      await window.shot(join(shots, "walk-dark.png"));
      await by.press(GO_ON);
      await window.waitForStatus("completed");
      await until("the text on disk", () => onDisk(folder, "note.txt") === "alpha\nBETA\n");
      await until("the open file's tab alone", async () => (await openTabs(window)) === 1);
      await focused(window);
      console.log(`          ${by.count()} keys for one change`);
      assert.ok(by.count() <= 6, `${by.count()} keys`);
    },
  },
  {
    name: "five changes, each one reviewed: at most eight actions; only the risky ones: at most three",
    files: Object.fromEntries(FIVE.map((name) => [`${name}.txt`, `${name}\n`])),
    async run({ window, folder }) {
      const { page } = window;
      const change = (to) =>
        FIVE.map((name, place) => `${place + 1}. Replace "${name}" with "${to}${name}" in ${name}.txt`).join("\n");
      // A file that the person has open stays as it is: unsaved, and in its tab.
      await window.openFile("three.txt");
      const by = keys(window);
      await ask(window, by, change("new "));
      await by.press("Enter");
      await window.waitForStatus("pending_approval");
      await by.press(GO_ON);
      for (const name of FIVE) {
        await by.shown(`${name}.txt (now ↔ proposed)`);
        await by.press(GO_ON);
      }
      await window.waitForStatus("completed");
      for (const name of FIVE.filter((each) => each !== "three"))
        await until(`${name}.txt on disk`, () => onDisk(folder, `${name}.txt`) === `new ${name}\n`);
      assert.equal(onDisk(folder, "three.txt"), "three\n");
      await until("the open file's tab alone", async () => (await openTabs(window)) === 1);
      assert.ok(await window.isDirty("three.txt"));
      console.log(`          ${by.count()} keys for five changes, each reviewed`);
      assert.ok(by.count() <= 8, `${by.count()} keys`);
      await page.keyboard.press("Control+S");

      const again = keys(window);
      await ask(window, again, change("very "));
      await window.addressee("new");
      await again.press("Enter");
      await window.waitForStatus("pending_approval");
      await window.choose("review", "Only risky");
      await again.press(GO_ON);
      await window.waitForStatus("completed");
      console.log(`          ${again.count()} keys for five changes without a risk`);
      assert.ok(again.count() <= 3, `${again.count()} keys`);
    },
  },
  {
    name: "what was changed is kept or taken back by a lens where it stands",
    files: { "note.txt": Array.from({ length: 20 }, (_, line) => `line ${line + 1}\n`).join("") },
    async run({ window, folder, shots }) {
      const { page } = window;
      await window.openFile("note.txt");
      const by = keys(window);
      await ask(
        window,
        by,
        '1. Replace "line 5" with "plan 5" in note.txt\n2. Replace "line 12" with "plan 12" in note.txt',
      );
      await by.press("Enter");
      await window.waitForStatus("pending_approval");
      await window.choose("review", "Only risky");
      await by.press(GO_ON);
      await window.waitForStatus("completed");
      const lens = (text) => page.locator(".codelens-decoration a").filter({ hasText: text });
      await until("the lenses of both places", async () => (await lens(/^Undo$/).count()) === 2);
      // Both are marked, whichever step has made them.
      await until("both marks", async () => (await page.locator(".view-overlays .cdr[class*=ced-]").count()) >= 2);
      await window.shot(join(shots, "lenses-dark.png"));
      await lens(/^Undo$/)
        .first()
        .click();
      await until("the line taken back", async () => (await window.editorText()).includes("line 5\n"));
      assert.match(await window.editorText(), /plan 12/);
      await until("the lens of the other place", async () => (await lens(/^Undo$/).count()) === 1);
      await lens("Keep Planloom's change").click();
      await until("no lens", async () => (await lens(/Undo/).count()) === 0);
      assert.match(await window.editorText(), /plan 12/);
      await page.keyboard.press("Control+S");
      await until("the text on disk", () => /line 5\n[\s\S]*plan 12/.test(onDisk(folder, "note.txt")));
    },
  },
];
