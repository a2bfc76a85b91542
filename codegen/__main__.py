"""Writes every generated file of the repository: `python -m codegen`."""

from codegen.targets import ROOT, TARGETS

for path, content in TARGETS.items():
    (ROOT / path).write_text(content(), encoding="utf-8")
