// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import { type FromPanel, readFromPanel, type ServerState } from "../src/panel/messages";
import { EMPTY } from "../src/plan/views";
import { addresses, withKept } from "../src/webview/composer/attached";
import { composer } from "../src/webview/composer/composer";
import { createPanel, type Panel } from "../src/webview/ui";
import { freshUi, kept, taken, type Ui, withNewImage, written } from "../src/webview/uiState";
import { plan } from "./plans";

const RUNNING: ServerState = { kind: "running", model: "m", problems: [], trusted: true, review: "each", reviews: [] };
const PICTURE = new File([new Uint8Array([0x89, 0x50, 0x4e, 0x47])], "logo.png", { type: "image/png" });

function panelOf(): { panel: Panel; sent: FromPanel[] } {
  const sent: FromPanel[] = [];
  const ui: Ui = written({ ...freshUi(), server: RUNNING }, "What is this?", 0);
  return { panel: createPanel(ui, { post: (message) => void sent.push(message), changed: () => undefined }), sent };
}

function drawn(panel: Panel): HTMLElement {
  const root = document.createElement("div");
  render(composer(panel, undefined, { write: () => undefined, complete: () => undefined }), root);
  return root;
}

/** An event with this data, which pages cannot construct everywhere. */
function carrying(type: string, name: "clipboardData" | "dataTransfer", data: object): Event {
  const event = new Event(type, { bubbles: true, cancelable: true });
  Object.defineProperty(event, name, { value: data });
  return event;
}

const answer = (panel: Panel, requestId: number, uri?: string): void =>
  panel.update((ui) => taken(ui, { kind: "image", requestId, ...(uri === undefined ? {} : { uri }) }, EMPTY));

test("an image that was kept once is attached once; one that was refused goes", () => {
  const { images } = withNewImage(withNewImage(freshUi(), "a.png"), "b.png");
  expect([images.map(({ id }) => id), addresses(images)]).toEqual([[1, 2], undefined]);
  const one = withKept(images, 1, "file:///w/x.png");
  expect(addresses(withKept(one, 2, "file:///w/x.png"))).toEqual(["file:///w/x.png"]);
  expect(addresses(withKept(one, 2, undefined))).toEqual(["file:///w/x.png"]);
});

test("the answer about an image that was left out is not one about the next, also after a reload", () => {
  const leftOut: Ui = { ...withNewImage(freshUi(), "a.png"), images: [] };
  for (const ui of [leftOut, freshUi(JSON.parse(JSON.stringify(kept(leftOut))))]) {
    const next = withNewImage(ui, "b.png");
    expect(taken(next, { kind: "image", requestId: 1, uri: "file:///w/a.png" }, EMPTY).images).toEqual([
      { id: 2, name: "b.png" },
    ]);
  }
});

test.each([
  ["another image", "file:///w/b.png"],
  ["the same image", "file:///w/a.png"],
])("%s that is pasted while a request is sent stays for the next one", (_, uri) => {
  const { panel } = panelOf();
  panel.update((ui) => withNewImage(ui, "a.png"));
  answer(panel, 1, "file:///w/a.png");
  panel.create({ kind: "create", text: panel.ui.draft, mode: "auto" });
  panel.update((ui) => withNewImage(ui, "b.png"));
  answer(panel, 2, uri);
  panel.update((ui) => taken(ui, { kind: "settled", requestId: 1, ok: true }, EMPTY));
  expect(panel.ui.images).toEqual([{ id: 2, name: "b.png", uri }]);
});

test("a pasted image is kept by the server, sent with the request, and gone once it was taken", async () => {
  const { panel, sent } = panelOf();
  const pasted = carrying("paste", "clipboardData", { files: [PICTURE], types: ["Files"], getData: () => "" });
  drawn(panel).querySelector("#request")!.dispatchEvent(pasted);
  expect(pasted.defaultPrevented).toBe(true);
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]).toEqual({ kind: "image", requestId: 1, data: "iVBORw==" });
  expect(readFromPanel(sent[0])).toEqual(sent[0]);
  const send = () => panel.create({ kind: "create", text: panel.ui.draft, mode: "auto" });
  send();
  expect(sent.length, "nothing is sent before the image is kept").toBe(1);
  const button = () => drawn(panel).querySelector("#send")!;
  expect(button().hasAttribute("disabled")).toBe(true);
  answer(panel, 1, "file:///w/.planloom/image-1.png");
  expect(drawn(panel).querySelector(".image")!.textContent).toContain("logo.png");
  expect(freshUi(JSON.parse(JSON.stringify(kept(panel.ui)))).images).toEqual(panel.ui.images);
  expect(button().hasAttribute("disabled")).toBe(false);
  send();
  expect(sent.at(-1)).toMatchObject({ kind: "create", images: ["file:///w/.planloom/image-1.png"] });
  expect(readFromPanel(sent.at(-1))).toEqual(sent.at(-1));
  panel.update((ui) => taken(ui, { kind: "settled", requestId: 1, ok: true }, EMPTY));
  expect(panel.ui.images).toEqual([]);
});

test("an image that is too large is told of, and holds up nothing", () => {
  const { panel, sent } = panelOf();
  const huge = new File([new Uint8Array(5_000_001)], "huge.png", { type: "image/png" });
  const pasted = carrying("paste", "clipboardData", { files: [huge], types: ["Files"], getData: () => "" });
  drawn(panel).querySelector("#request")!.dispatchEvent(pasted);
  expect([panel.ui.images, sent]).toEqual([[], []]);
  expect(panel.ui.notices.map(({ message }) => message)).toEqual(["huge.png is too large: an image may have 5 MB."]);
});

test("an image can be left out, and goes with a message to a plan too", () => {
  const { panel, sent } = panelOf();
  panel.update((ui) => ({ ...ui, images: [{ id: 1, name: "a.png", uri: "file:///w/a.png" }] }));
  panel.create({ kind: "message", planId: plan([]).planId, text: "Like this" });
  expect(sent.at(-1)).toMatchObject({ kind: "message", images: ["file:///w/a.png"] });
  (drawn(panel).querySelector(".image button") as HTMLElement).click();
  expect(panel.ui.images).toEqual([]);
});

test("pasted text stays text; dropped files of the explorer become references", () => {
  const { panel, sent } = panelOf();
  const text = carrying("paste", "clipboardData", { files: [PICTURE], types: ["text/plain"], getData: () => "x" });
  drawn(panel).querySelector("#request")!.dispatchEvent(text);
  expect(text.defaultPrevented).toBe(false);
  const data = {
    files: [],
    types: ["text/uri-list"],
    getData: (type: string) => (type === "text/uri-list" ? "file:///w/a.py\r\n#comment\r\nfile:///w/b.py" : ""),
  };
  const over = carrying("dragover", "dataTransfer", data);
  drawn(panel).querySelector(".composer-box")!.dispatchEvent(over);
  expect(over.defaultPrevented).toBe(true);
  drawn(panel)
    .querySelector(".composer-box")!
    .dispatchEvent(carrying("drop", "dataTransfer", data));
  expect(sent).toEqual([{ kind: "dropped", uris: ["file:///w/a.py", "file:///w/b.py"] }]);
});
