"""Excerpts: text that is shown out of a page, a document, a record or code."""

from __future__ import annotations

from kl_hooks.model.symbol import NodeId


class Excerpt:
    """A text with its origin: where a policy hides anything of the origin, no list has the
    excerpt.
    """

    __slots__ = ()

    @property
    def origin(self) -> NodeId:
        """The file, record or symbol that it is from."""
        raise NotImplementedError
