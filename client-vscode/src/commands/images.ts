// Images that are attached in the composer. The server keeps those that are no files.

import type { Ctx } from "../ctx";
import type { ExplicitAttachment } from "../protocol";

/** What a message of the panel has of images: where they are kept. */
export interface Images {
  images?: string[] | undefined;
}

/** Have the server keep an image, and tell the panel where; nothing if it was refused, which the user has been shown. */
export async function keepImage(ctx: Ctx, { requestId, data }: { requestId: number; data: string }): Promise<void> {
  const kept = await ctx.ask("planloom/attachment/keep", { data });
  ctx.panel.post({ kind: "image", requestId, ...(kept === undefined ? {} : { uri: kept.uri }) });
}

export function attachmentsOf(images: readonly string[] | undefined): readonly ExplicitAttachment[] | undefined {
  return images === undefined || images.length === 0 ? undefined : images.map((uri) => ({ uri }));
}
