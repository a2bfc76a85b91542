// What needs a server that does as it is told: every card at once for a look, and a storm of events for a figure.
import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { join } from "node:path";
import { until } from "./workbench.mjs";

const EVENTS = 500;
const ALLOWED_MS = 50;

export const looks = {
  name: "every card at once",
  files: { "src/greeting.py": 'def greet(name):\n    return f"Hello, {name}!"\n', "README.md": "# Hello\n" },
  async run({ window, shots }) {
    const { panel, page } = window;
    await window.showPanel();
    await window.widen();
    await window.request("Add a farewell function and test it");
    await window.waitForStatus("pending_approval");
    await panel.locator("#approve").click();
    await panel.locator(".card.failure").waitFor();
    await panel.locator(".plan-header").evaluate((element) => element.scrollIntoView());
    assert.match(await panel.locator(".command").textContent(), /U\+202E/);
    await page.waitForTimeout(500);
    for (const theme of ["light", "dark"]) {
      await window.theme(theme);
      await window.shot(join(shots, `cards-${theme}.png`));
    }
  },
};

export const storm = {
  name: "a hundred events a second",
  files: {},
  async run({ window }) {
    const { panel } = window;
    await window.showPanel();
    await window.request(`storm ${EVENTS}`);
    await window.waitForStatus("pending_approval");
    // Each event carries the moment it was sent; the page notes when that text is in its document and drawn.
    await panel.locator("#root").evaluate((root) => {
      const seen = (window.seen = new Map());
      const arrived = (window.arrived = new Map());
      window.addEventListener("message", ({ data }) => {
        for (const event of data?.events ?? []) if (event.activeForm?.startsWith("Storm")) arrived.set(event.activeForm.split(" ")[1], Date.now() - Number(event.activeForm.split(" ")[2]));
      });
      new MutationObserver(() => {
        const found = /Storm (\d+) (\d+)/.exec(root.querySelector('[data-status="running"] .step-title')?.textContent ?? "");
        if (found !== null && !seen.has(found[1])) seen.set(found[1], Date.now() - Number(found[2]));
      }).observe(root, { subtree: true, childList: true, characterData: true });
    });
    await panel.locator("#approve").click();
    await until("the end of the storm", () => panel.locator('.step[data-status="completed"]').count(), 60);
    const { drawn, arrived, inPanel } = await panel.locator("#root").evaluate(() => ({
      drawn: [...window.seen.values()],
      arrived: [...window.arrived.values()],
      inPanel: [...window.seen].map(([index, delay]) => delay - window.arrived.get(index)),
    }));
    const spread = (delays) => {
      const sorted = delays.sort((a, b) => a - b);
      const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
      return { count: sorted.length, p50: at(0.5), p95: at(0.95), max: at(1) };
    };
    const figures = { events: EVENTS, arrived: spread(arrived), inPanel: spread(inPanel), drawn: spread(drawn), load: loadavg()[0] };
    assert.ok(figures.drawn.p95 <= ALLOWED_MS * 10, `the panel lags behind: ${JSON.stringify(figures)}`);
    return figures;
  },
};
