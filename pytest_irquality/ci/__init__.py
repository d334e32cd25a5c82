"""The jobs of a CI service as commands: what a workflow would otherwise do by hand, in shell."""
