// Starts the language server; types its requests and notifications, and answers what it requests of the editor.

import * as v from "valibot";
import * as vscode from "vscode";
import {
  type ApplyWorkspaceEditResult,
  CloseAction,
  CodeActionRequest,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
  RevealOutputChannelOn,
  type ServerOptions,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";
import type { Failure } from "../models/mends";
import { isEvent } from "../panel/messages";
import type {
  EditorRequests,
  Event,
  Notifications,
  Requests,
  ServerNotifications,
  StreamParams,
  ViewParams,
} from "../protocol";
import { OtherTools, openDocument, saveFiles } from "./editor";
import { OtherLanguages } from "./language";
import { answerWithModel, hasModels } from "./languageModel";
import { type Command, environment } from "./python";
import { Restarts } from "./restarts";
import { defaults, sharedValues, userValues, type Values } from "./settings";
import { editedFiles, inParts, withContents, withReason } from "./workspaceEdit";
import { createFolder, exists, fileSchemes, listFolder, readFile } from "./workspaceFiles";

export type Params<M extends keyof Requests> = Requests[M]["params"];
export type Result<M extends keyof Requests> = Requests[M]["result"];

/** The code of an error that is not the server's. */
const OF_THE_EXTENSION = "extension";

interface Listeners {
  event(event: Event): void;
  stream(delta: StreamParams): void;
  health(): void;
  view(message: ViewParams): void;
  running(): void;
  stopped(): void;
  /** The server ends again and again, and is not started any more. */
  gaveUp(): void;
  planRequested(text: string): void;
  settingsSent(): void;
  /** The server edits these files: `apply` makes the edit. */
  editing<R>(uris: readonly string[], apply: () => PromiseLike<R>): Promise<R>;
}

export class Client implements vscode.Disposable {
  private constructor(
    readonly language: LanguageClient,
    private readonly owned: readonly vscode.Disposable[],
  ) {}

  /** Start `command` in `cwd`; resolves when the server has answered `initialize`. */
  static async start(
    command: Command,
    cwd: string,
    log: vscode.LogOutputChannel,
    trace: vscode.LogOutputChannel,
    listeners: Listeners,
  ): Promise<Client> {
    const server: ServerOptions = {
      command: command.command,
      args: [...command.args],
      // The options of `initialize` are the user's: `userValues` leaves out what a folder sets.
      options: { cwd, env: { ...environment(process.env), PLANLOOM_OPTIONS: "user" } },
    };
    const language = new LanguageClient("planloom", "Planloom", server, {
      ...(await options(log, listeners)),
      traceOutputChannel: trace,
    });
    language.registerFeature(SHOWN_ITSELF);
    const others = new OtherTools();
    const languages = new OtherLanguages();
    const on = <M extends keyof ServerNotifications>(
      method: M,
      listener: (params: ServerNotifications[M]) => void,
    ): vscode.Disposable => language.onNotification(method, listener);
    const answer = <M extends keyof EditorRequests>(
      method: M,
      reply: (
        params: EditorRequests[M]["params"],
        token: vscode.CancellationToken,
      ) => Promise<EditorRequests[M]["result"]>,
    ): vscode.Disposable => language.onRequest(method, reply);
    const owned = [
      others,
      language.onDidChangeState(({ newState }) =>
        newState === State.Running ? listeners.running() : newState === State.Stopped ? listeners.stopped() : undefined,
      ),
      on("planloom/event", (event) => {
        if (isEvent(event)) listeners.event(event);
        else log.warn(`An event with missing fields was ignored: ${JSON.stringify(event).slice(0, 200)}`);
      }),
      on("planloom/plan/view", listeners.view),
      on("planloom/stream", listeners.stream),
      on("planloom/health", listeners.health),
      answer("planloom/editor/diagnostics", ({ uris }) => others.answer(language, uris)),
      answer("planloom/editor/language", (params, token) => languages.answer(params, language, token)),
      answer("planloom/editor/save", ({ uris }) => saveFiles(uris)),
      answer("planloom/editor/createFolder", ({ uri }) => createFolder(uri)),
      answer("planloom/editor/files", ({ uri }) => listFolder(uri)),
      answer("planloom/editor/read", ({ uri }) => readFile(uri)),
      answer("planloom/editor/complete", answerWithModel),
      vscode.workspace.onDidGrantWorkspaceTrust(
        () => void notify(language, "planloom/workspace/trust", { trusted: true }).then(listeners.health),
      ),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("planloom") && language.isRunning())
          void sendSettings(language).then(listeners.settingsSent, (error: unknown) =>
            log.warn(`The server did not accept the settings: ${errorData(error).message}`),
          );
      }),
    ];
    const client = new Client(language, owned);
    try {
      await language.start();
    } catch (error) {
      client.dispose();
      throw error;
    }
    return client;
  }

  request<M extends keyof Requests>(method: M, params: Params<M>): Promise<Result<M>> {
    return this.language.sendRequest<Result<M>>(method, params);
  }

  /** What the server offers for a range of a document, for who asked before the server ran. */
  async codeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    context: vscode.CodeActionContext,
  ): Promise<(vscode.Command | vscode.CodeAction)[]> {
    const { code2ProtocolConverter: asks, protocol2CodeConverter: answers } = this.language;
    const found = await this.language.sendRequest(CodeActionRequest.type, {
      textDocument: asks.asTextDocumentIdentifier(document),
      range: asks.asRange(range),
      context: await asks.asCodeActionContext(context),
    });
    return answers.asCodeActionResult(found ?? []);
  }

  /** Send the settings as they are in this moment. */
  sendSettings(): Promise<void> {
    return sendSettings(this.language);
  }

  get isRunning(): boolean {
    return this.language.isRunning();
  }

  async stop(): Promise<void> {
    this.owned.forEach((each) => void each.dispose());
    if (this.language.needsStop()) await this.language.stop();
  }

  dispose(): void {
    void this.stop().catch(() => undefined);
  }
}

/**
 * What the extension shows itself. Changes are confirmed in the panel: the editor's own confirmation would ask a second
 * time, in a preview where nothing is ticked. The status bar has one entry for all plans: the editor's own progress would
 * be another, which spins beside it while a plan waits for a person.
 */
const SHOWN_ITSELF: StaticFeature = {
  fillClientCapabilities(capabilities) {
    delete capabilities.workspace?.workspaceEdit?.changeAnnotationSupport;
    delete capabilities.window?.workDoneProgress;
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

const failure = v.looseObject({ code: v.string(), message: v.string() });

/** The code, message and words of whatever was thrown. */
export function errorData(error: unknown): Failure {
  const data: unknown = typeof error === "object" && error !== null && "data" in error ? error.data : undefined;
  if (v.is(failure, data)) return data;
  return { code: OF_THE_EXTENSION, message: error instanceof Error ? error.message : String(error) };
}

/** Restarts the server as the library does, but says what happens in the panel instead of in messages of the library. */
function errorHandler(listeners: Listeners): ErrorHandler {
  const restarts = new Restarts();
  return {
    error: (_error, _message, count = 0) => ({
      action: count <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
      handled: true,
    }),
    closed: () => {
      const again = restarts.isAllowed(Date.now());
      if (!again) listeners.gaveUp();
      return { action: again ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
    },
  };
}

async function options(log: vscode.LogOutputChannel, listeners: Listeners): Promise<LanguageClientOptions> {
  const languageModel = await hasModels();
  return {
    documentSelector: fileSchemes().map((scheme) => ({ scheme })),
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    progressOnInitialization: false,
    errorHandler: errorHandler(listeners),
    // A function, since a restarted server must get the settings of that moment.
    initializationOptions: () => ({
      planloom: remembered(userValues()),
      planloomClient: {
        events: true,
        views: true,
        approvals: true,
        clarifications: true,
        recovery: true,
        conflicts: true,
        diagnostics: true,
        language: true,
        save: true,
        createContents: true,
        createFolder: true,
        files: true,
        diff: true,
        languageModel,
        trusted: vscode.workspace.isTrusted,
      },
    }),
    middleware: {
      workspace: {
        configuration: (params) =>
          params.items.map((item) =>
            item.section === "planloom"
              ? sharedValues(item.scopeUri === undefined ? undefined : vscode.Uri.parse(item.scopeUri))
              : null,
          ),
        handleApplyEdit: (params, next) =>
          listeners.editing(editedFiles(params.edit), async () => {
            let answer: ApplyWorkspaceEditResult = { applied: true };
            for (const edit of inParts(withContents(params.edit))) {
              const result = await next({ ...params, edit }, new vscode.CancellationTokenSource().token);
              if (result instanceof ResponseError) return result;
              answer = await withReason(result, edit, exists, versionOf);
              if (!answer.applied) break;
            }
            return answer;
          }),
      },
      executeCommand: (command, args, next) => {
        // What a code action plans is shown in the panel, and asks there about files that may hold secrets.
        const [text] = args;
        if (command !== "planloom.plan" || typeof text !== "string")
          return next(command, args) as vscode.ProviderResult<unknown>;
        listeners.planRequested(text);
        return undefined;
      },
    },
  };
}

function versionOf(uri: string): number | undefined {
  return openDocument(vscode.Uri.parse(uri))?.version;
}

function notify<M extends keyof Notifications>(
  language: LanguageClient,
  method: M,
  params: Notifications[M],
): Promise<void> {
  return language.sendNotification(method, params);
}

/** The settings that the server has received. One that the user unsets is sent again with its default. */
const given = new Set<string>();

function remembered(values: Values): Values {
  for (const name of Object.keys(values)) given.add(name);
  return values;
}

async function sendSettings(language: LanguageClient): Promise<void> {
  const values = { ...defaults([...given]), ...remembered(userValues()) };
  await language.sendRequest("planloom/settings/user", { values });
  await language.sendNotification("workspace/didChangeConfiguration", { settings: { planloom: sharedValues() } });
}
