// Answers what the server asks of the editor: what other tools say of a file, and to save what a plan changed.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import type { EditorRequests } from "./protocol";

const OWN_SOURCE = "planloom";

export async function diagnosticsOf(client: LanguageClient, uris: readonly string[]): Promise<EditorRequests["planloom/editor/diagnostics"]["result"]> {
  const diagnostics = await Promise.all(
    uris.map(async (uri) => {
      const found = vscode.languages.getDiagnostics(client.protocol2CodeConverter.asUri(uri)).filter((each) => each.source !== OWN_SOURCE);
      return { uri, items: await client.code2ProtocolConverter.asDiagnostics(found) };
    }),
  );
  return { diagnostics };
}

/** Save the files that are open and unsaved; a file that is neither is on disk already. */
export async function saveFiles(uris: readonly string[]): Promise<EditorRequests["planloom/editor/save"]["result"]> {
  const saved: string[] = [];
  const failed: { uri: string; reason: string }[] = [];
  for (const uri of uris) {
    const wanted = vscode.Uri.parse(uri).toString();
    const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === wanted);
    try {
      if (open === undefined || !open.isDirty || (await open.save())) saved.push(uri);
      else failed.push({ uri, reason: "The editor did not save it." });
    } catch (error) {
      failed.push({ uri, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { saved, failed };
}
