"""How costs grow with what there is: files, events, steps, bytes and open plans."""
