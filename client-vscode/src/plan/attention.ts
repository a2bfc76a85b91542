// Which notifications a user gets who does not look at the panel: one for each cause, taken back once it is answered.

import { linkless, plural, t } from "../words";
import type { PanelState } from "./views";

const LONGEST_TITLE = 60;

/** What the editor does for it. */
export interface Notifier {
  /** Whether the user looks at the panel, or wants no notifications. */
  isQuiet(): boolean;
  /** Show a message with a way to this plan, or without one to the list of all; returns what takes it back. */
  show(message: string, plan: { planId: string; title: string } | undefined): () => void;
}

interface Shown {
  readonly causes: ReadonlySet<string>;
  readonly close: () => void;
}

export class Attention {
  /** The causes that were there at the last look: each is notified once. */
  private known: ReadonlySet<string> = new Set();
  private open: readonly Shown[] = [];

  constructor(private readonly notifier: Notifier) {}

  /** Notify what is new in these plans, and withdraw what was answered. */
  look({ plans }: PanelState): void {
    const waiting = Object.values(plans).flatMap((view) => view.causes.map((cause) => ({ cause, view })));
    const now = new Set(waiting.map(({ cause }) => cause));
    const fresh = waiting.filter(({ cause }) => !this.known.has(cause));
    this.known = now;
    this.closeWhere((shown) => ![...shown.causes].some((cause) => now.has(cause)));
    const [first] = fresh;
    if (first === undefined || this.notifier.isQuiet()) return;
    const count = new Set(fresh.map(({ view }) => view)).size;
    const { plan } = first.view;
    const title = linkless(plan.request.trim().split("\n")[0] ?? "");
    const short = title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE)}…` : title;
    const close =
      count === 1
        ? this.notifier.show(`Planloom ${first.view.waits ?? t("waits for you")}.`, {
            planId: plan.planId,
            title: short,
          })
        : this.notifier.show(plural(count, "1 plan waits for you.", "{0} plans wait for you."), undefined);
    this.open = [...this.open, { causes: new Set(fresh.map(({ cause }) => cause)), close }];
  }

  /** The user has come to the panel, which shows all that the notifications say. */
  seen(): void {
    this.closeWhere(() => true);
  }

  private closeWhere(isOver: (shown: Shown) => boolean): void {
    const over = this.open.filter(isOver);
    this.open = this.open.filter((shown) => !over.includes(shown));
    for (const { close } of over) close();
  }
}
