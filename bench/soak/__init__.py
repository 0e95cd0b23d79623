"""The faults of docs/faults.md as a program that runs for a night: seeded, resumable."""
