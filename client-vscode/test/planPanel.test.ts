import { expect, test, vi } from "vitest";
import type { LogOutputChannel, Uri, WebviewView } from "vscode";

import type { ToPanel } from "../src/panel/messages";
import { EMPTY, withUpdate } from "../src/plan/views";
import { plan, viewOf as planView, step, stepView } from "./plans";

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

function panelWith(page: ReturnType<typeof viewOf>) {
  const source = {
    state: EMPTY,
    server: { kind: "idle" } as const,
    mode: "auto" as const,
    extras: [],
    needed: () => Promise.resolve(),
    perform: () => undefined,
  };
  const panel = new PlanPanel("" as unknown as Uri, source, {} as LogOutputChannel);
  panel.resolveWebviewView(page.view);
  return panel;
}

test("a page that was not there hears of every notice, and of what happened last of each other kind, once", () => {
  const page = viewOf();
  const { sent, ready } = page;
  const panel = panelWith(page);
  for (let times = 0; times < 3; times++) {
    panel.postWhenReady({ kind: "display" });
    panel.postWhenReady({ kind: "graph" });
  }
  for (const message of ["one", "two", "one"]) panel.notice("error", message);
  panel.postWhenReady({ kind: "display" });
  const later = () =>
    sent.flatMap((each) =>
      each.kind === "notice" ? [each.message] : each.kind === "display" || each.kind === "graph" ? [each.kind] : [],
    );
  ready();
  expect(later()).toEqual(["graph", "two", "one", "display"]);
  ready();
  expect(later()).toEqual(["graph", "two", "one", "display"]);
});

test("what a model says as its step begins is taken after the beginning, however slowly the page takes it", async () => {
  const page = viewOf();
  const panel = panelWith(page);
  page.ready();
  const begun = stepView(step("a", { status: "running", attempts: 1 }), 0);
  panel.forward({ planId: "p1", number: 1, view: planView(plan([step("a")])) });
  panel.forward({ planId: "p1", number: 2, patch: { steps: [begun] } });
  panel.forward({ planId: "p1", stepId: "a", kind: "text", delta: "All is well." });
  await vi.waitFor(() => expect(JSON.stringify(page.sent)).toContain("All is well."));
  const updates = page.sent.flatMap((each) => (each.kind === "updates" ? each.updates : []));
  const shown = updates.reduce((state, each) => withUpdate(state, each).state, EMPTY);
  expect(shown.plans.p1?.words).toEqual({ a: "All is well." });
});
