// Lets the user choose a model, or set one up: by a key, an address, Ollama, the editor's model, or go on without one.
// What was set up is asked one word, so that a mistake shows at once.

import * as vscode from "vscode";

import { modelName } from "../connection/client";
import type { Ctx } from "../ctx";
import type { Way } from "../panel/messages";
import type { ModelEntry } from "../protocol";
import { number, plural, t } from "../words";
import {
  AUTOMATIC,
  addressProblem,
  atAddress,
  EDITOR,
  keyProblem,
  type ModelSettings,
  OLLAMA,
  ofEntry,
  WITHOUT,
  withKey,
} from "./modelChoice";
import { ollamaIsInstalled, ollamaState } from "./ollama";

/** The model that Ollama is proposed to get: it calls tools and runs on a laptop. */
const LOCAL_MODEL = "qwen3:8b";
const OLLAMA_PAGE = "https://ollama.com/download";
/** The services that take a key, by their names, which are the same in every language. */
const SERVICES = new Map([
  ["OpenAI", "openai"],
  ["Anthropic", "anthropic"],
]);
const EXAMPLE = "http://localhost:8080/v1";

interface Item extends vscode.QuickPickItem {
  run?: () => Promise<unknown>;
}

/** Let the user pick a model or a way to one, and whether one can be used then. The list asks the servers, since a person opens it. */
export async function chooseModel(ctx: Ctx): Promise<boolean> {
  const answer = await ctx.ask("planloom/model/list", { select: true });
  if (answer === undefined) return false;
  const now = current();
  const usable = answer.models.filter((model) => model.provider !== "embedded");
  const keys = await ctx.keys.all();
  const kind = vscode.QuickPickItemKind.Separator;
  const items: Item[] = [
    {
      label: `$(sparkle) ${t("Automatic")}`,
      description: now.provider === "auto" && now.baseUrl === "" ? t("chosen") : "",
      detail: t("The first that answers: a service that you have a key for, Ollama, the editor's own model"),
      run: () => use(ctx, AUTOMATIC),
    },
    { label: t("Models"), kind },
    ...usable.map((model) => {
      const active = model.provider === answer.active?.provider && model.name === answer.active.name;
      return {
        label: `${model.reachable ? "$(pass)" : "$(circle-slash)"} ${modelName(model)}`,
        description: [active ? t("in use") : "", tokens(model)].filter((part) => part !== "").join(" · "),
        ...(model.reachable ? {} : { detail: model.words ?? "" }),
        run: () => (model.reachable ? use(ctx, ofEntry(model, answer.active, now)) : mend(ctx, model)),
      };
    }),
    { label: t("Set up"), kind },
    { label: `$(key) ${t("Enter an API key…")}`, run: () => setUp(ctx, "key") },
    { label: `$(globe) ${t("Enter a server's address…")}`, run: () => setUp(ctx, "address") },
    { label: `$(vm) ${t("Ollama on this machine…")}`, run: () => setUp(ctx, "ollama") },
    ...(answer.active == null || answer.active.provider === "embedded"
      ? []
      : [
          {
            label: `$(beaker) ${t("Test the model")}`,
            detail: t("Asks it for one word, and shows how long that took"),
            run: () => testModel(ctx),
          },
        ]),
    ...(keys.length === 0 ? [] : [{ label: `$(trash) ${t("Remove a key…")}`, run: () => removeKey(ctx) }]),
    {
      label: `$(circle-slash) ${t("Go on without a model")}`,
      description: now.provider === "embedded" ? t("chosen") : "",
      detail: t("Only requests that say exactly what to write or run can be carried out"),
      run: () => setUp(ctx, "without"),
    },
  ];
  const choice = await vscode.window.showQuickPick(items, { title: t("Choose Model"), matchOnDetail: true });
  return (await choice?.run?.()) === true;
}

/** Set a model up in one of the ways that the panel offers; whether a model can be used then, or none is wanted. */
export function setUp(ctx: Ctx, way: Way): Promise<boolean> {
  return WAYS[way](ctx);
}

const WAYS: Readonly<Record<Way, (ctx: Ctx) => Promise<boolean>>> = {
  ollama,
  key: (ctx) => enterKey(ctx),
  address: enterAddress,
  editor: (ctx) => use(ctx, EDITOR),
  without: (ctx) => use(ctx, WITHOUT),
};

function tokens({ contextTokens }: ModelEntry): string {
  return contextTokens == null ? "" : plural(contextTokens, "1 token", "{0} tokens");
}

/** What can be done about a model that cannot be used. */
function mend(ctx: Ctx, { provider }: ModelEntry): Promise<boolean> {
  if (provider === "ollama") return ollama(ctx);
  return current().baseUrl === "" ? enterKey(ctx) : enterAddress(ctx);
}

function current(): ModelSettings {
  const section = vscode.workspace.getConfiguration("planloom.model");
  const read = (name: string): string => section.inspect<string>(name)?.globalValue ?? "";
  return { provider: read("provider") || "auto", baseUrl: read("baseUrl"), name: read("name") };
}

/** Set all three settings for the user, so that a folder cannot make the choice, and try what that gives. */
async function use(ctx: Ctx, settings: ModelSettings): Promise<boolean> {
  const section = vscode.workspace.getConfiguration("planloom.model");
  for (const [name, value] of Object.entries(settings))
    await section.update(name, value, vscode.ConfigurationTarget.Global);
  await ctx.sendModelSettings();
  return settings.provider === "embedded" || testModel(ctx);
}

/** Ask the model that is used for one word, and show its answer or what is wrong; whether it answered. */
export async function testModel(ctx: Ctx): Promise<boolean> {
  const tested = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: t("Planloom asks the model for one word…") },
    () => ctx.ask("planloom/model/test", {}),
  );
  ctx.refreshStatus();
  if (tested === undefined) return false;
  const seconds = number(tested.tookMs / 1000, 1, 1);
  ctx.notify("info", t("Planloom uses {0}. It answered “{1}” after {2} s.", modelName(tested), tested.answer, seconds));
  return true;
}

/** Let the user enter a key for the server that is used now. */
export async function enterKeyOfUsed(ctx: Ctx): Promise<boolean> {
  const { provider, baseUrl } = current();
  if (baseUrl === "") {
    const [service] = [...SERVICES].find(([, name]) => name === provider) ?? [];
    return enterKey(ctx, service);
  }
  const value = await askKey(t("API Key for {0}", baseUrl), KEPT(), keyProblem);
  if (value === undefined) return false;
  await ctx.keys.add({ provider: provider === "auto" ? "openai" : provider, baseUrl, value });
  return use(ctx, current());
}

async function enterKey(ctx: Ctx, known?: string): Promise<boolean> {
  const service =
    known ?? (await vscode.window.showQuickPick([...SERVICES.keys()], { title: t("API Key: Which Service?") }));
  const provider = service === undefined ? undefined : SERVICES.get(service);
  if (service === undefined || provider === undefined) return false;
  const value = await askKey(t("API Key for {0}", service), KEPT(), keyProblem);
  if (value === undefined) return false;
  await ctx.keys.add({ provider, baseUrl: "", value });
  return use(ctx, withKey(provider));
}

const KEPT = (): string => t("It is kept in the editor's secret storage.");

async function enterAddress(ctx: Ctx): Promise<boolean> {
  const address = await vscode.window.showInputBox({
    title: t("Server Address"),
    prompt: t("An OpenAI-compatible, Ollama or Anthropic server"),
    placeHolder: EXAMPLE,
    value: current().baseUrl,
    ignoreFocusOut: true,
    validateInput: addressProblem,
  });
  if (address === undefined) return false;
  const baseUrl = address.trim();
  const value = await askKey(t("API Key of This Server"), t("Leave it empty if the server takes none."), (text) =>
    text.trim() === "" ? undefined : keyProblem(text),
  );
  if (value === undefined) return false;
  if (value !== "") await ctx.keys.add({ provider: "openai", baseUrl, value });
  return use(ctx, atAddress(baseUrl));
}

async function askKey(
  title: string,
  prompt: string,
  validateInput: (text: string) => string | undefined,
): Promise<string | undefined> {
  const value = await vscode.window.showInputBox({
    title,
    prompt,
    password: true,
    ignoreFocusOut: true,
    validateInput,
  });
  return value?.trim();
}

/** Use Ollama if it answers and has a model; else say which of that is missing, with the way to it. */
async function ollama(ctx: Ctx): Promise<boolean> {
  const found = await ctx.ask("planloom/model/list", { select: true });
  if (found === undefined) return false;
  const again = t("Look Again");
  const choose = async (words: string, way: string, act: () => unknown): Promise<boolean> => {
    const choice = await vscode.window.showInformationMessage(words, way, again);
    if (choice === way) await act();
    return choice === again ? ollama(ctx) : false;
  };
  const state = ollamaState(found.models, ollamaIsInstalled());
  switch (state) {
    case "ready":
      return use(ctx, OLLAMA);
    case "noModel":
      return choose(
        t("Ollama runs but has no model yet. Get one by “{0}”.", `ollama pull ${LOCAL_MODEL}`),
        t("Type the Command in a Terminal"),
        () => inTerminal(`ollama pull ${LOCAL_MODEL}`, false),
      );
    case "notRunning":
      return choose(t("Ollama is installed but does not run."), t("Start Ollama"), () =>
        inTerminal("ollama serve", true),
      );
    case "notInstalled":
      return choose(t("Ollama is not installed on this machine."), t("Get Ollama"), () =>
        vscode.env.openExternal(vscode.Uri.parse(OLLAMA_PAGE)),
      );
  }
}

function inTerminal(command: string, run: boolean): void {
  const terminal = vscode.window.createTerminal("Ollama");
  terminal.show();
  terminal.sendText(command, run);
}

async function removeKey(ctx: Ctx): Promise<void> {
  const items = (await ctx.keys.all()).map((key) => ({ label: key.provider, description: key.baseUrl, key }));
  const choice = await vscode.window.showQuickPick(items, { title: t("Remove Key") });
  if (choice !== undefined) await ctx.forgetKey(choice.key);
}

/**
 * Look for a model if none is set up. Where none is found the request is held: its text stays in the composer, and the
 * panel shows the ways to a model. A person has asked for it, so the servers of this machine may be asked.
 */
export async function modelAtHand(ctx: Ctx): Promise<boolean> {
  if (ctx.server.kind !== "running" || ctx.server.needsModel === undefined) return true;
  const found = await ctx.ask("planloom/model/list", { select: true });
  if (found?.active == null) return false;
  const isFound = found.active.provider !== "embedded";
  await ctx.hold(!isFound);
  return isFound;
}
