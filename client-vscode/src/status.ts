// The entry in the status bar: the status of the plan, and whether it waits for the user.

import * as vscode from "vscode";

import type { ServerState } from "./panel/messages";
import { PLAN_ICON } from "./plan/signs";
import { currentView, EMPTY, others, type PanelState } from "./plan/views";
import { plural, t } from "./words";

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("planloom.status", vscode.StatusBarAlignment.Left, 10);

  constructor() {
    this.item.name = "Planloom";
    this.item.command = "planloom.ui.focus";
    this.show({ kind: "idle" }, EMPTY);
    this.item.show();
  }

  show(server: ServerState, state: PanelState): void {
    const { text, tooltip, waiting } = describe(server, state);
    if (text === this.item.text && tooltip === this.item.tooltip) return;
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = waiting ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.accessibilityInformation = { label: tooltip };
  }

  dispose(): void {
    this.item.dispose();
  }
}

interface Entry {
  text: string;
  tooltip: string;
  waiting: boolean;
}

/** An entry with an icon and what stands behind the name; the tool tip says `more`. */
function entry(icon: string, words: string, more: string, waiting = false): Entry {
  return { text: `$(${icon}) Planloom${words}`, tooltip: `Planloom${more}`, waiting };
}

function describe(server: ServerState, state: PanelState): Entry {
  if (server.kind === "idle") return entry("checklist", "", `: ${t("its server starts when it is needed")}`);
  if (server.kind === "starting") return entry("loading~spin", "", `: ${server.detail}`);
  if (server.kind !== "running") return entry("error", "", `: ${server.detail}`, true);
  const view = currentView(state);
  const waiting = others(state).filter(({ waits }) => waits !== undefined);
  const elsewhere =
    waiting.length === 0 ? "" : plural(waiting.length, "another plan waits for you", "{0} other plans wait for you");
  if (view === undefined)
    return elsewhere === ""
      ? entry("checklist", "", `: ${t("no plan yet. Model: {0}", server.model)}`)
      : entry("bell-dot", `: ${elsewhere}`, `: ${elsewhere}`, true);
  const { completed, total } = view.progress;
  const count = total === 0 ? "" : ` ${completed}/${total}`;
  const { waits, sign } = view;
  if (waits !== undefined)
    return entry("bell-dot", `${count} ${waits}`, ` ${waits}${elsewhere === "" ? "" : `; ${elsewhere}`}`, true);
  if (elsewhere !== "") return entry("bell-dot", `${count}, ${elsewhere}`, `: ${elsewhere}`, true);
  const icon = PLAN_ICON[sign];
  const stalled = sign === "stalled" ? ` ${view.state}` : "";
  return entry(icon === "loading" ? "loading~spin" : icon, count + stalled, `: ${view.state}`);
}
