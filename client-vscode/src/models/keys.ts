// Keeps the keys of model servers in the editor's secret storage, and masks them in what is written to a log.

import * as v from "valibot";
import type * as vscode from "vscode";

import { type KeptKey, masked, withKept, without } from "./modelChoice";

const STORED = "planloom.keys";

export class Keys {
  /** Every key that this window has known, also one that was removed: none may appear in the trace. */
  private readonly known = new Set<string>();

  constructor(private readonly storage: vscode.SecretStorage) {}

  /** The keys that are kept; none if the storage cannot be read, or holds something else. */
  async all(): Promise<readonly KeptKey[]> {
    return this.read().catch(() => []);
  }

  /** Keep a key. Throws if the storage cannot be read or written: the other keys in it would be lost. */
  async add(key: KeptKey): Promise<void> {
    this.known.add(key.value);
    await this.storage.store(STORED, JSON.stringify(withKept(await this.read(), key)));
  }

  /** Remove a key. Throws if the storage cannot be read or written. */
  async remove(key: KeptKey): Promise<void> {
    await this.storage.store(STORED, JSON.stringify(without(await this.read(), key)));
  }

  private async read(): Promise<readonly KeptKey[]> {
    const keys = keysIn((await this.storage.get(STORED)) ?? "[]");
    for (const { value } of keys) this.known.add(value);
    return keys;
  }

  /** The channel, with every known key masked in what is written to it. */
  masking(channel: vscode.LogOutputChannel): vscode.LogOutputChannel {
    const mask = (value: unknown): unknown => (typeof value === "string" ? masked(value, [...this.known]) : value);
    // The target is empty, since the editor's channels are frozen and a proxy may not alter what is frozen.
    return new Proxy({} as vscode.LogOutputChannel, {
      get(_, name) {
        const value: unknown = Reflect.get(channel, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]): unknown => Reflect.apply(value, channel, given.map(mask));
      },
    });
  }
}

const isKey = (value: unknown): value is KeptKey =>
  v.is(v.object({ provider: v.string(), baseUrl: v.string(), value: v.string() }), value);

function keysIn(stored: string): readonly KeptKey[] {
  try {
    const found: unknown = JSON.parse(stored);
    return Array.isArray(found) ? found.filter(isKey) : [];
  } catch {
    return [];
  }
}
