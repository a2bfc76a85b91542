// Texts that are kept in memory, as files of a scheme of their own: the editor can show, change and save them.

import * as vscode from "vscode";

export interface KeptText {
  /** What the file holds. */
  text: string;
  /** When it was last changed, in milliseconds since 1970. */
  at: number;
  readonly isReadonly?: boolean;
}

export class TextFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly registration: vscode.Disposable;

  /** `find` returns the text of a file; `onSaved` is called when the editor has saved a new one. */
  constructor(
    scheme: string,
    private readonly find: (uri: vscode.Uri) => KeptText | undefined,
    private readonly onSaved: (uri: vscode.Uri) => void,
  ) {
    this.registration = vscode.workspace.registerFileSystemProvider(scheme, this, { isCaseSensitive: true });
  }

  /** Give a file another text and tell the editor. */
  replace(uri: vscode.Uri, kept: KeptText, text: string): void {
    write(kept, text);
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { text, at, isReadonly } = this.found(uri);
    const file = { type: vscode.FileType.File, ctime: 0, mtime: at, size: Buffer.byteLength(text) };
    return isReadonly === true ? { ...file, permissions: vscode.FilePermission.Readonly } : file;
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return Buffer.from(this.found(uri).text);
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const kept = this.found(uri);
    if (kept.isReadonly === true) throw vscode.FileSystemError.NoPermissions(uri);
    write(kept, Buffer.from(content).toString());
    this.onSaved(uri);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private found(uri: vscode.Uri): KeptText {
    const kept = this.find(uri);
    if (kept === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return kept;
  }
}

function write(kept: KeptText, text: string): void {
  kept.text = text;
  kept.at = Math.max(Date.now(), kept.at + 1);
}
