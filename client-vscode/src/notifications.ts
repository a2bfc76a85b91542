// Shows what waits for the user as a notification of the editor, which can be taken back.

import * as vscode from "vscode";

import type { Notifier } from "./plan/attention";
import { t } from "./words";

/** Notifications for a user who does not see the panel, since it is hidden or the window has no focus. */
export function notifier(isVisible: () => boolean): Notifier {
  return {
    isQuiet: () =>
      (isVisible() && vscode.window.state.focused) ||
      !vscode.workspace.getConfiguration("planloom").get("notifications", true),
    show,
  };
}

/**
 * A progress can be taken back, which a message cannot. It has no buttons, so *Show* is a link in it, before the title of
 * the plan: a notification that is not unfolded shows one line.
 */
function show(message: string, plan: { planId: string; title: string } | undefined): () => void {
  const command =
    plan === undefined
      ? "planloom.ui.showPlan"
      : `planloom.ui.focus?${encodeURIComponent(JSON.stringify([plan.planId]))}`;
  const link = `${message} [${t("Show")}](command:${command})`;
  const title = plan === undefined ? link : `${link} · ${plan.title}`;
  let close = (): void => undefined;
  void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, (progress) => {
    // Without an amount the bar would move for as long as the user takes.
    progress.report({ increment: 0 });
    return new Promise<void>((resolve) => {
      close = resolve;
    });
  });
  return () => close();
}
