"""Objectives: what is being worked towards over many sessions, with the tasks that remain and their progress."""
