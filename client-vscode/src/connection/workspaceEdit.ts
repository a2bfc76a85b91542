// Puts an edit into the form that VS Code makes whole: a new file with its contents, a folder after what was in it.

import type {
  ApplyWorkspaceEditResult,
  CreateFile,
  DeleteFile,
  TextDocumentEdit,
  WorkspaceEdit,
} from "vscode-languageclient/node";

type Change = NonNullable<WorkspaceEdit["documentChanges"]>[number];

/** The files whose text an edit changes. */
export function editedFiles({ changes, documentChanges }: WorkspaceEdit): readonly string[] {
  const documents = documentChanges?.flatMap((each) => (isText(each) ? [each.textDocument.uri] : [])) ?? [];
  return [...documents, ...Object.keys(changes ?? {})];
}

/** The files that an edit creates. */
export function createdFiles({ documentChanges }: WorkspaceEdit): readonly string[] {
  return documentChanges?.flatMap((each) => (isCreation(each) ? [each.uri] : [])) ?? [];
}

/**
 * The edit in which each creation that the text of the same file follows has that text as its contents.
 *
 * The library passes the options of a creation on to `vscode.WorkspaceEdit.createFile` as they are.
 */
export function withContents(edit: WorkspaceEdit): WorkspaceEdit {
  const changes = edit.documentChanges;
  if (changes === undefined) return edit;
  const documentChanges: Change[] = [];
  for (const change of changes) {
    const before = documentChanges.at(-1);
    const text = before !== undefined && isCreation(before) && isText(change) ? textOf(before, change) : undefined;
    if (text === undefined) documentChanges.push(change);
    else documentChanges[documentChanges.length - 1] = created(before as CreateFile, text);
  }
  return { ...edit, documentChanges };
}

/**
 * The edit in parts to make one after the other: a folder that is deleted after what was in it begins a part.
 *
 * VS Code makes successive deletions together and checks all of them first, when that folder is not empty yet.
 */
export function inParts(edit: WorkspaceEdit): readonly WorkspaceEdit[] {
  const parts: Change[][] = [[]];
  for (const change of edit.documentChanges ?? []) {
    const part = parts[parts.length - 1] as Change[];
    if (isDeletion(change) && part.some((each) => isDeletion(each) && each.uri.startsWith(`${change.uri}/`)))
      parts.push([change]);
    else part.push(change);
  }
  return parts.length === 1 ? [edit] : parts.map((documentChanges) => ({ ...edit, documentChanges }));
}

/** The answer to an edit, with a reason where it was not applied: the library gives none. */
export async function withReason(
  result: ApplyWorkspaceEditResult,
  edit: WorkspaceEdit,
  exists: (uri: string) => PromiseLike<boolean>,
  version: (uri: string) => number | undefined,
): Promise<ApplyWorkspaceEditResult> {
  if (result.applied || result.failureReason !== undefined) return result;
  for (const change of edit.documentChanges ?? []) {
    if (!isText(change)) continue;
    const { uri, version: asked } = change.textDocument;
    const now = version(uri);
    if (asked !== null && now !== undefined && now !== asked)
      return { ...result, failureReason: `${uri} has version ${now}, not ${asked}` };
  }
  for (const uri of createdFiles(edit))
    if (await exists(uri)) return { ...result, failureReason: `${uri} exists already` };
  return { ...result, failureReason: "VS Code did not apply it" };
}

function created(creation: CreateFile, text: string): CreateFile {
  const options = { ...creation.options, contents: new TextEncoder().encode(text) };
  return { ...creation, options };
}

/** The text that the change right after a creation puts into the new file; undefined if it is another change. */
function textOf(creation: CreateFile, { textDocument, edits }: TextDocumentEdit): string | undefined {
  const [edit, ...others] = edits;
  const isWhole = textDocument.uri === creation.uri && others.length === 0 && creation.options?.overwrite !== true;
  return isWhole && edit !== undefined && "newText" in edit && isAtStart(edit.range) ? edit.newText : undefined;
}

function isAtStart({ start, end }: { start: Place; end: Place }): boolean {
  return [start.line, start.character, end.line, end.character].every((number) => number === 0);
}

interface Place {
  line: number;
  character: number;
}

function isText(change: Change): change is TextDocumentEdit {
  return "textDocument" in change;
}

function isDeletion(change: Change): change is DeleteFile {
  return "kind" in change && change.kind === "delete";
}

function isCreation(change: Change): change is CreateFile {
  return "kind" in change && change.kind === "create";
}
