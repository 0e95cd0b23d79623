"""Decisions taken in from other tools' files and given out to them: files found, ids given, references kept."""
