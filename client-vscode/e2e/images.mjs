// Images and files that are put into the composer by hand, in a window in use.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hidePanel, titles } from "./gestures.mjs";
import { until } from "./workbench.mjs";

/** A turn of the scripted model: the plan of a page that looks like a picture. */
export const IMAGE_SCRIPT = [
  {
    when: { contains: ["Build the page in the picture"] },
    text: JSON.stringify({
      summary: "A page like the picture.",
      steps: [
        {
          id: "page",
          description: "Write the page",
          tool: "write_file",
          args: { path: "page.html", content: "<p>page</p>" },
          dependsOn: [],
        },
      ],
    }),
  },
];

/** Paste a picture of one colour, drawn in the page, as the clipboard would bring it. */
async function paste(panel, colour) {
  await panel.locator("#request").evaluate(async (area, fill) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [120, 80];
    const pen = canvas.getContext("2d");
    pen.fillStyle = fill;
    pen.fillRect(0, 0, 120, 80);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    const data = new DataTransfer();
    data.items.add(new File([blob], `${fill}.png`, { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, colour);
}

export const IMAGES = [
  {
    name: "images are pasted, one left out, a file dropped; the model sees what stays",
    files: { "style.css": "p { color: teal }\n" },
    async run({ window, folder, model, shots }) {
      const { panel } = window;
      const names = () => panel.locator('.image[data-kept="true"] .image-name').allTextContents();
      await window.showPanel();
      await panel.locator("#request").fill("1. Build the page in the picture\n2. Use ");
      await paste(panel, "teal");
      await paste(panel, "orange");
      await until("both images kept", async () => (await names()).join() === "teal.png,orange.png");
      assert.equal(readdirSync(join(folder, ".planloom")).filter((name) => name.endsWith(".png")).length, 2);
      await window.shot(join(shots, "images-300-dark.png"));
      await panel.locator(".image").filter({ hasText: "orange" }).locator("button").click();
      await panel.locator(".composer-box").evaluate(
        (box, uri) => {
          const data = new DataTransfer();
          data.setData("text/uri-list", uri);
          box.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        },
        pathToFileURL(join(folder, "style.css")).href,
      );
      await until("the dropped file in the draft", async () =>
        (await panel.locator("#request").inputValue()).endsWith("2. Use @style.css "),
      );
      await hidePanel(window);
      await window.showPanel();
      await until("the image on the next page", async () => (await names()).join() === "teal.png");
      await panel.locator("#verdict").waitFor();
      await panel.locator("#send:not([disabled])").click();
      await window.waitForStatus("pending_approval");
      assert.deepEqual(await titles(window), ["Write the page"]);
      assert.equal(await panel.locator(".image").count(), 0);
      const sent = JSON.stringify((await model.requests()).at(-1).messages);
      assert.equal(sent.match(/data:image\/png;base64,/g)?.length, 1);
      assert.match(sent, /color: teal/);
      assert.ok(!existsSync(join(folder, "page.html")));
    },
  },
];
