"""Rust: its scanner, and how Cargo and `mod` name its modules."""
