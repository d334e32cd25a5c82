"""Reports: one view of a decision, rendered for terminals, Markdown, HTML and programs."""
