"""The pytest plugin: options, collection, items, and the end of a session."""
