// The side panel's host side: its page, the checked message channel, and batches that keep the page up to date.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { type FromPanel, readFromPanel, type ServerState, type ToPanel } from "./messages";
import { attention, type PanelState } from "./planState";
import type { Event, StreamParams } from "./protocol";
import { waitingFor } from "./waiting";

export const VIEW_ID = "planloom.plan";
export interface Source {
  readonly state: PanelState;
  readonly server: ServerState;
  perform(message: FromPanel): void;
}

export class PlanPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  /** What waits to be brought into the composer, and whether the composer is to be opened at all. */
  private composing: { text?: string } | undefined;
  private events: Event[] = [];
  private deltas: StreamParams[] = [];
  private sending = false;
  private readonly registration = vscode.window.registerWebviewViewProvider(VIEW_ID, this);

  constructor(
    private readonly extension: vscode.Uri,
    private readonly source: Source,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const resources = vscode.Uri.joinPath(this.extension, "out", "webview");
    view.webview.options = { enableScripts: true, localResourceRoots: [resources] };
    view.webview.onDidReceiveMessage((value: unknown) => {
      const message = readFromPanel(value);
      if (message === undefined) this.log.warn("The panel sent something that is no message of ours; it was ignored.");
      else if (message.kind === "ready") this.onReady();
      else this.source.perform(message);
    });
    // A hidden panel has no page: what is said meanwhile waits for the next one.
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.ready = false;
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.webview.html = page(view.webview, resources);
    this.badge();
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  post(message: ToPanel): void {
    void this.deliver(message);
  }

  /** Send everything anew: after a reload of the page, or when the state was rebuilt. */
  reset(): void {
    [this.events, this.deltas] = [[], []];
    this.post({ kind: "state", state: this.source.state });
    this.badge();
  }

  forward(event: Event): void {
    this.events.push(event);
    void this.send();
  }

  stream(delta: StreamParams): void {
    this.deltas.push(delta);
    void this.send();
  }

  server(): void {
    this.post({ kind: "server", server: this.source.server });
  }

  notice(level: "info" | "warning" | "error", message: string, hint?: string): void {
    this.post({ kind: "notice", level, message, ...(hint === undefined ? {} : { hint }) });
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
  }

  /** Bring the panel forward with the caret in its composer; text, if given, comes beside what is written there. */
  async compose(text: string | undefined): Promise<void> {
    this.composing = { ...this.composing, ...(text === undefined ? {} : { text }) };
    await this.reveal();
    if (this.ready) this.sendComposing();
  }

  dispose(): void {
    this.registration.dispose();
  }

  private onReady(): void {
    this.ready = true;
    // A page that went away may have left a message untaken.
    this.sending = false;
    this.server();
    this.reset();
    this.sendComposing();
  }

  private sendComposing(): void {
    if (this.composing === undefined) return;
    this.post({ kind: "compose", ...this.composing });
    this.composing = undefined;
  }

  /**
   * The first event goes at once; what comes until the editor has taken it goes together in the next message. A busy
   * editor so gets fewer messages, never a queue of them.
   */
  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    while (this.events.length > 0 || this.deltas.length > 0) {
      const [events, deltas] = [this.events, this.deltas];
      [this.events, this.deltas] = [[], []];
      const sent = [
        events.length > 0 ? this.deliver({ kind: "events", events }) : undefined,
        deltas.length > 0 ? this.deliver({ kind: "streams", deltas }) : undefined,
      ];
      this.badge();
      await Promise.all(sent);
    }
    this.sending = false;
  }

  /** Resolves when the editor has taken the message, or dropped it: a page that comes back is sent everything anew. */
  private async deliver(message: ToPanel): Promise<void> {
    if (!this.ready || this.view === undefined) return;
    try {
      await this.view.webview.postMessage(message);
    } catch (error) {
      this.log.warn(`The panel did not take a message: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private badge(): void {
    const waits = Object.values(this.source.state.plans).reduce(
      (count, view) => count + (attention(view.plan) || (waitingFor(view) === undefined ? 0 : 1)),
      0,
    );
    if (this.view === undefined || (this.view.badge?.value ?? 0) === waits) return;
    this.view.badge = waits === 0 ? undefined : { value: waits, tooltip: `${waits} waiting for you` };
  }
}

/** The page: its own script and styles alone, nothing remote, nothing inline. */
function page(webview: vscode.Webview, resources: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64");
  const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(resources, name)).toString();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; font-src ${webview.cspSource}; img-src ${webview.cspSource}`;
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="viewport" content="width=device-width">
    <link rel="stylesheet" href="${at("codicon.css")}" id="vscode-codicon-stylesheet">
    <link rel="stylesheet" href="${at("style.css")}">
    <title>Planloom</title>
  </head>
  <body><div id="root"></div><script nonce="${nonce}" src="${at("main.js")}"></script></body>
</html>`;
}
