"""Passages: finding the words of a text in results, whatever their form, and why one is missing."""
