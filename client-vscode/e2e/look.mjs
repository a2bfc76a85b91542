// Development aid: drives the scripted server once and takes screenshots of every state of the panel.
// usage: node look.mjs TOOLS VSIX OUT
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startWorkbench } from "./workbench.mjs";

const [tools, vsix, out] = process.argv.slice(2);
const fake = join(dirname(fileURLToPath(import.meta.url)), "fake-server.mjs");
const folder = mkdtempSync(join(tmpdir(), "planloom-look-"));
mkdirSync(join(folder, "src"));
writeFileSync(join(folder, "src/greeting.py"), 'def greet(name):\n    return f"Hello, {name}!"\n');
writeFileSync(join(folder, "README.md"), "# Hello\n");
const workbench = await startWorkbench({ tools, vsix, machine: { "planloom.server.command": [process.execPath, fake] } });
try {
  const window = await workbench.open(folder);
  const { panel, page } = window;
  await window.showPanel();
  // Widen the side bar by its sash, as a person does.
  const box = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(box.x + box.width, 400);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, 400, { steps: 4 });
  await page.mouse.up();
  await window.shot(join(out, "1-welcome.png"));
  const area = panel.locator("#request");
  await area.click();
  await page.keyboard.type("Add a farewell function to @s");
  await panel.locator("#suggestions li").first().waitFor();
  await page.waitForTimeout(400);
  await window.shot(join(out, "2-composer.png"));
  await area.press("Escape");
  await area.press("Enter");
  await panel.locator(".step").nth(2).waitFor();
  await window.shot(join(out, "3-draft.png"));
  await window.waitForStatus("pending_approval");
  await panel.locator(".step-row").nth(1).click();
  await window.shot(join(out, "4-review.png"));
  await panel.locator(".step-tools .icon-button").first().click();
  await page.waitForTimeout(300);
  await window.shot(join(out, "5-edit.png"));
  await page.keyboard.press("Escape");
  await panel.locator("#approve").click();
  await panel.locator(".card.failure").waitFor();
  await page.waitForTimeout(800);
  await window.shot(join(out, "6-cards.png"));
  await panel.locator(".card.approval .diff").first().click();
  await panel.locator(".card.approval .skip").nth(1).click();
  await page.waitForTimeout(1500);
  await window.shot(join(out, "7-diff.png"));
  await panel.locator(".card.failure").scrollIntoViewIfNeeded();
  await window.theme("light");
  await window.shot(join(out, "8-light.png"));
  await panel.locator(".steps").scrollIntoViewIfNeeded();
  await panel.locator(".plan-header").evaluate((element) => element.scrollIntoView());
  await window.shot(join(out, "9-light-top.png"));
  await panel.locator("#add-step, .step").last().scrollIntoViewIfNeeded();
  await window.shot(join(out, "10-light-steps.png"));
  console.log("outside:", workbench.outside);
} catch (error) {
  console.error(error);
  await workbench.context.pages()[0]?.screenshot({ path: join(out, "fail.png") });
} finally {
  console.log(workbench.log().split("\n").slice(-12).join("\n"));
  await workbench.stop();
}
