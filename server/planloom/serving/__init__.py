"""Programs that serve an editor over stdin and stdout: their pipes, options, log and settings, and how they open the
application. It knows no protocol.
"""
