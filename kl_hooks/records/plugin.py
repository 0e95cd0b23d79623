"""The door of `records`: its tables, and what the records offer to a task."""

from __future__ import annotations
