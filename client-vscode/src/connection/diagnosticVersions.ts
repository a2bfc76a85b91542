// Finds out to which version of a file its diagnostics belong, by watching when they change: the editor does not say.

/** The editor collects changes of diagnostics for 50 ms: one announced sooner after an edit may be older than it. */
export const COLLECTED_MS = 60;
/** Several tools may check one file: no version is known until all of them have been quiet for this long. */
export const SETTLED_MS = 300;

/** What the editor holds of one file now. Each diagnostic is the same object for as long as it stays. */
export interface Now<F extends object> {
  version: number;
  findings: readonly F[];
  /** Milliseconds of a monotonic clock. */
  at: number;
}

interface Known {
  version: number;
  changedAt: number;
  /** The version to which the last announcement belongs, and when it came. */
  announced?: { version: number; at: number };
}

/**
 * The versions to which diagnostics belong. A tool that checks a text again replaces its diagnostics by new objects, so
 * one that was there before an edit and is still there does not belong to the edited text.
 */
export class DiagnosticVersions<F extends object> {
  private readonly files = new Map<string, Known>();
  private readonly about = new WeakMap<F, number>();

  /** The text of a file has changed. Diagnostics not seen before belong to the text before. */
  changed(file: string, now: Now<F>): void {
    const known = this.files.get(file);
    // A save is announced as a change too, with the same version.
    if (known?.version === now.version) return;
    this.date(now.findings, known?.version ?? now.version - 1);
    this.files.set(file, { ...known, version: now.version, changedAt: now.at });
  }

  /** Some tool has announced its diagnostics of a file, perhaps the same as before or none. */
  announced(file: string, now: Now<F>): void {
    const known = this.files.get(file) ?? { version: now.version, changedAt: -Infinity };
    const late = now.at - known.changedAt >= COLLECTED_MS;
    this.date(now.findings, now.version);
    const version = late ? now.version : known.announced?.version;
    this.files.set(file, { ...known, ...(version === undefined ? {} : { announced: { version, at: now.at } }) });
  }

  /** The oldest version to which one of the diagnostics belongs; undefined if it cannot be known. */
  version(file: string, now: Now<F>): number | undefined {
    const announced = this.files.get(file)?.announced;
    if (announced === undefined || now.at - announced.at < SETTLED_MS) return undefined;
    const versions = now.findings.map((finding) => this.about.get(finding));
    return versions.reduce(
      (least, each) => (least === undefined || each === undefined ? undefined : Math.min(least, each)),
      announced.version,
    );
  }

  /** A file was closed: its versions start again. */
  forget(file: string): void {
    this.files.delete(file);
  }

  private date(findings: readonly F[], version: number): void {
    for (const finding of findings) if (!this.about.has(finding)) this.about.set(finding, version);
  }
}
