// What a person who cannot see or point needs of the panel, checked by axe-core in the page itself.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const BARRIERS = ["critical", "serious"];
// The panel is a part of the workbench: landmarks and the page's title are not its own.
const OF_WHOLE_PAGES = ["document-title", "html-has-lang"];

/** The barriers in the displayed panel, one line each: rule, what it says, where. */
export async function barriers(window) {
  const frame = await panelFrame(window);
  if (frame === undefined) return [];
  if (!(await frame.evaluate("'axe' in window"))) await frame.evaluate(`${AXE}; undefined`);
  const found = await frame.evaluate((off) => {
    // The page lets the side bar's colour through, which axe-core cannot see.
    document.documentElement.style.backgroundColor = "var(--vscode-sideBar-background)";
    return window.axe
      .run(document, {
        resultTypes: ["violations"],
        rules: Object.fromEntries(off.map((rule) => [rule, { enabled: false }])),
      })
      .then(({ violations }) =>
        violations.map(({ id, impact, help, nodes }) => ({
          id,
          impact,
          help,
          nodes: nodes.map(({ target, failureSummary }) => `${target.join(" ")} – ${failureSummary}`),
        })),
      )
      .finally(() => {
        document.documentElement.style.backgroundColor = "";
      });
  }, OF_WHOLE_PAGES);
  return found
    .filter(({ impact }) => BARRIERS.includes(impact))
    .flatMap(({ id, impact, help, nodes }) => nodes.map((node) => `${impact} ${id}: ${help}: ${node}`));
}

/** The frame that holds the panel's page, if it is displayed. */
async function panelFrame({ page, panel }) {
  if ((await page.locator("iframe.webview.ready").count()) === 0) return undefined;
  const root = panel.locator("#root");
  if ((await root.count()) === 0) return undefined;
  const element = await root.elementHandle({ timeout: 5000 });
  return element.ownerFrame();
}
