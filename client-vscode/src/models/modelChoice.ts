// What choosing a model sets, and which kept keys may be sent under the user's settings. Pure, without the editor.

import type { ModelEntry } from "../protocol";
import { t } from "../words";

/** The three settings that say which model is used. They are always set together, so that none of another model stays. */
export interface ModelSettings {
  readonly provider: string;
  readonly baseUrl: string;
  readonly name: string;
}

/** A key as the editor's secret storage keeps it: for the server at `baseUrl`, or the provider's own if that is empty. */
export interface KeptKey {
  readonly provider: string;
  readonly baseUrl: string;
  readonly value: string;
}

export const AUTOMATIC: ModelSettings = { provider: "auto", baseUrl: "", name: "" };
export const WITHOUT: ModelSettings = { provider: "embedded", baseUrl: "", name: "" };
export const OLLAMA: ModelSettings = { provider: "ollama", baseUrl: "", name: "" };
export const EDITOR: ModelSettings = { provider: "editor", baseUrl: "", name: "" };

/**
 * The settings of a listed model. The address stays only with the provider that answers there, which is the active one:
 * a model of another provider is at that provider's own address.
 */
export function ofEntry(entry: ModelEntry, active: { provider: string } | null, now: ModelSettings): ModelSettings {
  if (entry.provider === "embedded") return WITHOUT;
  if (entry.provider === "editor") return { ...EDITOR, name: entry.name };
  const staysThere = now.baseUrl !== "" && entry.provider === active?.provider;
  return { provider: entry.provider, baseUrl: staysThere ? now.baseUrl : "", name: entry.name };
}

/**
 * The keys that may be sent now. The server binds a key to the address that its settings give the provider, so a key
 * is sent only while that is the address it was entered for. `baseUrl` is undefined where the user has not set it in
 * the editor: a configuration file may then name one, so nothing is sent.
 */
export function keysToSend(
  keys: readonly KeptKey[],
  { provider, baseUrl }: { provider: string; baseUrl: string | undefined },
): readonly KeptKey[] {
  if (baseUrl === undefined) return [];
  return keys.filter((key) => {
    const address = provider === "auto" || provider === key.provider ? baseUrl : "";
    return key.baseUrl === address;
  });
}

/** These keys with one more, in place of an earlier one for the same provider and address. */
export function withKept(keys: readonly KeptKey[], added: KeptKey): readonly KeptKey[] {
  return [...without(keys, added), added];
}

export function without(keys: readonly KeptKey[], { provider, baseUrl }: Omit<KeptKey, "value">): readonly KeptKey[] {
  return keys.filter((key) => key.provider !== provider || key.baseUrl !== baseUrl);
}

/** A text with every key in it masked; the trace of the protocol would show them. */
export function masked(text: string, keys: readonly string[]): string {
  return keys.reduce((shown, key) => shown.replaceAll(key, "[key]"), text);
}

/** What is wrong with an address that the user enters; undefined if nothing is. */
export function addressProblem(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return t("Enter a whole address, for example http://localhost:8080/v1");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return t("The address begins with http:// or https://");
  if (url.username !== "" || url.password !== "")
    return t("A key or password is not part of the address; it is asked next");
  if (url.search !== "" || url.hash !== "") return t("The address has no ? or # part");
  return undefined;
}

/** What is wrong with a key that the user enters; undefined if nothing is. */
export function keyProblem(text: string): string | undefined {
  return /^[!-~]+$/.test(text.trim()) ? undefined : t("A key has no spaces and only ASCII characters");
}
