"""Benchmarks of speed, memory and reliability, and the simulation of the default checks."""
