// A file system of the scheme `memfs`, whose files are those at the same paths of the disk, so that a journey can look at them.
const fs = require("node:fs");
const vscode = require("vscode");

const { FileChangeType, FileSystemError, FileType } = vscode;

exports.activate = ({ subscriptions }) => {
  const changed = new vscode.EventEmitter();
  const tell = (type, uri) => changed.fire([{ type, uri }]);
  const there = (uri) => {
    try {
      return fs.statSync(uri.path);
    } catch {
      throw FileSystemError.FileNotFound(uri);
    }
  };
  const provider = {
    onDidChangeFile: changed.event,
    watch: () => ({ dispose: () => undefined }),
    stat(uri) {
      const found = there(uri);
      const type = found.isDirectory() ? FileType.Directory : FileType.File;
      return { type, ctime: found.ctimeMs, mtime: found.mtimeMs, size: found.size };
    },
    readDirectory(uri) {
      there(uri);
      return fs
        .readdirSync(uri.path, { withFileTypes: true })
        .map((each) => [each.name, each.isDirectory() ? FileType.Directory : FileType.File]);
    },
    readFile(uri) {
      there(uri);
      return fs.readFileSync(uri.path);
    },
    writeFile(uri, content, { create, overwrite }) {
      const isThere = fs.existsSync(uri.path);
      if (isThere && create && !overwrite) throw FileSystemError.FileExists(uri);
      if (!isThere && !create) throw FileSystemError.FileNotFound(uri);
      fs.writeFileSync(uri.path, content);
      tell(isThere ? FileChangeType.Changed : FileChangeType.Created, uri);
    },
    createDirectory(uri) {
      fs.mkdirSync(uri.path);
      tell(FileChangeType.Created, uri);
    },
    delete(uri, { recursive }) {
      if (there(uri).isDirectory() && !recursive) fs.rmdirSync(uri.path);
      else fs.rmSync(uri.path, { recursive });
      tell(FileChangeType.Deleted, uri);
    },
    rename(uri, to) {
      there(uri);
      fs.renameSync(uri.path, to.path);
      tell(FileChangeType.Deleted, uri);
      tell(FileChangeType.Created, to);
    },
  };
  subscriptions.push(vscode.workspace.registerFileSystemProvider("memfs", provider, { isCaseSensitive: true }));
};
