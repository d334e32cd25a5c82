"""Reading and writing safely: files, git, encodings, secrets and child processes."""
