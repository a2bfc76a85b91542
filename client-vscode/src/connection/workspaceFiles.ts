// The files of the workspace folders, which may lie in a file system that only the editor can reach: lists and reads them, and creates folders.

import * as vscode from "vscode";

import type { EditorCreateFolderResult, EditorFilesResult, EditorReadResult } from "../protocol";

/** Above this size in bytes, a file is not read: the server takes no text that is larger. */
const MOST_BYTES = 5 * 1024 * 1024;

/** How the names of plans as documents end, wherever they are kept; the server gives their lenses and actions. */
export const PLAN_DOCUMENT = ".plan.md";

/** The scheme of files on a disk, and those of the opened folders. */
export function fileSchemes(): readonly string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return [...new Set(["file", ...folders.map(({ uri }) => uri.scheme)])];
}

/** Whether an address is that of a file, on a disk or in a file system of the workspace. */
export function isFile({ scheme }: vscode.Uri): boolean {
  return fileSchemes().includes(scheme);
}

/** The files and folders in a folder. */
export async function listFolder(uri: string): Promise<EditorFilesResult> {
  const found = await vscode.workspace.fs.readDirectory(vscode.Uri.parse(uri));
  const entries = found.flatMap(([name, type]) => {
    const kind = kindOf(type);
    return kind === undefined ? [] : [{ name, kind }];
  });
  return { entries };
}

/** What is at an address, with the bytes of a file. Throws if the file system cannot tell. */
export async function readFile(uri: string): Promise<EditorReadResult> {
  const place = vscode.Uri.parse(uri);
  try {
    const { type, size } = await vscode.workspace.fs.stat(place);
    if (kindOf(type) === "folder") return { kind: "folder" };
    if (size > MOST_BYTES) return { kind: "file", size };
    const bytes = await vscode.workspace.fs.readFile(place);
    return { kind: "file", size: bytes.length, content: Buffer.from(bytes).toString("base64") };
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return { kind: "absent" };
    throw error;
  }
}

/** Create a folder and those above it. */
export async function createFolder(uri: string): Promise<EditorCreateFolderResult> {
  const place = vscode.Uri.parse(uri);
  if (await exists(uri)) return { created: false, reason: "It exists already." };
  try {
    await vscode.workspace.fs.createDirectory(place);
    return { created: true };
  } catch (error) {
    return { created: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether anything is at an address. */
export function exists(uri: string): Promise<boolean> {
  return Promise.resolve(
    vscode.workspace.fs.stat(vscode.Uri.parse(uri)).then(
      () => true,
      () => false,
    ),
  );
}

function kindOf(type: vscode.FileType): "file" | "folder" | undefined {
  if (type & vscode.FileType.Directory) return "folder";
  return type & vscode.FileType.File ? "file" : undefined;
}
