"""The loop in which a language model works on one task: ask, read the answer, run the calls, judge whether it
is done.

Read `task` first (what goes in and how it can end), then `loop` and
`turns`; `answer_decoder` reads one streamed answer, `toolcalls` the calls that are written into plain text.
"""
