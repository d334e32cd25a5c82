"""What a change may need once and the package never does: pages and schemas drawn from the code."""
