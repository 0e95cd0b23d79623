"""ManifestProblems: what keeps a manifest from being used."""

from __future__ import annotations

from kl_hooks.config.problems import Problems


class ManifestProblems(Problems):
    """The manifest can't be used: exit 2. `problems` has each with its place."""
