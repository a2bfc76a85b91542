// Answers the server's requests for the diagnostics of other tools and for saving files.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { EditorDiagnosticsResult, EditorSaveResult, SaveFailure } from "../protocol";
import { DiagnosticVersions, type Now } from "./diagnosticVersions";
import { isFile } from "./workspaceFiles";

const OWN_SOURCE = "planloom";

/** The diagnostics of other tools, with the version of the text to which they belong. */
export class OtherTools implements vscode.Disposable {
  private readonly findings = new DiagnosticVersions<vscode.Diagnostic>();
  private readonly owned = [
    vscode.workspace.onDidChangeTextDocument(({ document }) =>
      this.findings.changed(document.uri.toString(), now(document)),
    ),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.findings.forget(uri.toString())),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      for (const uri of uris) {
        const document = openDocument(uri);
        if (document !== undefined) this.findings.announced(uri.toString(), now(document));
      }
    }),
  ];

  async answer(client: LanguageClient, uris: readonly string[]): Promise<EditorDiagnosticsResult> {
    const asked = uris.length > 0 ? uris : filesWithFindings().map((uri) => client.code2ProtocolConverter.asUri(uri));
    const diagnostics = await Promise.all(
      asked.map(async (given) => {
        const uri = client.protocol2CodeConverter.asUri(given);
        const document = openDocument(uri);
        const version = document === undefined ? undefined : this.findings.version(uri.toString(), now(document));
        const found = await client.code2ProtocolConverter.asDiagnostics([...ofOthers(uri)]);
        const items = found.map((each) => ({
          ...each,
          message: typeof each.message === "string" ? each.message : each.message.value,
        }));
        return { uri: given, items, ...(version === undefined ? {} : { version }) };
      }),
    );
    return { diagnostics };
  }

  dispose(): void {
    this.owned.forEach((each) => void each.dispose());
  }
}

/** The open document of an address; undefined if there is none. */
export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  const wanted = uri.toString();
  return vscode.workspace.textDocuments.find((each) => each.uri.toString() === wanted);
}

/** The files for which other tools report diagnostics. */
function filesWithFindings(): readonly vscode.Uri[] {
  return vscode.languages
    .getDiagnostics()
    .filter(([uri]) => isFile(uri) && ofOthers(uri).length > 0)
    .map(([uri]) => uri);
}

function ofOthers(uri: vscode.Uri): readonly vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(uri).filter((each) => each.source !== OWN_SOURCE);
}

function now(document: vscode.TextDocument): Now<vscode.Diagnostic> {
  return { version: document.version, findings: ofOthers(document.uri), at: performance.now() };
}

/** Save the files that are open and unsaved; every other file is on disk already. */
export async function saveFiles(uris: readonly string[]): Promise<EditorSaveResult> {
  const saved: string[] = [];
  const failed: SaveFailure[] = [];
  for (const uri of uris) {
    const open = openDocument(vscode.Uri.parse(uri));
    try {
      if (open === undefined || !open.isDirty || (await open.save())) saved.push(uri);
      else failed.push({ uri, reason: "The editor did not save it." });
    } catch (error) {
      failed.push({ uri, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { saved, failed };
}
