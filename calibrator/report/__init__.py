"""The result of a run for people: on the terminal and as Markdown."""
