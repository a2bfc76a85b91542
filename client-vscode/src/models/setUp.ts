// Lets the user choose a model, or set one up: by a key, an address, Ollama, the editor's model, or go on without one.

import * as vscode from "vscode";

import { modelName } from "../connection/client";
import type { Ctx } from "../ctx";
import type { ModelEntry } from "../protocol";
import { plural, t } from "../words";
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
import type { Way } from "./ways";

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
  run?: () => Promise<void>;
}

/** Let the user pick a model or a way to one. The list asks the servers, since a person opens it. */
export async function chooseModel(ctx: Ctx): Promise<void> {
  const answer = await ctx.ask("planloom/model/list", { select: true });
  if (answer === undefined) return;
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
        ...(model.reachable ? {} : { detail: t("Cannot be used now") }),
        run: () => (model.reachable ? use(ctx, ofEntry(model, answer.active, now)) : mend(ctx, model)),
      };
    }),
    { label: t("Set up"), kind },
    { label: `$(key) ${t("Enter an API key…")}`, run: () => setUp(ctx, "key") },
    { label: `$(globe) ${t("Enter a server's address…")}`, run: () => setUp(ctx, "address") },
    { label: `$(vm) ${t("Ollama on this machine…")}`, run: () => setUp(ctx, "ollama") },
    ...(keys.length === 0 ? [] : [{ label: `$(trash) ${t("Remove a key…")}`, run: () => removeKey(ctx) }]),
    {
      label: `$(circle-slash) ${t("Go on without a model")}`,
      description: now.provider === "embedded" ? t("chosen") : "",
      detail: t("Only requests that say exactly what to write or run can be carried out"),
      run: () => setUp(ctx, "without"),
    },
  ];
  const choice = await vscode.window.showQuickPick(items, { title: t("Choose Model"), matchOnDetail: true });
  await choice?.run?.();
}

/** Set a model up in one of the ways that the panel offers. */
export function setUp(ctx: Ctx, way: Way): Promise<void> {
  switch (way) {
    case "ollama":
      return ollama(ctx);
    case "key":
      return enterKey(ctx);
    case "address":
      return enterAddress(ctx);
    case "editor":
      return use(ctx, EDITOR);
    case "without":
      return use(ctx, WITHOUT);
  }
}

function tokens({ contextTokens }: ModelEntry): string {
  return contextTokens == null ? "" : plural(contextTokens, "1 token", "{0} tokens");
}

/** What can be done about a model that cannot be used. */
function mend(ctx: Ctx, { provider }: ModelEntry): Promise<void> {
  if (provider === "ollama") return ollama(ctx);
  return current().baseUrl === "" ? enterKey(ctx) : enterAddress(ctx);
}

function current(): ModelSettings {
  const section = vscode.workspace.getConfiguration("planloom.model");
  const read = (name: string): string => section.inspect<string>(name)?.globalValue ?? "";
  return { provider: read("provider") || "auto", baseUrl: read("baseUrl"), name: read("name") };
}

/** Set all three settings for the user, so that a folder cannot make the choice, and say which model that gives. */
async function use(ctx: Ctx, settings: ModelSettings): Promise<void> {
  const section = vscode.workspace.getConfiguration("planloom.model");
  for (const [name, value] of Object.entries(settings))
    await section.update(name, value, vscode.ConfigurationTarget.Global);
  await ctx.sendModelSettings();
  if (settings.provider === "embedded") return;
  const found = await ctx.ask("planloom/model/list", { select: true });
  const active = found?.active;
  if (active == null) return;
  if (active.provider === "embedded") ctx.notify("warning", t("No model was found. Set one up by “Choose Model”."));
  else ctx.notify("info", t("Planloom uses {0}.", modelName(active)));
}

async function enterKey(ctx: Ctx): Promise<void> {
  const service = await vscode.window.showQuickPick([...SERVICES.keys()], { title: t("API Key: Which Service?") });
  const provider = service === undefined ? undefined : SERVICES.get(service);
  if (service === undefined || provider === undefined) return;
  const value = await askKey(
    t("API Key for {0}", service),
    t("It is kept in the editor's secret storage."),
    keyProblem,
  );
  if (value === undefined) return;
  await ctx.keys.add({ provider, baseUrl: "", value });
  await use(ctx, withKey(provider));
}

async function enterAddress(ctx: Ctx): Promise<void> {
  const address = await vscode.window.showInputBox({
    title: t("Server Address"),
    prompt: t("An OpenAI-compatible, Ollama or Anthropic server"),
    placeHolder: EXAMPLE,
    value: current().baseUrl,
    ignoreFocusOut: true,
    validateInput: addressProblem,
  });
  if (address === undefined) return;
  const baseUrl = address.trim();
  const value = await askKey(t("API Key of This Server"), t("Leave it empty if the server takes none."), (text) =>
    text.trim() === "" ? undefined : keyProblem(text),
  );
  if (value === undefined) return;
  if (value !== "") await ctx.keys.add({ provider: "openai", baseUrl, value });
  await use(ctx, atAddress(baseUrl));
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

/** Use Ollama if it answers and has a model; else say what to do, with the command typed in a terminal. */
async function ollama(ctx: Ctx): Promise<void> {
  const before = current();
  if (before.provider !== "ollama" || before.baseUrl !== "") {
    const found = await ctx.ask("planloom/model/list", { select: true });
    const model = found?.models.find((each) => each.provider === "ollama" && each.reachable);
    if (model !== undefined) return use(ctx, OLLAMA);
  }
  const choice = await vscode.window.showInformationMessage(
    t(
      "Ollama does not answer, or has no model yet. Install it, then get a model by “{0}”.",
      `ollama pull ${LOCAL_MODEL}`,
    ),
    t("Get Ollama"),
    t("Type the Command in a Terminal"),
    t("Look Again"),
  );
  if (choice === t("Get Ollama")) await vscode.env.openExternal(vscode.Uri.parse(OLLAMA_PAGE));
  if (choice === t("Type the Command in a Terminal")) {
    const terminal = vscode.window.createTerminal("Ollama");
    terminal.show();
    terminal.sendText(`ollama pull ${LOCAL_MODEL}`, false);
  }
  if (choice === t("Look Again")) await use(ctx, OLLAMA);
}

async function removeKey(ctx: Ctx): Promise<void> {
  const items = (await ctx.keys.all()).map((key) => ({ label: key.provider, description: key.baseUrl, key }));
  const choice = await vscode.window.showQuickPick(items, { title: t("Remove Key") });
  if (choice !== undefined) await ctx.forgetKey(choice.key);
}
