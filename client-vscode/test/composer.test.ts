// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import type { FromPanel, Mode, ServerState, ToPanel } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import { composer, sendWhatWaited } from "../src/webview/composer/composer";
import { type History, recalled, remembered } from "../src/webview/composer/history";
import { nextMode } from "../src/webview/composer/mode";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, kept, taken, type Ui, written } from "../src/webview/uiState";

const RUNNING: ServerState = { kind: "running", model: "m", problems: [], trusted: true, review: "each", reviews: [] };

/** A composer over the pure state, with the messages that it sent. */
function composing(more: Partial<Ui> = {}) {
  const sent: FromPanel[] = [];
  const panel = createPanel(
    { ...freshUi(), server: RUNNING, ...more },
    { post: (message) => void sent.push(message), changed: () => undefined },
  );
  const root = document.createElement("div");
  const write = (text: string) => panel.update((ui) => written(ui, text, 1));
  const draw = () => render(composer(panel, undefined, { write, complete: () => undefined }), root);
  const receive = (message: ToPanel) => {
    panel.update((ui) => taken(ui, message, EMPTY));
    sendWhatWaited(panel);
    draw();
  };
  const key = (init: KeyboardEventInit) => {
    const event = new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init });
    root.querySelector("#request")!.dispatchEvent(event);
    draw();
    return event.defaultPrevented;
  };
  draw();
  return { panel, sent, root, draw, write, receive, key };
}

function verdict(panel: Panel, planned: boolean, ambiguous = false): ToPanel {
  const detection = { planned, rule: "none" as const, score: 1, ambiguous, words: "one small task" };
  return { kind: "detection", requestId: panel.ui.typing, detection, planned };
}

const modes = (sent: readonly FromPanel[]) => sent.flatMap((each) => (each.kind === "create" ? [each.mode] : []));

test("after a paste the key waits for the verdict on the pasted text", () => {
  const at = composing();
  at.write("Fix it");
  at.receive(verdict(at.panel, false));
  expect(at.root.querySelector("#override")?.textContent).toContain("Plan first");
  const late = verdict(at.panel, false);
  at.write("Build a login page and a database for it");
  at.draw();
  expect(at.root.querySelector("#verdict")).toBeNull();
  expect(at.root.querySelector("#override")?.textContent).toContain("The other way");
  at.key({ key: "Enter", altKey: true });
  at.receive(late);
  expect(modes(at.sent)).toEqual([]);
  at.receive(verdict(at.panel, true));
  expect(modes(at.sent)).toEqual(["direct"]);
});

test("typing on takes back what waited for its verdict", () => {
  const at = composing();
  at.write("Fix it");
  at.key({ key: "Enter", altKey: true });
  at.write("Fix it all");
  at.receive(verdict(at.panel, true));
  expect(modes(at.sent)).toEqual([]);
});

test("an unsure verdict says so, and the buttons follow the setting", () => {
  const at = composing();
  at.write("Port it");
  const unsure = verdict(at.panel, false, true);
  at.receive({ ...unsure, planned: true } as ToPanel);
  expect(at.root.querySelector("#verdict")?.textContent?.replaceAll(/\s+/g, " ")).toContain(
    "Will be planned (not sure)",
  );
  expect(at.root.querySelector("#send")?.textContent).toContain("Plan");
  at.key({ key: "Enter", altKey: true });
  expect(modes(at.sent)).toEqual(["direct"]);
});

test.each<[Mode, Mode]>([
  ["plan", "direct"],
  ["direct", "plan"],
  ["perspectives", "direct"],
])("in the mode %s Enter sends by it and Alt+Enter by %s, whatever the rules say", (mode, other) => {
  for (const altKey of [false, true]) {
    const at = composing();
    at.receive({ kind: "mode", mode });
    at.write("Fix it");
    at.key({ key: "Enter", altKey });
    expect(modes(at.sent)).toEqual([altKey ? other : mode]);
  }
});

test("Shift+Tab goes through the modes and the extension keeps the one that is chosen", () => {
  const at = composing();
  const seen: Mode[] = [];
  for (let times = 0; times < 4; times++) {
    expect(at.key({ key: "Tab", shiftKey: true })).toBe(true);
    seen.push(at.panel.ui.mode);
  }
  expect(seen).toEqual(["plan", "direct", "perspectives", "auto"]);
  expect(at.sent).toEqual(seen.map((mode) => ({ kind: "mode", mode })));
  expect(nextMode("perspectives")).toBe("auto");
});

test("the arrow up in an empty composer brings back what was sent, the latest first", () => {
  const at = composing();
  for (const [index, text] of ["first", "second\nline", "first"].entries()) {
    at.write(text);
    at.key({ key: "Enter" });
    at.receive({ kind: "settled", requestId: index + 1, ok: true });
  }
  const area = () => at.root.querySelector<HTMLTextAreaElement>("#request")!;
  at.key({ key: "ArrowUp" });
  expect(at.panel.ui.draft).toBe("first");
  area().setSelectionRange(0, 0);
  at.key({ key: "ArrowUp" });
  expect(at.panel.ui.draft).toBe("second\nline");
  area().setSelectionRange(11, 11);
  expect(at.key({ key: "ArrowUp" })).toBe(false);
  at.key({ key: "ArrowDown" });
  expect(at.panel.ui.draft).toBe("first");
  area().setSelectionRange(5, 5);
  at.key({ key: "ArrowDown" });
  expect(at.panel.ui.draft).toBe("");
  at.write("my own");
  at.draw();
  expect(at.key({ key: "ArrowUp" })).toBe(false);
  // The next page has it too.
  expect(freshUi(JSON.parse(JSON.stringify(kept(at.panel.ui)))).history.sent).toEqual(["second\nline", "first"]);
});

test("the history keeps a bounded number of texts, and none that is blank", () => {
  let history: History = remembered({ sent: [] }, "  ");
  for (let number = 0; number < 60; number++) history = remembered(history, `${number}`);
  expect([history.sent.length, history.sent.at(-1)]).toEqual([50, "59"]);
  expect(recalled({ sent: [] }, "", -1)).toBeUndefined();
  expect(recalled(history, "", 1)).toBeUndefined();
});
