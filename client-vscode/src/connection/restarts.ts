// How often a server that has ended is started again: not one that ends again and again.

const MOST = 4;
const WITHIN_MS = 3 * 60_000;

export class Restarts {
  private ends: readonly number[] = [];

  /** Whether a server that has ended at this moment, in milliseconds, is started again. */
  isAllowed(now: number): boolean {
    this.ends = [...this.ends, now].filter((end) => now - end <= WITHIN_MS);
    return this.ends.length <= MOST;
  }
}
