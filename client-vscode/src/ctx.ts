// Owns the state of this window: the server's client, the plans, and the views that show them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

import { Client, errorData, type Params, type Result } from "./connection/client";
import { hasModels } from "./connection/languageModel";
import { serverCommand } from "./connection/serverCommand";
import { userValues } from "./connection/settings";
import { Diffs } from "./diffs";
import { Keys } from "./models/keys";
import { explanation, mendLabel } from "./models/mends";
import { type KeptKey, keysToSend } from "./models/modelChoice";
import { notifier } from "./notifications";
import type { FromPanel, Mode, ServerState, ToPanel } from "./panel/messages";
import { PlanPanel } from "./panel/planPanel";
import { Attention } from "./plan/attention";
import {
  currentView,
  EMPTY,
  offers,
  type PanelState,
  type PlanView,
  select,
  type Update,
  withoutPlan,
  withUpdate,
  withView,
} from "./plan/views";
import type { Event, Mend, Requests, Review } from "./protocol";
import { requestMode } from "./requestMode";
import { Judgements } from "./review/judgements";
import { Marks } from "./review/marks";
import { Merges } from "./review/merges";
import { Proposals } from "./review/proposals";
import { Unopened } from "./review/unopened";
import { Unsaved } from "./review/unsaved";
import { Walk } from "./review/walk";
import { StatusItem } from "./status";
import { linkless, t } from "./words";

type Create = Extract<FromPanel, { kind: "create" }>;

const CURRENT_KEY = "planloom.currentPlan";
/** Whether a plan has not ended: then the next window starts the server by itself. */
const LIVE_KEY = "planloom.hasLivePlan";
/** Statuses of a plan that has not ended. */
const LIVE = ["draft", "pending_approval", "approved", "executing", "paused"] as const;
/** How many of the newest plans that have not ended are restored at a start. */
const RESTORED = 20;

export class Ctx implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel("Planloom", { log: true });
  readonly proposals = new Proposals(
    (approvalId, uri, edit) => this.request("planloom/approval/preview", { approvalId, uri, edit }),
    (shown) => this.panel.post({ kind: "proposal", ...shown }),
  );
  readonly diffs = new Diffs(
    (approvalId, uri) => this.request("planloom/approval/diff", { approvalId, uri }),
    (planId, uri) => this.request("planloom/plan/diff", { planId, uri }),
    (file) => this.panel.post({ kind: "seen", ...file }),
    this.proposals,
  );
  readonly merges = new Merges(
    (editId, uri) => this.request("planloom/conflict/texts", { editId, uri }),
    (merged) => {
      if (this.panel.isVisible) this.panel.post({ kind: "merged", ...merged });
      else void this.panel.reveal();
    },
  );
  private readonly marks = new Marks();
  readonly walk = new Walk(
    this.diffs,
    () => this.marks.isApplying,
    () => this.panel.reveal(),
  );
  private readonly judgements = new Judgements();
  private readonly unopened = new Unopened();
  private readonly unsaved = new Unsaved((uris) => this.panel.post({ kind: "unsaved", uris: [...uris] }));
  readonly panel: PlanPanel;
  readonly keys: Keys;
  state: PanelState = EMPTY;
  server: ServerState = { kind: "idle" };
  /** What the user has last added of a terminal, to which `@terminal` refers. */
  terminalText: string | undefined;
  /** The reviews that the user chose for plans in the panel, for the commands that start a plan. */
  readonly reviews = new Map<string, Review>();
  /** Every event of a plan, in its order. */
  readonly happened = new vscode.EventEmitter<Event>();
  private readonly status = new StatusItem();
  private readonly attention: Attention;
  private readonly contexts = new Map<string, string | boolean>();
  /** The plans whose whole views are being asked for. */
  private readonly loading = new Map<string, Promise<void>>();
  private client: Client | undefined;
  private starting: Promise<void> | undefined;
  /** The request that waits for the choice of a model. */
  held: Create | undefined;

  constructor(
    readonly extension: vscode.ExtensionContext,
    private readonly act: (ctx: Ctx, message: FromPanel) => Promise<void>,
  ) {
    this.keys = new Keys(extension.secrets);
    this.panel = new PlanPanel(extension.extensionUri, this, this.log);
    this.attention = new Attention(notifier(() => this.panel.isVisible));
    this.panel.onShown = () => this.attention.seen();
  }

  /** Start the server, or restart it if it runs. */
  start(): Promise<void> {
    this.starting ??= this.startNow().finally(() => (this.starting = undefined));
    return this.starting;
  }

  /** Start the server if nothing has needed it yet. It is not restarted here: a person is asked about that. */
  async needed(): Promise<void> {
    if (this.server.kind === "idle" || this.starting !== undefined) await this.start();
  }

  /** Whether a plan of this workspace had not ended when this window, or the one before, last heard of it. */
  get hasLivePlan(): boolean {
    return this.extension.workspaceState.get<boolean>(LIVE_KEY) ?? false;
  }

  /** How new requests are sent. */
  get mode(): Mode {
    return requestMode(this.extension);
  }

  /** What a new page of the panel needs besides the plans. */
  get extras(): readonly ToPanel[] {
    const merged = this.merges.merged().map((each) => ({ kind: "merged" as const, ...each }));
    const seen = this.diffs.seen.map((each) => ({ kind: "seen" as const, ...each }));
    return [...merged, ...seen, { kind: "unsaved", uris: [...this.unsaved.uris()] }];
  }

  get isRunning(): boolean {
    return this.client?.isRunning ?? false;
  }

  /** Send a request. Throws the server's error, or an error if the server does not run. */
  async request<M extends keyof Requests>(method: M, params: Params<M>): Promise<Result<M>> {
    // The start itself sends requests once there is a client; they must not wait for the start.
    if (this.client === undefined) await this.needed();
    if (this.client === undefined || !this.client.isRunning)
      throw new Error(t("The Planloom server is not running. Restart it from the panel."));
    return this.client.request(method, params);
  }

  /** Send a request; if it fails, show the error and return undefined. */
  async ask<M extends keyof Requests>(method: M, params: Params<M>): Promise<Result<M> | undefined> {
    try {
      return await this.request(method, params);
    } catch (error) {
      this.refused(method, error, planOf(params));
      return undefined;
    }
  }

  /** What the server offers for a range of a document; nothing if it does not run. */
  async codeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
  ): Promise<(vscode.Command | vscode.CodeAction)[]> {
    return (await this.client?.codeActions(document, range, context)) ?? [];
  }

  current(): PlanView | undefined {
    return currentView(this.state);
  }

  /** Display a plan; one that is not known yet is read from the ledger. */
  async show(planId: string): Promise<void> {
    if (this.state.plans[planId] === undefined) await this.load(planId);
    this.state = select(this.state, this.state.plans[planId] === undefined ? this.state.current : planId);
    this.panel.reset();
    this.panel.postWhenReady({ kind: "display" });
    this.changed();
  }

  /** Forget a plan that was deleted. */
  forget(planId: string): void {
    this.state = withoutPlan(this.state, planId);
    this.panel.reset();
    this.changed();
  }

  notify(level: "info" | "warning" | "error", message: string, mends: readonly Mend[] = [], help?: string): void {
    this.log[level === "warning" ? "warn" : level](message);
    if (this.panel.isVisible) {
      this.panel.notice(level, message, mends, help);
      return;
    }
    const show = {
      info: vscode.window.showInformationMessage,
      warning: vscode.window.showWarningMessage,
      error: vscode.window.showErrorMessage,
    }[level];
    const more = help === undefined ? "" : ` [${t("Learn More")}](${help})`;
    void show(`${linkless(message)}${more}`, ...mends.map(mendLabel)).then((choice) => {
      const mend = mends.find((each) => mendLabel(each) === choice);
      if (mend !== undefined) this.perform({ kind: "mend", mend });
    });
  }

  perform(message: FromPanel): void {
    void this.act(this, message).catch((error: unknown) => this.refused(message.kind, error));
  }

  /** Send the settings of the model, then the keys that belong to them. */
  async sendModelSettings(): Promise<void> {
    await this.client?.sendSettings();
    await this.sendKeys();
    this.refreshStatus();
  }

  /** Remove a key from the storage and, if it is in use, from the server. */
  async forgetKey(key: KeptKey): Promise<void> {
    const [inUse] = keysToSend([key], modelAddress());
    await this.keys.remove(key);
    if (inUse !== undefined) await this.ask("planloom/secret/set", { provider: key.provider, value: null });
    this.refreshStatus();
  }

  async stop(): Promise<void> {
    await this.client?.stop();
  }

  dispose(): void {
    this.client?.dispose();
    this.attention.seen();
    for (const each of [
      this.panel,
      this.diffs,
      this.proposals,
      this.merges,
      this.marks,
      this.walk,
      this.judgements,
      this.unsaved,
      this.status,
      this.happened,
      this.log,
    ])
      each.dispose();
  }

  private async startNow(): Promise<void> {
    const began = performance.now();
    this.setServer({ kind: "starting", detail: t("Starting the server…") });
    await this.client?.stop().catch(() => undefined);
    this.client = undefined;
    const cwd = join(this.extension.globalStorageUri.fsPath, "server");
    mkdirSync(cwd, { recursive: true });
    const found = await serverCommand(this.extension, cwd);
    if (found.command === undefined) {
      this.setServer(found.server);
      if (found.wanted !== undefined) this.offerPython(found.wanted);
      return;
    }
    const { command } = found;
    /** Why a server that has stopped stays so. */
    let ended: string | undefined;
    this.log.info(`Server: ${command.command} ${command.args.join(" ")}`);
    try {
      this.client = await Client.start(command, cwd, this.log, this.keys.masking(this.log), {
        event: (event) => this.receive(event),
        health: () => this.refreshStatus(),
        view: (message) => this.receiveUpdate(message),
        stream: (delta) => this.receiveUpdate(delta),
        running: () => void this.refresh().catch((error: unknown) => this.log.error(String(error))),
        stopped: () => {
          this.setServer({
            kind: "stopped",
            detail: ended ?? t("The server has stopped and is being restarted."),
          });
          this.panel.reset();
        },
        gaveUp: () => {
          ended = t("The server has stopped five times within three minutes. Its log may say why.");
          if (!this.panel.isVisible) this.notify("error", ended);
        },
        planRequested: (text) => {
          void this.panel.reveal();
          this.perform({ kind: "create", text, mode: "plan" });
        },
        settingsSent: () => this.sendKeysSoon(),
        editing: (uris, apply) => {
          this.unopened.note(uris);
          return this.marks.during(apply);
        },
      });
      this.log.info(`Server ready after ${Math.round(performance.now() - began)} ms`);
      await this.refresh();
    } catch (error) {
      // The server has started once its status was read: a later error, such as that of the list of plans, is only reported.
      if (this.server.kind === "running") this.refused("start", error);
      else
        this.setServer({
          kind: "stopped",
          detail: t("The server could not be started: {0}", errorData(error).message),
        });
    }
  }

  /** Offer ways to a Python that fits. */
  private offerPython(wanted: string): void {
    const [choose, look] = [t("Choose a Python…"), t("Look Again")];
    void vscode.window.showErrorMessage(wanted, choose, look).then((choice) => {
      if (choice === choose) this.perform({ kind: "show", what: "python" });
      if (choice === look) void this.start();
    });
  }

  /** After a start or a restart: read the server's status and the events that were missed. */
  private async refresh(): Promise<void> {
    if (!this.isRunning) return;
    await this.sendKeys();
    await this.readStatus();
    const kept = this.extension.workspaceState.get<string>(CURRENT_KEY);
    const { plans } = await this.request("planloom/plan/list", { status: [...LIVE], limit: RESTORED });
    const known = Object.values(this.state.plans)
      .filter((view) => view.live)
      .map((view) => view.plan.planId);
    const live = plans.map((plan) => plan.planId);
    for (const planId of new Set([...known, ...live])) {
      await this.load(planId).catch((error: unknown) =>
        this.log.error(`The plan ${planId} could not be read: ${errorData(error).message}`),
      );
    }
    // The plan that was displayed before is displayed again; the others are listed under the composer. An editor that
    // ends at once may not have stored which one it was: then a single plan can only be that.
    const [only] = live.length === 1 ? live : [];
    const displayed = kept !== undefined && live.includes(kept) ? kept : only;
    if (this.state.current === undefined && displayed !== undefined) this.state = select(this.state, displayed);
    const views = Object.values(this.state.plans);
    void this.diffs.keepOnly(views.flatMap(({ approvals }) => approvals?.map(({ approvalId }) => approvalId) ?? []));
    this.panel.reset();
    this.changed();
  }

  private sendKeysSoon(): void {
    void this.sendKeys().finally(() => this.refreshStatus());
  }

  /**
   * Send the keys that belong to the settings that the server has. If those change meanwhile, it stops: they are sent
   * anew with the new settings. If the server refuses a key, the next use of a model reports that it is missing.
   */
  private async sendKeys(): Promise<void> {
    const keys = await this.keys.all();
    const before = modelAddress();
    for (const { provider, value } of keysToSend(keys, before)) {
      const now = modelAddress();
      if (now.provider !== before.provider || now.baseUrl !== before.baseUrl) return;
      await this.request("planloom/secret/set", { provider, value }).catch((error: unknown) =>
        this.log.warn(`A key was not sent: ${errorData(error).code}`),
      );
    }
  }

  /** Read the server's status and show it in the panel; again whenever a plan has ended or a setting has changed. */
  private async readStatus(): Promise<Result<"planloom/status">> {
    const status = await this.request("planloom/status", {});
    const needsModel = await this.needsModel(status.model.provider).catch((error: unknown) => {
      this.log.warn(`The models could not be listed: ${errorData(error).message}`);
      return undefined;
    });
    if (needsModel === undefined) this.held = undefined;
    this.setServer({
      kind: "running",
      model: needsModel === undefined ? status.modelWords : t("No model"),
      problems: [...status.problems],
      trusted: status.trusted,
      ...(status.workspaceFolders?.length === 0 ? { noFolder: true } : {}),
      review: status.review,
      reviews: [...status.reviews],
      ...(needsModel === undefined ? {} : { needsModel }),
    });
    return status;
  }

  /** What the panel can offer if no model is set up; undefined if one is, or the user goes on without. Asks no server. */
  private async needsModel(active: string): Promise<{ editor: boolean; held: boolean } | undefined> {
    if ((active !== "auto" && active !== "embedded") || modelAddress().provider === "embedded") return undefined;
    if (active === "auto") {
      const { models } = await this.request("planloom/model/list", {});
      if (models.some((model) => model.provider !== "embedded")) return undefined;
    }
    return { editor: await hasModels(), held: this.held !== undefined };
  }

  private receive(event: Event): void {
    if (event.type === "approval_resolved") void this.diffs.forget(event.approvalId, !this.walk.isInEditor);
    if (event.type === "conflict_resolved") void this.merges.forget(event.editId);
    if (event.type === "edit_applied" || event.type === "edit_reverted")
      void this.unopened.settle(event.files.map((file) => file.newUri ?? file.uri));
    if (event.type === "plan_ready" || event.type === "plan_completed" || event.type === "plan_failed")
      this.refreshStatus();
    // What a model writes after a call is another paragraph than what it wrote before.
    if (event.type === "tool_started" && this.state.plans[event.planId]?.words[event.taskId] !== undefined)
      this.receiveUpdate({ planId: event.planId, stepId: event.taskId, kind: "text", delta: "\n\n" });
    this.happened.fire(event);
  }

  private receiveUpdate(update: Update): void {
    const { state, gap } = withUpdate(this.state, update);
    if (gap !== undefined) void this.reload(gap);
    if (state === this.state) return;
    this.state = state;
    this.panel.forward(update);
    // Nothing but the panel shows text that streams in.
    if (!("delta" in update)) this.changed();
  }

  /** Hold a request until a model is set up, or none is wanted; show that in the panel. */
  async hold(request: Create): Promise<void> {
    this.held = request;
    await this.readStatus();
  }

  /** A model is set up, or none is wanted: send what was held, and bring the user back to where it was written. */
  async goOn(held: Create | undefined): Promise<void> {
    if (held !== undefined || this.panel.isVisible) await this.panel.compose({});
    if (held === undefined) return;
    this.panel.post({ kind: "sent", text: held.text });
    this.perform({ ...held, requestId: undefined });
  }

  refreshStatus(): void {
    void this.readStatus().catch((error: unknown) =>
      this.log.warn(`The server's status could not be read: ${errorData(error).message}`),
    );
  }

  /** Ask for the whole view of a plan, from which on its patches follow. */
  private load(planId: string): Promise<void> {
    const running = this.loading.get(planId);
    if (running !== undefined) return running;
    const loading = this.request("planloom/plan/view", { planId })
      .then(({ number, view }) => {
        this.state = withView(this.state, number, view);
      })
      .finally(() => this.loading.delete(planId));
    this.loading.set(planId, loading);
    return loading;
  }

  /** Ask for the whole view of a plan, of which a patch was missed, and show it. */
  private async reload(planId: string): Promise<void> {
    try {
      await this.load(planId);
    } catch (error) {
      this.log.error(`The view of ${planId} could not be read: ${errorData(error).message}`);
      return;
    }
    if (this.state.current === undefined) this.state = select(this.state, planId);
    this.panel.reset();
    this.changed();
  }

  /** Show an error. A plan that has changed meanwhile is read anew: the one of the request, else the displayed one. */
  private refused(what: string, error: unknown, planId = this.state.current): void {
    const failure = errorData(error);
    const { code, explained = { words: failure.message, mends: [], help: undefined } } = failure;
    this.log.warn(`${what}: ${code}: ${failure.message}`);
    // What was asked for is asked again by the same button or key; only a test has none of its own.
    const offered = explained.mends.filter((mend) => mend !== "again" || what === "planloom/model/test");
    this.notify(
      code === "stale_version" || code === "wrong_state" ? "warning" : "error",
      explanation(explained),
      offered,
      explained.help,
    );
    if ((code === "stale_version" || code === "wrong_state") && planId !== undefined) void this.reload(planId);
  }

  private setServer(server: ServerState): void {
    this.server = server;
    this.panel.server();
    this.changed();
  }

  /** Each call goes to another process of the editor, so only changes are sent. */
  private setContext(name: string, value: string | boolean): void {
    if (this.contexts.get(name) === value) return;
    this.contexts.set(name, value);
    void vscode.commands.executeCommand("setContext", `planloom.${name}`, value);
  }

  private changed(): void {
    const view = this.current();
    this.status.show(this.server, this.state);
    this.attention.look(this.state);
    this.judgements.look(this.state);
    this.walk.look(this.state);
    this.setContext("status", view?.plan.status ?? "");
    this.setContext("live", view?.live === true);
    this.setContext("hasModel", this.server.kind === "running" && this.server.needsModel === undefined);
    this.setContext("planned", Object.keys(this.state.plans).length > 0);
    this.setContext("undoable", view !== undefined && offers(view, "planloom.undo"));
    if (this.state.current !== undefined && this.extension.workspaceState.get(CURRENT_KEY) !== this.state.current)
      void this.extension.workspaceState.update(CURRENT_KEY, this.state.current);
    // Before the server has reported its plans, nothing is known of them.
    const isLiveNow = Object.values(this.state.plans).some(({ live }) => live);
    if (this.server.kind === "running" && this.hasLivePlan !== isLiveNow)
      void this.extension.workspaceState.update(LIVE_KEY, isLiveNow);
  }
}

/** The plan that a request is about. */
function planOf(params: object): string | undefined {
  return "planId" in params && typeof params.planId === "string" ? params.planId : undefined;
}

/** The user's provider and address; `baseUrl` is undefined where it is not set in the editor. */
function modelAddress(): { provider: string; baseUrl: string | undefined } {
  const values = userValues();
  const [provider, baseUrl] = [values["model.provider"], values["model.baseUrl"]];
  return {
    provider: typeof provider === "string" ? provider : "auto",
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
  };
}
