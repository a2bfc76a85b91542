"""What is known of the code: by the editor's own language servers, and by those that are started here.

Start with `language.py`, which chooses whom to ask; `spoken.py` reads the answers of both, `server.py` is one running
server, `judging.py` asks for the problems before and after a change, which `comparing.py` compares.
"""
