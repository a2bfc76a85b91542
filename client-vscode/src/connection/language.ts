// Answers the server's requests of LSP with what the user's other extensions know of a file, whatever servers they run.

import * as vscode from "vscode";
import type * as lsp from "vscode-languageclient";
import type { LanguageClient } from "vscode-languageclient/node";
import type { EditorLanguageParams, EditorLanguageResult } from "../protocol";
import { openDocument } from "./editor";
import { exists, isFile, PLAN_DOCUMENT } from "./workspaceFiles";

/** Extensions start when a file of their language is opened: for so long the first answer about a language waits. */
const STARTING_MS = 8000;
const LOOK_MS = 200;
/** So many actions of one answer come with their edits. */
const MOST_RESOLVED = 30;
/** What the server offers itself comes back from it, and is no news. */
const OWN_COMMANDS = "planloom.";

/** The params of the requests that are answered, of which each has some. */
interface Asked {
  textDocument?: lsp.TextDocumentIdentifier;
  position?: lsp.Position;
  range?: lsp.Range;
  item?: lsp.CallHierarchyItem;
  context?: { only?: string[] };
  options?: lsp.FormattingOptions;
  newName?: string;
  query?: string;
}

type Method = EditorLanguageParams["method"];
type Converters = Pick<LanguageClient, "code2ProtocolConverter" | "protocol2CodeConverter">;
type To = LanguageClient["code2ProtocolConverter"];

/** What is asked about a place in a file. `versions` are those of the open texts when it was asked. */
interface Place {
  uri: vscode.Uri;
  position: vscode.Position;
  range: vscode.Range;
  asked: Asked;
  versions: ReadonlyMap<string, number>;
  to: To;
}

const ANSWERS: Record<
  Exclude<Method, "workspace/symbol" | "codeAction/resolve">,
  (place: Place) => Promise<unknown>
> = {
  "textDocument/documentSymbol": async ({ uri, to }) =>
    symbols(await all<vscode.DocumentSymbol>("executeDocumentSymbolProvider", uri), to),
  "textDocument/definition": (place) => locations("executeDefinitionProvider", place),
  "textDocument/implementation": (place) => locations("executeImplementationProvider", place),
  "textDocument/references": (place) => locations("executeReferenceProvider", place),
  "textDocument/hover": async ({ uri, position }) => {
    const found = await all<vscode.Hover>("executeHoverProvider", uri, position);
    const value = found.flatMap(({ contents }) => contents.map(written)).join("\n\n");
    return value === "" ? null : { contents: { kind: "markdown", value } };
  },
  "textDocument/prepareCallHierarchy": async ({ uri, position, to }) =>
    (await all<vscode.CallHierarchyItem>("prepareCallHierarchy", uri, position)).map(to.asCallHierarchyItem),
  "callHierarchy/incomingCalls": (place) => calls("provideIncomingCalls", "from", place),
  "callHierarchy/outgoingCalls": (place) => calls("provideOutgoingCalls", "to", place),
  "textDocument/rename": async (place) => {
    const { uri, position, asked } = place;
    const edit = await run<vscode.WorkspaceEdit>("executeDocumentRenameProvider", uri, position, asked.newName);
    if (edit === undefined || edit.size === 0) return null;
    const converted = workspaceEdit(edit, place);
    if (converted === undefined) throw new Error("This rename also creates, moves or deletes files.");
    return converted;
  },
  "textDocument/codeAction": async (place) => {
    const { uri, range, asked } = place;
    const found = await Promise.all(
      (asked.context?.only ?? [undefined]).map((kind) =>
        all<vscode.CodeAction | vscode.Command>("executeCodeActionProvider", uri, range, kind, MOST_RESOLVED),
      ),
    );
    return Promise.all(
      found
        .flat()
        .filter((each) => !isOwn(each))
        .map((each) => action(each, place)),
    );
  },
  "textDocument/formatting": async ({ uri, asked, to }) => {
    const editor = vscode.workspace.getConfiguration("editor", uri);
    const own = { tabSize: editor.get("tabSize"), insertSpaces: editor.get("insertSpaces") };
    const edits = await all<vscode.TextEdit>("executeFormatDocumentProvider", uri, { ...asked.options, ...own });
    return edits.map(to.asTextEdit);
  },
};

/** What the user's other extensions know. */
export class OtherLanguages {
  /** The languages of which symbols are known, so that an empty answer is one; hovers and actions come for any file. */
  private readonly known = new Set<string>();
  private readonly waitedFor = new Set<string>();

  async answer(
    { method, params }: EditorLanguageParams,
    converters: Converters,
    token: vscode.CancellationToken,
  ): Promise<EditorLanguageResult> {
    try {
      const found = await this.found(method, params as Asked, converters, token);
      // LSP leaves out what is undefined, and has no classes.
      return { result: JSON.parse(JSON.stringify(found)) as EditorLanguageResult["result"] };
    } catch (error) {
      return { result: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  private async found(
    method: Method,
    asked: Asked,
    { code2ProtocolConverter: to, protocol2CodeConverter: from }: Converters,
    token: vscode.CancellationToken,
  ): Promise<unknown> {
    // An action has had its edit from the start, if it has one.
    if (method === "codeAction/resolve") return asked;
    if (method === "workspace/symbol") {
      const found = await all<vscode.SymbolInformation>("executeWorkspaceSymbolProvider", asked.query ?? "");
      if (found.length === 0 && this.known.size === 0) throw new Error("No extension of the editor knows code yet.");
      // The extension for TypeScript adds brackets to the names of functions.
      return found.map((each) => ({ ...to.asWorkspaceSymbol(each), name: each.name.replace(/\(\)$/, "") }));
    }
    const uri = from.asUri(asked.item?.uri ?? asked.textDocument?.uri ?? "");
    if (!isFile(uri) || uri.path.endsWith(PLAN_DOCUMENT) || !(await exists(uri.toString())))
      throw new Error("Language servers are asked about files alone, and not about documents of plans.");
    const { languageId, lineCount } = await vscode.workspace.openTextDocument(uri);
    await this.started(languageId, uri, token);
    // While a server reads its project it may answer from this file alone, as that of TypeScript does, but not this.
    await all("prepareCallHierarchy", uri, new vscode.Position(0, 0)).catch(() => undefined);
    const versions = new Map(vscode.workspace.textDocuments.map((each) => [each.uri.toString(), each.version]));
    const position = from.asPosition(asked.item?.selectionRange.start ?? asked.position) ?? new vscode.Position(0, 0);
    const range = from.asRange(asked.range) ?? new vscode.Range(position, position);
    const found = await ANSWERS[method]({ uri, position, range, asked, versions, to });
    const isEmpty = found === null || (Array.isArray(found) && found.length === 0);
    if (isEmpty && !this.known.has(languageId) && lineCount > 1)
      throw new Error(`No extension of the editor knows files of the language ${languageId}, or it is still starting.`);
    return found;
  }

  /** Waits until some extension tells symbols of a file of a language; only once, since there may be none that does. */
  private async started(language: string, uri: vscode.Uri, token: vscode.CancellationToken): Promise<void> {
    const ends = performance.now() + (this.waitedFor.has(language) ? 0 : STARTING_MS);
    this.waitedFor.add(language);
    while (!this.known.has(language) && !token.isCancellationRequested) {
      if ((await all("executeDocumentSymbolProvider", uri)).length > 0) this.known.add(language);
      else if (performance.now() >= ends) return;
      else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

function run<R>(command: string, ...given: readonly unknown[]): Thenable<R | undefined> {
  return vscode.commands.executeCommand<R | undefined>(`vscode.${command}`, ...given);
}

async function all<R>(command: string, ...given: readonly unknown[]): Promise<readonly R[]> {
  return (await run<readonly R[]>(command, ...given)) ?? [];
}

async function locations(command: string, { uri, position, to }: Place): Promise<readonly lsp.Location[]> {
  return (await all<vscode.Location | vscode.LocationLink>(command, uri, position)).map((each) =>
    "targetUri" in each
      ? { uri: to.asUri(each.targetUri), range: to.asRange(each.targetSelectionRange ?? each.targetRange) }
      : to.asLocation(each),
  );
}

function symbols(found: readonly vscode.DocumentSymbol[], to: To): lsp.DocumentSymbol[] {
  return found.map((each) => ({
    name: each.name,
    detail: each.detail,
    kind: to.asSymbolKind(each.kind),
    range: to.asRange(each.range),
    selectionRange: to.asRange(each.selectionRange),
    children: symbols(each.children, to),
  }));
}

/** The calls of the item at a place, which is prepared anew: the editor knows its own items alone. */
async function calls(command: string, end: "from" | "to", { uri, position, to }: Place): Promise<readonly object[]> {
  type Call = vscode.CallHierarchyIncomingCall & vscode.CallHierarchyOutgoingCall;
  const items = await all<vscode.CallHierarchyItem>("prepareCallHierarchy", uri, position);
  const found = (await Promise.all(items.map((item) => all<Call>(command, item)))).flat();
  return found.map((each) => ({ [end]: to.asCallHierarchyItem(each[end]), fromRanges: to.asRanges(each.fromRanges) }));
}

function written(content: vscode.MarkdownString | vscode.MarkedString): string {
  if (typeof content === "string") return content;
  return "language" in content ? `\`\`\`${content.language}\n${content.value}\n\`\`\`` : content.value;
}

function isCommand(action: vscode.CodeAction | vscode.Command): action is vscode.Command {
  return typeof action.command === "string";
}

function isOwn(action: vscode.CodeAction | vscode.Command): boolean {
  const command = isCommand(action) ? action : action.command;
  return command?.command.startsWith(OWN_COMMANDS) ?? false;
}

async function action(found: vscode.CodeAction | vscode.Command, place: Place): Promise<lsp.CodeAction | lsp.Command> {
  if (isCommand(found)) return place.to.asCommand(found);
  const { edit, ...rest } = found;
  const converted = edit === undefined ? undefined : workspaceEdit(edit, place);
  return { ...(await place.to.asCodeAction(rest)), ...(converted === undefined ? {} : { edit: converted }) };
}

/** The edits of texts; undefined if files are changed too, which an extension cannot see. */
function workspaceEdit(edit: vscode.WorkspaceEdit, { versions, to }: Place): lsp.WorkspaceEdit | undefined {
  const texts = edit.entries();
  if (texts.length < edit.size) return undefined;
  const documentChanges = texts.map(([uri, edits]) => ({
    textDocument: {
      uri: to.asUri(uri),
      version: versions.get(uri.toString()) ?? openDocument(uri)?.version ?? null,
    },
    edits: edits.map(to.asTextEdit),
  }));
  return { documentChanges };
}
