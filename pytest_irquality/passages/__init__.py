"""Find passages in results, in any notation, and explain why a passage is missing."""
