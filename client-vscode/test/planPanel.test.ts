import { expect, test, vi } from "vitest";
import type { LogOutputChannel, Uri, WebviewView } from "vscode";

import type { ToPanel } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";

const nothing = vi.hoisted(() => ({ dispose: () => undefined }));
vi.mock("vscode", () => ({
  Uri: { joinPath: () => "" },
  env: { language: "en" },
  l10n: { bundle: undefined },
  window: { registerWebviewViewProvider: () => nothing },
}));
const { PlanPanel } = await import("../src/panel/planPanel");

/** A view whose page is not there yet, what it was sent, and its page's message that it is ready. */
function viewOf() {
  const sent: ToPanel[] = [];
  let receive: (message: unknown) => void = () => undefined;
  const view = {
    visible: true,
    webview: {
      asWebviewUri: () => "",
      onDidReceiveMessage: (listener: typeof receive) => {
        receive = listener;
        return nothing;
      },
      postMessage: (message: ToPanel) => Promise.resolve(sent.push(message) > 0),
    },
    onDidChangeVisibility: () => nothing,
    onDidDispose: () => nothing,
  };
  return { view: view as unknown as WebviewView, sent, ready: () => receive({ kind: "ready" }) };
}

test("a page that was not there hears of every notice, and of what happened last of each other kind, once", () => {
  const source = {
    state: EMPTY,
    server: { kind: "idle" } as const,
    mode: "auto" as const,
    extras: [],
    needed: () => Promise.resolve(),
    perform: () => undefined,
  };
  const panel = new PlanPanel("" as unknown as Uri, source, {} as LogOutputChannel);
  const { view, sent, ready } = viewOf();
  panel.resolveWebviewView(view);
  for (let times = 0; times < 3; times++) {
    panel.postWhenReady({ kind: "display" });
    panel.postWhenReady({ kind: "plans", plans: [] });
  }
  for (const message of ["one", "two", "one"]) panel.notice("error", message);
  panel.postWhenReady({ kind: "display" });
  const later = () =>
    sent.flatMap((each) =>
      each.kind === "notice" ? [each.message] : each.kind === "display" || each.kind === "plans" ? [each.kind] : [],
    );
  ready();
  expect(later()).toEqual(["plans", "two", "one", "display"]);
  ready();
  expect(later()).toEqual(["plans", "two", "one", "display"]);
});
