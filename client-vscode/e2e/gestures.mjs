// What the journeys have in common: planning a request, applying what is asked, looking at the disk.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./workbench.mjs";

export const NOTE = "alpha\nbeta\ngamma\n";

/** Plan a request and wait for its review. */
export async function plan(window, text) {
  await window.showPanel();
  await window.request(text);
  await window.waitForStatus("pending_approval");
}

/** Put another view in the panel's place; its page goes away. */
export async function hidePanel(window) {
  // The whole entry is clicked: the badge of unsaved files lies over its icon.
  await window.page.locator('.activitybar .action-item:has(a.action-label[aria-label^="Explorer"])').click();
  await window.page.locator("iframe.webview.ready").waitFor({ state: "detached" });
}

/** Scroll to the buttons of the first approval, if there is one: they work once they have been in view. */
export async function showNextApproval(window) {
  const buttons = window.panel.locator(".card.approval [data-arm]").first();
  if ((await buttons.count()) > 0)
    await buttons.evaluate((element) => element.scrollIntoView({ block: "nearest" })).catch(() => undefined);
}

/** Apply every approval that comes until the plan has this status. */
export async function applyAll(window, status = "completed", seconds = 60) {
  await until(
    `status ${status}`,
    async () => {
      await showNextApproval(window);
      const allow = window.panel.locator(".card.approval .allow:not([disabled])").first();
      if ((await allow.count()) > 0) await allow.click({ timeout: 2000 }).catch(() => undefined);
      return (await window.status()) === status;
    },
    seconds,
  );
}

/** The card of the next approval, once it can be applied. */
export async function nextApproval(window) {
  const card = window.panel.locator(".card.approval").first();
  await card.waitFor();
  await showNextApproval(window);
  await card.locator(".allow:not([disabled])").waitFor();
  return card;
}

/** Save everything until this holds: an edit that was made a moment ago may reach its tab after the command. */
export async function saveUntil(window, what, check) {
  await until(
    what,
    async () => {
      await window.command("File: Save All Files");
      return until(what, check, 5).catch(() => false);
    },
    60,
  );
}

/** Check that the buttons of the composer and its mode stand beside each other. */
export async function oneRow(window) {
  const boxes = await window.panel
    .locator(".composer .composer-row > :not(.menu)")
    .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect()));
  const [first, ...others] = boxes.map(({ top, height }) => Math.round(top + height / 2));
  assert.ok(
    others.every((middle) => Math.abs(middle - first) <= 2),
    `the middles of the composer's buttons: ${[first, ...others].join()}`,
  );
}

export const version = (window, number) =>
  until(
    `version ${number}`,
    async () => (await window.panel.locator("main.plan").getAttribute("data-version")) === String(number),
  );

/** Choose an entry of a card's menu. */
export async function moreOf(card, label) {
  await card.locator(".menu-button").click();
  await card.locator(".menu button").filter({ hasText: label }).first().click();
}

/** The focus is in the panel, on this. */
export const focusInPanel = (window, what, selector) =>
  until(`the focus on ${what}`, () =>
    window.panel.locator("#root").evaluate((_, sought) => document.activeElement?.matches(sought), selector),
  );

export const titles = (window) => window.panel.locator(".step .step-title").allTextContents();

export const onDisk = (folder, name) => readFileSync(join(folder, name), "utf8");
