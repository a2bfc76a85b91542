// What is missing of Ollama on this machine: the program, its running server, or a model.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

import type { ModelEntry } from "../protocol";

export type OllamaState = "ready" | "noModel" | "notRunning" | "notInstalled";

/** The state of Ollama, by the models that the server has found and by whether the program is here. */
export function ollamaState(models: readonly ModelEntry[], isInstalled: boolean): OllamaState {
  const own = models.filter((model) => model.provider === "ollama");
  if (own.some((model) => model.reachable)) return "ready";
  if (own.some((model) => model.cause === "no_models" || model.cause === "model_missing")) return "noModel";
  return isInstalled ? "notRunning" : "notInstalled";
}

/** Whether Ollama's program is in a folder of PATH, or where its installers put it. */
export function ollamaIsInstalled(
  environment: NodeJS.ProcessEnv = process.env,
  exists: (path: string) => boolean = existsSync,
): boolean {
  const name = process.platform === "win32" ? "ollama.exe" : "ollama";
  const folders = (environment.PATH ?? environment.Path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const own = [
    "/Applications/Ollama.app",
    "/usr/local/bin/ollama",
    join(environment.LOCALAPPDATA ?? homedir(), "Programs", "Ollama", "ollama.exe"),
  ];
  return [...folders.map((folder) => join(folder, name)), ...own].some(exists);
}
