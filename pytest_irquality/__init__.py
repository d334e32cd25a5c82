"""Search-quality regression tests for pytest."""
