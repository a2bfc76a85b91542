// Formats statuses, reasons, figures and paths for the panel.

import type { Agent, ChangeKind, Json, JsonObject, Plan } from "../../protocol";
import { number, t } from "../../words";

/** The name of an agent; the wire has another. */
export function agentName(agent: Agent): string {
  return { chapo: t("Strategy"), koda: t("Code"), devo: t("Operations") }[agent];
}

/** The first line of a text. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** `800 ms`, `4.2 s`, `3 min 20 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return t("{0} ms", Math.round(milliseconds));
  const seconds = milliseconds / 1000;
  const digits = seconds < 10 ? 1 : 0;
  if (seconds < 60) return t("{0} s", number(seconds, digits, digits));
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? t("{0} min {1} s", minutes, Math.floor(seconds % 60))
    : t("{0} h {1} min", Math.floor(minutes / 60), minutes % 60);
}

/** `Step 3`, or `The plan` for what belongs to no step. */
export function stepNumber(plan: Plan, stepId: string | null | undefined): string {
  const place = stepPlace(plan, stepId);
  return place === undefined ? t("The plan") : t("Step {0}", place);
}

/** The number of a step, from 1. */
export function stepPlace(plan: Plan, stepId: string | null | undefined): number | undefined {
  const place = plan.steps.findIndex((step) => step.stepId === stepId);
  return place < 0 ? undefined : place + 1;
}

/** The path of a file, relative to the workspace folder that holds it. */
export function pathOf(uri: string, folders: readonly string[]): string {
  const holder = folders
    .map((folder) => (folder.endsWith("/") ? folder : `${folder}/`))
    .find((folder) => uri.startsWith(folder));
  if (holder === undefined) return decoded(uri.replace(/^file:\/\//, ""));
  const path = decoded(uri.slice(holder.length));
  return folders.length > 1 ? `${decoded(holder.slice(0, -1).split("/").pop() ?? "")}/${path}` : path;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One value of a tool's arguments, as text. */
export function valueText(value: Json | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** The most telling argument of a call: its path, else its command, pattern, query or address. */
export function headline(args: JsonObject | null | undefined): string {
  if (args == null) return "";
  const name = ["path", "command", "old_path", "pattern", "query", "url"].find(
    (each) => typeof args[each] === "string",
  );
  return name === undefined ? "" : valueText(args[name]);
}

export const CHANGE_LETTER: Readonly<Record<string, string>> = {
  create: "A",
  edit: "M",
  delete: "D",
  rename: "R",
  createFolder: "A",
} satisfies Record<ChangeKind, string>;
