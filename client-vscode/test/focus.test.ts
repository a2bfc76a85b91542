// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { focused, keepFocus } from "../src/webview/focus";

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
  const before = focused(root);
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
  const before = focused(root);
  document.querySelector("#one")!.remove();
  keepFocus(root, before);
  expect(document.activeElement).toBe(document.body);
});

test("a step that was removed or saved gives the focus to the row in its place, a button of the head to the request", () => {
  const row = (name: string): string => `<li><div class="step-row" tabindex="-1" id="${name}">${name}</div></li>`;
  root.innerHTML = `<h1>Plan</h1><button id="start">Start</button><ol class="steps">${row("a")}${row("b")}<li><input id="form"></li></ol>`;
  const lose = (name: string, inPlace = "") => {
    const element = document.querySelector<HTMLElement>(`#${name}`)!;
    element.focus();
    const before = focused(root);
    const holder = element.closest("li") ?? element;
    holder.outerHTML = inPlace;
    keepFocus(root, before);
    return document.activeElement?.textContent;
  };
  expect(lose("form", row("new"))).toBe("new");
  expect(lose("b")).toBe("new");
  expect(lose("new")).toBe("a");
  expect(lose("start")).toBe("Plan");
});
