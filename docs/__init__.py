"""The documentation, with the tools that draw parts of it."""
