// @vitest-environment happy-dom
import { render } from "lit";
import { expect, test } from "vitest";

import { markdownView } from "../src/webview/text/markdownView";

const drawn = (text: string): HTMLElement => {
  const root = document.createElement("div");
  render(markdownView(text), root);
  return root;
};

test("what models write most is read: headings, lists in lists, code, tables, quotes", () => {
  const root = drawn(`# Why it fails

The test calls **\`show()\`** with *seconds*,
not minutes.

1. Read \`a_b_c.py\`
   - first
   - second
2. Change it

\`\`\`python
def f(x):
    return "<b>**x**</b>"
\`\`\`

| file | lines |
|---|--:|
| a.py | 3 |

> quoted
> twice

---
End`);
  expect([...root.firstElementChild!.children].map((each) => each.tagName)).toEqual([
    "P",
    "P",
    "OL",
    "PRE",
    "DIV",
    "BLOCKQUOTE",
    "HR",
    "P",
  ]);
  expect(root.querySelector("strong code")?.textContent).toBe("show()");
  expect(root.querySelector("em")?.textContent).toBe("seconds");
  expect([...root.querySelectorAll("ol > li > ul > li")].map((each) => each.textContent)).toEqual(["first", "second"]);
  expect(root.querySelector("ol code")?.textContent).toBe("a_b_c.py");
  expect(root.querySelector("pre")?.textContent).toBe('def f(x):\n    return "<b>**x**</b>"');
  expect([...root.querySelectorAll("th, td")].map((each) => each.textContent)).toEqual(["file", "lines", "a.py", "3"]);
});

test.each([
  "<img src=x onerror=alert(1)>",
  "[click](command:workbench.action.quit)",
  "![x](https://evil.test/x.png)",
  "<script>alert(1)</script>",
  "[a]: javascript:alert(1)\n[b][a]",
  "```html\n<iframe src=x></iframe>\n```",
])("no markup and no address comes out of %j", (text) => {
  const root = drawn(text);
  expect(root.querySelector("a, img, script, iframe, [href], [src], [onerror]")).toBeNull();
  expect(root.textContent).toContain(text.replace(/^```html\n|\n```$/g, "").split("\n")[0]);
});

test.each(["<div>\n  x\n</div>", "[a]: javascript:alert(1)"])(
  "%j stands in a paragraph, which keeps its lines",
  (text) => {
    expect(drawn(text).querySelector("p")?.textContent).toBe(text);
  },
);

test.each(["2 * 3 * 4 and snake_case_name", "a ** b ** c", "`open", "**open", "__init__.py"])(
  "%j is no Markdown and stays as it is",
  (text) => {
    expect(drawn(text).textContent).toBe(text.trim());
    expect(drawn(text).querySelector("strong, em, code")).toBeNull();
  },
);

test("a code block without an end goes on to the end; hidden characters are shown as marks", () => {
  const blocks = drawn("a\n```\nb\n\n# c").querySelectorAll(".markdown > *");
  expect([...blocks].map((each) => [each.tagName, each.textContent])).toEqual([
    ["P", "a"],
    ["PRE", "b\n\n# c"],
  ]);
  expect(drawn("safe\u202etxt").querySelector(".mark")).not.toBeNull();
});

test("a text that is made to be slow is read in time", () => {
  const before = process.cpuUsage();
  const texts = ["*", "- ", "`", "**a ", "| ", ">", "1. ", "_a_"].map((each) => each.repeat(5000));
  for (const text of texts) drawn(text);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6, "seconds of processor time").toBeLessThan(5);
});
