// Lets the user choose a model, or set one up: at a service with a key, at an address, on this machine, in the editor, or
// go on without one. What was set up is asked one word, so that a mistake shows at once.

import * as vscode from "vscode";

import { editorModels } from "../connection/languageModel";
import type { Ctx } from "../ctx";
import type { Way } from "../panel/messages";
import type { ModelEntry, ModelService, ModelsResult } from "../protocol";
import { number, plural, t } from "../words";
import {
  AUTOMATIC,
  addressProblem,
  EDITOR,
  keyProblem,
  type ModelSettings,
  OLLAMA,
  ofEntry,
  WITHOUT,
} from "./modelChoice";
import { ollamaIsInstalled, ollamaState } from "./ollama";

/** The model that Ollama is proposed to get: it calls tools and runs on a laptop. */
const LOCAL_MODEL = "qwen3:8b";
const OLLAMA_PAGE = "https://ollama.com/download";

interface Item extends vscode.QuickPickItem {
  run?: () => Promise<unknown>;
}

/** Let the user pick a model or a way to one, and whether one can be used then. The list asks the servers, since a person opens it. */
export function chooseModel(ctx: Ctx): Promise<boolean> {
  return settingUp(ctx, async () => {
    const answer = await listed(ctx);
    if (answer === undefined) return false;
    const now = current();
    const [keys, ofEditor] = [await ctx.keys.all(), await editorModels()];
    const { active } = answer;
    const offered = answer.models.filter(({ provider }) => provider !== "embedded" && provider !== "editor");
    const row = (label: string, run: () => Promise<unknown>, detail?: string, chosen = false): Item => ({
      label,
      run,
      ...(detail === undefined ? {} : { detail }),
      ...(chosen ? { description: t("chosen") } : {}),
    });
    const isUsed = active != null && !["auto", "embedded"].includes(active.provider);
    const items: Item[] = [
      row(`$(plug) ${t("Add a service or a server…")}`, () => addService(ctx, answer.services)),
      ...(isUsed ? [row(`$(beaker) ${t("Test the model")}`, () => testModel(ctx))] : []),
      ...(keys.length === 0 ? [] : [row(`$(trash) ${t("Remove a key…")}`, () => removeKey(ctx))]),
      row(
        `$(sparkle) ${t("Automatic")}`,
        () => use(ctx, AUTOMATIC),
        t("The first that answers: a service that you have a key for, Ollama, the editor's own model"),
        now.provider === "auto" && now.baseUrl === "",
      ),
      row(
        `$(circle-slash) ${t("Go on without a model")}`,
        () => use(ctx, WITHOUT),
        t("Only requests that say exactly what to write or run can be carried out"),
        now.provider === "embedded",
      ),
      { label: t("Models"), kind: vscode.QuickPickItemKind.Separator },
      ...[...offered, ...ofEditor].map((model) => ({
        ...named(model, active?.provider === model.provider && active.name === model.name),
        run: () => (model.reachable ? use(ctx, ofEntry(model, active, now)) : mend(ctx, model)),
      })),
    ];
    const choice = await vscode.window.showQuickPick(items, { title: t("Choose Model"), matchOnDescription: true });
    return (await choice?.run?.()) === true;
  });
}

/** Set a model up in one of the ways that the panel offers; whether a model can be used then, or none is wanted. */
export function setUp(ctx: Ctx, way: Way): Promise<boolean> {
  return settingUp(ctx, () => WAYS[way](ctx));
}

const WAYS: Readonly<Record<Way, (ctx: Ctx) => Promise<boolean>>> = {
  ollama,
  key: (ctx) => addService(ctx, undefined, ({ key, asksAddress }) => key === "needed" && !asksAddress),
  address: async (ctx) => {
    const any = (await listed(ctx))?.services.at(-1);
    return any !== undefined && connect(ctx, any);
  },
  editor: async (ctx) => {
    const models = await editorModels();
    const model = models.length > 1 ? await pickModel(t("Editor"), models) : models[0];
    return model !== undefined && use(ctx, { ...EDITOR, name: model.name });
  },
  without: (ctx) => use(ctx, WITHOUT),
};

/** A held request waits until the whole set-up is done, and is sent then. */
async function settingUp(ctx: Ctx, act: () => Promise<boolean>): Promise<boolean> {
  const { held } = ctx;
  const isUsable = await act();
  if (isUsable) await ctx.goOn(held);
  return isUsable;
}

const listed = (ctx: Ctx): Promise<ModelsResult | undefined> => ctx.ask("planloom/model/list", { select: true });

/** A model as a row: its name, then its service and how much it takes, or what is wrong with it. */
function named({ name, title, contextTokens, reachable, words }: ModelEntry, isUsed = false): vscode.QuickPickItem {
  const size = contextTokens == null ? "" : plural(contextTokens, "1 token", "{0} tokens");
  const known = [isUsed ? t("in use") : "", title, size].filter((part) => part !== "");
  return {
    label: reachable ? name : `$(warning) ${name || title}`,
    description: known.join(" · "),
    ...(reachable ? {} : { detail: words ?? "" }),
  };
}

async function pickModel(title: string, models: readonly ModelEntry[]): Promise<ModelEntry | undefined> {
  const items = models.map((model) => ({ ...named(model), model }));
  const options = { title: t("{0}: Which Model?", title), matchOnDescription: true, ignoreFocusOut: true };
  return (await vscode.window.showQuickPick(items, options))?.model;
}

/** What can be done about a model that cannot be used. */
function mend(ctx: Ctx, { provider }: ModelEntry): Promise<boolean> {
  return provider === "ollama" ? ollama(ctx) : enterKeyOfUsed(ctx);
}

function current(): ModelSettings {
  const section = vscode.workspace.getConfiguration("planloom.model");
  const read = (name: string): string => section.inspect<string>(name)?.globalValue ?? "";
  return { provider: read("provider") || "auto", baseUrl: read("baseUrl"), name: read("name") };
}

/**
 * Set all three settings for the user, so that a folder cannot make the choice, and try what that gives. Of several
 * models at one place the user picks one before any is asked.
 */
async function use(ctx: Ctx, settings: ModelSettings): Promise<boolean> {
  await keep(ctx, settings);
  if (settings.provider === "embedded") return true;
  if (settings.name === "" && (settings.baseUrl !== "" || settings.provider !== "auto")) {
    const answer = await listed(ctx);
    const there = answer?.models.filter((each) => each.reachable && each.provider === answer.active?.provider) ?? [];
    if (answer?.active?.name === "" && there.length > 1) {
      const model = await pickModel(there[0]?.title ?? "", there);
      if (model === undefined) return false;
      await keep(ctx, { ...settings, name: model.name });
    }
  }
  return testModel(ctx);
}

async function keep(ctx: Ctx, settings: ModelSettings): Promise<void> {
  const section = vscode.workspace.getConfiguration("planloom.model");
  for (const [name, value] of Object.entries(settings))
    await section.update(name, value, vscode.ConfigurationTarget.Global);
  await ctx.sendModelSettings();
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
  ctx.notify("info", t("Planloom uses {0}. It answered “{1}” after {2} s.", tested.words, tested.answer, seconds));
  return true;
}

/** Let the user pick a service or a server, and set it up. */
async function addService(
  ctx: Ctx,
  known: readonly ModelService[] | undefined,
  isOffered: (service: ModelService) => boolean = () => true,
): Promise<boolean> {
  const services = known ?? (await listed(ctx))?.services ?? [];
  const items = services.filter(isOffered).map((service) => ({
    label: service.title || t("Any server…"),
    description: service.title === "" ? t("An OpenAI-compatible, Ollama or Anthropic server") : service.address,
    service,
  }));
  const options = { title: t("Which Service?"), matchOnDescription: true, ignoreFocusOut: true };
  const choice = await vscode.window.showQuickPick(items, options);
  return choice !== undefined && connect(ctx, choice.service);
}

/** Ask what a service needs and is not known yet, and use it. */
async function connect(ctx: Ctx, service: ModelService): Promise<boolean> {
  if (service.provider === "ollama") return ollama(ctx);
  const baseUrl = service.asksAddress ? await askAddress(service) : service.address;
  if (baseUrl === undefined) return false;
  const provider = service.provider === "auto" ? "openai" : service.provider;
  const isKept = (await ctx.keys.all()).some((each) => each.provider === provider && each.baseUrl === baseUrl);
  if (service.key !== "none" && !isKept) {
    const value = await askKey(service.title || baseUrl, service.key === "maybe");
    if (value === undefined) return false;
    if (value !== "") await ctx.keys.add({ provider, baseUrl, value });
  }
  return use(ctx, { provider: service.provider, baseUrl, name: "" });
}

/** Let the user enter another key for what is used now. */
export function enterKeyOfUsed(ctx: Ctx): Promise<boolean> {
  return settingUp(ctx, async () => {
    const now = current();
    if (now.baseUrl === "" && now.provider === "auto") return WAYS.key(ctx);
    const value = await askKey(now.baseUrl || now.provider, false);
    if (value === undefined) return false;
    await ctx.keys.add({ ...now, provider: now.provider === "auto" ? "openai" : now.provider, value });
    return use(ctx, now);
  });
}

async function askAddress({ title, address }: ModelService): Promise<string | undefined> {
  const entered = await vscode.window.showInputBox({
    title: title === "" ? t("Server Address") : t("Server Address: {0}", title),
    prompt: t("An OpenAI-compatible, Ollama or Anthropic server"),
    placeHolder: address,
    value: title === "" ? current().baseUrl : address,
    ignoreFocusOut: true,
    validateInput: addressProblem,
  });
  return entered?.trim();
}

async function askKey(service: string, mayBeEmpty: boolean): Promise<string | undefined> {
  const value = await vscode.window.showInputBox({
    title: t("API Key for {0}", service),
    prompt: mayBeEmpty
      ? t("Leave it empty if the server takes none.")
      : t("It is kept in the editor's secret storage."),
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) => (mayBeEmpty && text.trim() === "" ? undefined : keyProblem(text)),
  });
  return value?.trim();
}

/** Use Ollama if it answers and has a model; else say which of that is missing, with the way to it. */
async function ollama(ctx: Ctx): Promise<boolean> {
  const found = await listed(ctx);
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

/** Whether a request can go to a model, or needs none. A person has asked for it, so the servers of this machine may be asked. */
export async function modelAtHand(ctx: Ctx): Promise<boolean> {
  if (ctx.server.kind !== "running" || ctx.server.needsModel === undefined) return true;
  const found = await listed(ctx);
  return found?.active != null && found.active.provider !== "embedded";
}
