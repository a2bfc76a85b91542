// Which text the findings of a file are about: the editor does not say, so their announcements are watched.

/** The editor collects announcements for 50 ms: one that comes sooner after a change may have been made before it. */
export const COLLECTED_MS = 60;
/** Several tools look at one file: no version is told until none of them has said more for this long. */
export const SETTLED_MS = 300;

/** What the editor holds of one file now: the version of its text, and every finding as an object that lives as long as it stands. */
export interface Now<F extends object> {
  version: number;
  findings: readonly F[];
  /** Milliseconds of a clock that only goes forward. */
  at: number;
}

interface Known {
  version: number;
  changedAt: number;
  /** The version that the last announcement was about, and when it came. */
  announced?: { version: number; at: number };
}

/**
 * The versions that findings are about. A tool that looks at a text anew replaces its findings by new objects, so one
 * that was there before a change and still stands has not been said of the changed text.
 */
export class DiagnosticVersions<F extends object> {
  private readonly files = new Map<string, Known>();
  private readonly about = new WeakMap<F, number>();

  /** The text of a file has changed. What stands unseen until now was said of the text before. */
  changed(file: string, now: Now<F>): void {
    const known = this.files.get(file);
    // A save is told as a change too, of the same version.
    if (known?.version === now.version) return;
    this.date(now.findings, known?.version ?? now.version - 1);
    this.files.set(file, { ...known, version: now.version, changedAt: now.at });
  }

  /** Some tool has said what it finds in a file, be it the same as before or nothing. */
  announced(file: string, now: Now<F>): void {
    const known = this.files.get(file) ?? { version: now.version, changedAt: -Infinity };
    const late = now.at - known.changedAt >= COLLECTED_MS;
    this.date(now.findings, now.version);
    const version = late ? now.version : known.announced?.version;
    this.files.set(file, { ...known, ...(version === undefined ? {} : { announced: { version, at: now.at } }) });
  }

  /** The oldest version that any of the findings is about; undefined where nobody can tell. */
  version(file: string, now: Now<F>): number | undefined {
    const announced = this.files.get(file)?.announced;
    if (announced === undefined || now.at - announced.at < SETTLED_MS) return undefined;
    const versions = now.findings.map((finding) => this.about.get(finding));
    return versions.reduce(
      (least, each) => (least === undefined || each === undefined ? undefined : Math.min(least, each)),
      announced.version,
    );
  }

  /** A file was closed: its versions begin anew. */
  forget(file: string): void {
    this.files.delete(file);
  }

  private date(findings: readonly F[], version: number): void {
    for (const finding of findings) if (!this.about.has(finding)) this.about.set(finding, version);
  }
}
