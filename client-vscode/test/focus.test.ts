// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { focusedCard, keepFocus } from "../src/webview/focus";

const card = (name: string): string =>
  `<article class="card" id="${name}"><h3>${name}</h3><button>Apply</button></article>`;
let root: HTMLElement;

beforeEach(() => {
  document.body.innerHTML = `<div id="root"><h1>Plan</h1><section class="cards">${card("one")}${card("two")}</section></div>`;
  root = document.querySelector<HTMLElement>("#root")!;
});

/** Answer a card that holds the focus, so that it goes away. */
function answer(name: string): void {
  document.querySelector<HTMLElement>(`#${name} button`)!.focus();
  const before = focusedCard(root);
  document.querySelector(`#${name}`)!.remove();
  keepFocus(root, before);
}

test("after an answer the focus is on the heading of the next card, then on the plan's request", () => {
  answer("one");
  expect(document.activeElement?.textContent).toBe("two");
  answer("two");
  expect(document.activeElement?.textContent).toBe("Plan");
});

test("a focus elsewhere stays where it is", () => {
  const before = focusedCard(root);
  document.querySelector("#one")!.remove();
  keepFocus(root, before);
  expect(document.activeElement).toBe(document.body);
});
