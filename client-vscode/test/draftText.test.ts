import { expect, test } from "vitest";

import { draftText } from "../src/plan/draftText";

test.each([
  [
    '```json\n{"summary": "Two steps", "steps": [{"description": "Read \\"a\\"", "tool": "read_file", "args": {"path": "a"}}, {"description": "Chan',
    'Two steps\nRead "a"\nChan',
  ],
  ['{"steps": [{"tool": "read_file", "args": {"path":', ""],
  ['tion": "cut at its start", "description": "A line\\nand one m\\u00', "A line\nand one m"],
  ["1. Read the file\n2. Change it", "1. Read the file\n2. Change it"],
  ["", ""],
])("of %j a person reads %j", (streamed, read) => {
  expect(draftText(streamed)).toBe(read);
});
