// What of an approval the user has not seen: long texts that were not scrolled to their end, and diffs likewise.

import type { Approval, ApprovalFile } from "../../protocol";
import { list, number, plural, t } from "../../words";

/** From this size on a command, a list of files or a diff has to be seen to its end. */
const LONG_COMMAND = 600;
const LONG_LIST = 10;
const LONG_DIFF = 60;

/** The parts of an approval's card that scroll. */
type Part = "command" | "files" | "planChanges";

/** The name under which it is noted that the end of a part has been in view. */
export function endKey(approvalId: string, part: Part): string {
  return `${approvalId} ${part}`;
}

/** The name under which it is noted that a file's diff was seen to its last change. */
export function diffKey(approvalId: string, uri: string): string {
  return `${approvalId} diff ${uri}`;
}

export function isLong(file: ApprovalFile): boolean {
  return file.change !== "rename" && file.added + file.removed > LONG_DIFF;
}

/** What of an approval has not been seen, in words that follow "without having seen"; the files left out are not asked. */
export function unseenOf(
  { approvalId, command, files, planChanges = [] }: Approval,
  leftOut: readonly string[],
  seen: readonly string[],
): string | undefined {
  const missed = (part: Part, isLongPart: boolean): boolean => isLongPart && !seen.includes(endKey(approvalId, part));
  const diffs = files.filter(
    (file) => !leftOut.includes(file.uri) && isLong(file) && !seen.includes(diffKey(approvalId, file.uri)),
  );
  const lines = diffs.reduce((sum, file) => sum + file.added + file.removed, 0);
  const parts = [
    ...(missed("command", (command ?? "").length > LONG_COMMAND) ? [t("the end of the command")] : []),
    ...(missed("files", files.length > LONG_LIST) ? [plural(files.length, "the file", "all {0} files")] : []),
    ...(missed("planChanges", planChanges.length > LONG_LIST)
      ? [plural(planChanges.length, "the change", "all {0} changes")]
      : []),
    ...(lines > 0
      ? [plural(diffs.length, "{1} changed lines of 1 file", "{1} changed lines of {0} files", number(lines))]
      : []),
  ];
  return parts.length === 0 ? undefined : list(parts);
}
