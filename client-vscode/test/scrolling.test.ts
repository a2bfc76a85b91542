// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";

import { scrollKeeper } from "../src/webview/scrolling";

const scroller = document.createElement("div");
scroller.scrollTo = ((to: ScrollToOptions) => (scroller.scrollTop = to.top ?? 0)) as typeof scroller.scrollTo;

afterEach(() => vi.useRealTimers());

const frames = () => vi.advanceTimersByTime(100);
/** The user scrolls. */
function scrollBy(top: number): void {
  scroller.scrollTop = top;
  scroller.dispatchEvent(new Event("scroll"));
}

test("each plan comes back to where it was left, and the next page hears of it", () => {
  vi.useFakeTimers();
  const saved: unknown[] = [];
  const keeper = scrollKeeper(scroller, { kept: 40 }, (scrolls) => saved.push(scrolls));
  keeper.show("kept", null);
  frames();
  expect(scroller.scrollTop).toBe(40);
  scrollBy(300);
  keeper.show("other", null);
  // The shorter plan moves the page by itself, which is nobody's choice.
  scrollBy(7);
  frames();
  expect(scroller.scrollTop).toBe(0);
  scrollBy(120);
  vi.advanceTimersByTime(1000);
  keeper.show("kept", null);
  frames();
  expect(scroller.scrollTop).toBe(300);
  expect(saved.at(-1)).toEqual({ kept: 300, other: 120 });
});

test("the plan that was scrolled last is the last to be forgotten", () => {
  vi.useFakeTimers();
  const saved: Record<string, number>[] = [];
  const keeper = scrollKeeper(scroller, { first: 1, second: 2 }, (scrolls) => saved.push(scrolls));
  keeper.show("first", null);
  frames();
  scrollBy(50);
  vi.advanceTimersByTime(1000);
  expect(Object.keys(saved.at(-1) ?? {})).toEqual(["second", "first"]);
});

test("a plan that waits opens at its cards; drawing it again moves nothing", () => {
  vi.useFakeTimers();
  const keeper = scrollKeeper(scroller, { a: 500 }, () => undefined);
  const cards = document.createElement("section");
  const shown = vi.spyOn(cards, "scrollIntoView");
  keeper.show("a", cards);
  frames();
  scrollBy(20);
  keeper.show("a", null);
  frames();
  expect([shown.mock.calls.length, scroller.scrollTop]).toEqual([1, 20]);
});
