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

function describe(server: ServerState, state: PanelState): { text: string; tooltip: string; waiting: boolean } {
  if (server.kind === "idle") {
    const tooltip = t("Planloom: its server starts when it is needed");
    return { text: "$(checklist) Planloom", tooltip, waiting: false };
  }
  if (server.kind === "starting")
    return { text: "$(loading~spin) Planloom", tooltip: `Planloom: ${server.detail}`, waiting: false };
  if (server.kind !== "running")
    return { text: "$(error) Planloom", tooltip: `Planloom: ${server.detail}`, waiting: true };
  const view = currentView(state);
  const waiting = others(state).filter(({ waits }) => waits !== undefined);
  const elsewhere =
    waiting.length === 0 ? "" : plural(waiting.length, "another plan waits for you", "{0} other plans wait for you");
  if (view === undefined) {
    if (elsewhere !== "")
      return { text: `$(bell-dot) Planloom: ${elsewhere}`, tooltip: `Planloom: ${elsewhere}`, waiting: true };
    return {
      text: "$(checklist) Planloom",
      tooltip: t("Planloom: no plan yet. Model: {0}", server.model),
      waiting: false,
    };
  }
  const { completed, total } = view.progress;
  const count = total === 0 ? "" : ` ${completed}/${total}`;
  const { waits, sign } = view;
  if (waits !== undefined)
    return {
      text: `$(bell-dot) Planloom${count} ${waits}`,
      tooltip: `Planloom ${waits}${elsewhere === "" ? "" : `; ${elsewhere}`}`,
      waiting: true,
    };
  if (elsewhere !== "")
    return { text: `$(bell-dot) Planloom${count}, ${elsewhere}`, tooltip: `Planloom: ${elsewhere}`, waiting: true };
  const icon = PLAN_ICON[sign];
  return {
    text: `$(${icon === "loading" ? "loading~spin" : icon}) Planloom${count}${sign === "stalled" ? ` ${view.state}` : ""}`,
    tooltip: `Planloom: ${view.state}`,
    waiting: false,
  };
}
