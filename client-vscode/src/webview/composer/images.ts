// Images in the composer: pasted or dropped ones, drawn small, each with a way to leave it out; files dropped beside them.

import { html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";
import { repeat } from "lit/directives/repeat.js";

import { t } from "../../words";
import { icon, iconButton, type Panel, shown, type View } from "../ui";
import { withNewImage, withNotice } from "../uiState";

/** The types of images that models accept. */
const TYPES = /^image\/(png|jpeg|gif|webp|bmp)$/;
const URIS = ["application/vnd.code.uri-list", "text/uri-list"] as const;
/** The size up to which the server keeps an image. */
const MOST_BYTES = 5_000_000;
/** The height of a drawing in pixels: twice that in which it is shown, for sharp screens. */
const SIDE = 72;

/** Small drawings by the id of their image. The page's policy loads no image from an address, so they are drawn. */
const drawings = new Map<number, ImageBitmap>();

/** Whether the clipboard or what is dragged has something for the composer. */
export function isForComposer(data: DataTransfer | null): boolean {
  return (
    data !== null &&
    ([...data.types].some((type) => URIS.some((each) => each === type)) ||
      imagesOf(data).length > 0 ||
      data.types.includes("Files"))
  );
}

/** Attach the images of the clipboard; false if it has text, of which some programs add a picture, or no image. */
export function pasteImages(panel: Panel, data: DataTransfer | null): boolean {
  if (data === null || data.getData("text/plain").trim() !== "") return false;
  return attachAll(panel, data);
}

function attachAll(panel: Panel, data: DataTransfer): boolean {
  const images = imagesOf(data);
  for (const image of images) void attach(panel, image);
  return images.length > 0;
}

/** Attach what was dropped: images by their content, files of the workspace as references. */
export function dropped(panel: Panel, data: DataTransfer | null): void {
  if (data === null) return;
  const uris = URIS.map((type) => data.getData(type)).find((text) => text.trim() !== "");
  if (uris !== undefined) {
    const each = uris.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
    panel.post({ kind: "dropped", uris: each });
    return;
  }
  const others = [...data.files].filter(({ type }) => !TYPES.test(type));
  attachAll(panel, data);
  // A page cannot learn the path of a file that comes from outside the editor.
  if (others.length > 0) panel.post({ kind: "dropped", uris: [] });
}

function imagesOf(data: DataTransfer): readonly File[] {
  return [...data.files].filter(({ type }) => TYPES.test(type));
}

async function attach(panel: Panel, file: File): Promise<void> {
  if (file.size > MOST_BYTES) {
    const message = t("{0} is too large: an image may have {1} MB.", file.name, MOST_BYTES / 1_000_000);
    return panel.update((ui) => withNotice(ui, { level: "warning", message }));
  }
  panel.update((ui) => withNewImage(ui, file.name === "" ? t("Pasted image") : file.name));
  const id = panel.ui.lastImage;
  const [data] = await Promise.all([base64(file), draw(id, file)]);
  panel.update((ui) => ({ ...ui, images: [...ui.images] }));
  panel.post({ kind: "image", requestId: id, data });
}

async function base64(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  // A call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** Draw an image small; one that cannot be read is left to the server's judgement. */
async function draw(id: number, file: Blob): Promise<void> {
  const drawing = await createImageBitmap(file, { resizeHeight: SIDE }).catch(() => undefined);
  if (drawing !== undefined) drawings.set(id, drawing);
}

export function images(panel: Panel): View {
  const { ui } = panel;
  if (ui.images.length === 0) return nothing;
  return html`<ul class="images" aria-label=${t("Attached images")}>
    ${repeat(
      ui.images,
      ({ id }) => id,
      ({ id, name, uri }) => html`<li class="image" data-kept=${uri !== undefined}>
        ${drawings.has(id) ? html`<canvas ${ref((canvas) => paint(canvas, id))}></canvas>` : icon(uri === undefined ? "loading" : "file-media")}
        <span class="image-name">${shown(name)}</span>
        ${iconButton("close", t("Leave out {0}", name), () =>
          panel.update((now) => ({ ...now, images: now.images.filter((each) => each.id !== id) })),
        )}
      </li>`,
    )}
  </ul>`;
}

function paint(canvas: Element | undefined, id: number): void {
  const drawing = drawings.get(id);
  if (!(canvas instanceof HTMLCanvasElement) || drawing === undefined || canvas.width === drawing.width) return;
  canvas.width = drawing.width;
  canvas.height = drawing.height;
  canvas.getContext("2d")?.drawImage(drawing, 0, 0);
}
