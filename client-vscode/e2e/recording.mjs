// The film of the project's first page: a plan, its review, typing that overlaps with a change, an undo.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Film, SIZE } from "./film.mjs";
import { nextApproval, onDisk } from "./gestures.mjs";

const FOLDER = join(import.meta.dirname, "../../demo");
const read = (name) => readFileSync(join(FOLDER, name), "utf8");
const TIDES = read("workspace/tides.py");
const MINE = "    bay = bay.lower()";
const REFUSED = "if bay not in BAYS";

/** The same turns as in the recording of the terminal. */
export const RECORDING_SCRIPT = JSON.parse(read("turns.json"));

export const RECORDING = [
  {
    name: "the film: a plan, its review, an overlap, an undo",
    files: { "tides.py": TIDES },
    size: SIZE,
    seconds: 600,
    settings: { "breadcrumbs.enabled": false },
    async run({ window, folder, shots }) {
      const { panel, page } = window;
      const film = await Film.of(page, join(shots, "panel.webp"));
      await window.openFile("tides.py");
      await window.showPanel();
      await window.widen(400);
      await window.caretAt("tides.py", 20);
      await panel.locator("#request").click();

      await film.say("A request becomes a plan, and you review it");
      await film.hold(1000);
      await film.type("Refuse bays that are not in the table");
      await film.until("the request understood", () => panel.locator("#verdict").count());
      await page.keyboard.press("Enter");
      await film.until(
        "the plan",
        async () => (await panel.locator("main.plan").count()) > 0 && (await window.status()) === "pending_approval",
      );
      await film.hold(3000);
      await film.click(panel.locator("#approve"));
      await film.say("Each change is shown before it is made");
      await film.until("the change", () => panel.locator(".card.approval .allow:not([disabled])").count());
      const card = await nextApproval(window);
      await film.hold(2500);

      await film.say("Meanwhile you go on typing, in the same place");
      // The diff has come by itself.
      await film.click(page.locator('.tabs-container .tab[data-resource-name="tides.py"]').filter({ hasNotText: "↔" }));
      await film.hold(300);
      await film.click(page.locator(".editor-instance .view-line:visible").filter({ hasText: "bay = sys.argv[1]" }));
      await page.keyboard.press("End");
      await film.hold(300);
      await page.keyboard.press("Enter");
      await film.type(MINE);
      await film.hold(1000);
      await film.click(card.locator(".allow"));
      await film.say("Nothing is overwritten: an overlap is asked, with both sides");
      const conflict = panel.locator(".card.conflict");
      await film.until("the overlap", () => conflict.count());
      await film.hold(3000);
      await film.click(conflict.getByText("Keep both"));
      await film.hold(500);
      await film.click(conflict.locator(".resolve"));
      await film.until("the plan's end", async () => (await window.status()) === "completed");
      await film.until("both in the buffer", async () =>
        (await window.editorText()).includes(`${MINE}\n    ${REFUSED}`),
      );
      await film.hold(3000);

      await film.say("Undo takes back what the plan wrote, and nothing else");
      await film.hold(800);
      await film.click(panel.locator("#undo"));
      await film.until("the undo", async () => /undone/.test(await panel.locator(".changed").textContent()));
      await film.until("your line alone", async () => !(await window.editorText()).includes(REFUSED));
      await film.hold(4000);
      assert.match(await window.editorText(), /argv\[1\]\n {4}bay = bay\.lower\(\)\n {4}waves/);
      assert.equal(onDisk(folder, "tides.py"), TIDES, "what was typed is saved by who typed it");
      film.end();
    },
  },
];
