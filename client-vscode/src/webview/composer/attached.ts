// The images that are attached to what is written in the composer.

/** An image; without `uri` while the server keeps it, and named by what it was before it was pasted. */
export interface AttachedImage {
  readonly id: number;
  readonly name: string;
  readonly uri?: string | undefined;
}

/**
 * The images after the server has kept one, or has refused it. The same image is attached once; those of the request
 * that is on its way, by their ids, go with it and are not compared.
 */
export function withKept(
  images: readonly AttachedImage[],
  id: number,
  uri: string | undefined,
  onTheirWay: readonly number[] = [],
): readonly AttachedImage[] {
  const isTwice = images.some((each) => each.id !== id && each.uri === uri && !onTheirWay.includes(each.id));
  if (uri === undefined || isTwice) return images.filter((each) => each.id !== id);
  return images.map((each) => (each.id === id ? { ...each, uri } : each));
}

/** The addresses to send, or undefined while one is not known yet. */
export function addresses(images: readonly AttachedImage[]): string[] | undefined {
  const known = images.flatMap(({ uri }) => (uri === undefined ? [] : [uri]));
  return known.length === images.length ? known : undefined;
}
