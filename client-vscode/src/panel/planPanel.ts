// The extension's side of the panel: creates its page, checks its messages, and sends it views in batches.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { PanelState, Update } from "../plan/views";
import type { Mend, Template } from "../protocol";
import { plural } from "../words";
import { type FromPanel, type Mode, readFromPanel, type ServerState, type ToPanel } from "./messages";

const VIEW_ID = "planloom.plan";
interface Source {
  readonly state: PanelState;
  readonly server: ServerState;
  readonly mode: Mode;
  /** What a new page needs besides the plans. */
  readonly extras: readonly ToPanel[];
  /** The panel is shown: the server is needed. */
  needed(): Promise<void>;
  perform(message: FromPanel): void;
}

/** What goes into the composer. */
interface Composing {
  text?: string | undefined;
  references?: string[];
  template?: Template | undefined;
}

export class PlanPanel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  /** What goes into the composer once the page is ready; undefined if the composer need not open. */
  private composing: Composing | undefined;
  /** What the page is sent when it is ready: every notice, and of each other kind the latest, in the order in which they came. */
  private readonly later = new Map<string, ToPanel>();
  private updates: Update[] = [];
  private sending = false;
  /** Called when the panel comes into view. */
  onShown: () => void = () => undefined;
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
      if (message === undefined)
        this.log.warn("An unknown message of the panel was ignored:", JSON.stringify(value).slice(0, 200));
      else if (message.kind === "ready") this.onReady();
      else this.source.perform(message);
    });
    // A hidden panel has no page; the next page gets the whole state.
    view.onDidChangeVisibility(() => {
      if (!view.visible) this.ready = false;
      else this.onShown();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.webview.html = page(view.webview, resources);
    this.onShown();
    void this.source.needed();
    this.badge();
  }

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  post(message: ToPanel): void {
    void this.deliver(message);
  }

  /** Send a message now, or once the page is ready. */
  postWhenReady(message: ToPanel): void {
    if (this.ready) this.post(message);
    else {
      const key = message.kind === "notice" ? `notice ${message.message}` : message.kind;
      this.later.delete(key);
      this.later.set(key, message);
    }
  }

  /** Send the whole state: after a reload of the page, or when the state was rebuilt. */
  reset(): void {
    this.updates = [];
    this.post({ kind: "state", state: this.source.state });
    this.badge();
  }

  /** Send a part of a view, or text that belongs to one; the page takes them in the order of these calls. */
  forward(update: Update): void {
    this.updates.push(update);
    void this.send();
  }

  server(): void {
    this.post({ kind: "server", server: this.source.server });
  }

  notice(level: "info" | "warning" | "error", message: string, mends: readonly Mend[] = [], help?: string): void {
    this.postWhenReady({
      kind: "notice",
      level,
      message,
      ...(mends.length === 0 ? {} : { mends: [...mends] }),
      ...(help === undefined ? {} : { help }),
    });
  }

  async reveal(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
  }

  /** Reveal the panel with the steps of the displayed plan as a graph, or as a list if they are drawn. */
  async turnGraph(): Promise<void> {
    await this.reveal();
    this.postWhenReady({ kind: "graph" });
  }

  /** Reveal the panel with the caret in its composer. A text is added to what is written there, references come after it. */
  async compose({ text, template, references = [] }: Composing): Promise<void> {
    const before = this.composing;
    this.composing = {
      text: text ?? before?.text,
      template: template ?? before?.template,
      references: [...(before?.references ?? []), ...references],
    };
    await this.reveal();
    if (this.ready) this.sendComposing();
  }

  dispose(): void {
    this.registration.dispose();
  }

  private onReady(): void {
    this.ready = true;
    // A page that closed may have left a message unanswered.
    this.sending = false;
    this.server();
    this.post({ kind: "mode", mode: this.source.mode });
    this.reset();
    for (const message of this.source.extras) this.post(message);
    for (const message of this.later.values()) this.post(message);
    this.later.clear();
    this.sendComposing();
  }

  private sendComposing(): void {
    if (this.composing === undefined) return;
    this.post({ kind: "compose", ...this.composing });
    this.composing = undefined;
  }

  /**
   * Sends the first update at once, and all that come before the editor has taken it in the next message. So a
   * busy editor gets fewer messages instead of a queue.
   */
  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    while (this.updates.length > 0) {
      const { updates } = this;
      this.updates = [];
      const sent = this.deliver({ kind: "updates", updates });
      this.badge();
      await sent;
    }
    this.sending = false;
  }

  /** Resolves when the editor has taken or dropped the message; a page that comes back gets the whole state. */
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
      (count, { decisions, waits }) => count + (decisions || (waits === undefined ? 0 : 1)),
      0,
    );
    if (this.view === undefined || (this.view.badge?.value ?? 0) === waits) return;
    this.view.badge =
      waits === 0
        ? undefined
        : { value: waits, tooltip: plural(waits, "1 decision waits for you", "{0} decisions wait for you") };
  }
}

/** The page. It loads only its own script and styles, nothing remote and nothing inline. */
function page(webview: vscode.Webview, resources: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64");
  const resource = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(resources, name)).toString();
  const own = webview.cspSource;
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${own}; font-src ${own}; img-src ${own}`;
  // A closing tag in a sentence must not end the block that holds them.
  const words = JSON.stringify(vscode.l10n.bundle ?? {}).replaceAll("<", "\\u003c");
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="viewport" content="width=device-width">
    <link rel="stylesheet" href="${resource("codicon.css")}" id="vscode-codicon-stylesheet">
    <link rel="stylesheet" href="${resource("style.css")}">
    <title>Planloom</title>
  </head>
  <body><div id="root"></div><script type="application/json" id="words">${words}</script><script nonce="${nonce}" src="${resource("main.js")}"></script></body>
</html>`;
}
