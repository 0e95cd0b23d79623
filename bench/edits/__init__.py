"""Edits of small projects and of public suites, each judged by kl and by the whole suite."""
