"""Tools that read and stage changes of files, and how an edit finds the text that it means."""
