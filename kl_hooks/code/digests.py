"""Content hashes from the frames of a file: what a symbol says, without comments, docstrings, layout and position."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from kl_hooks.code.frames import Frame


def seal(frames: Sequence[Frame]) -> None:
    """Sets `own` and `full` of every frame; inner frames come after the outer ones, so from the last to the first.

    A class and a module leave out the functions and classes defined in them, which have hashes of their own; their
    fields stay. A function takes in everything inside it: a changed inner function is a changed function.
    """
    for frame in reversed(frames):
        digest = sha256("\0".join(frame.text).encode("utf-8", "surrogatepass"))
        if not frame.kids:
            frame.own = frame.full = digest.digest()
            continue
        full = digest.copy()
        for kid in frame.kids:
            full.update(kid.full)
        frame.full = full.digest()
        if frame.kind == "function" or (frame.kind == "block" and frame.scope == "function"):
            frame.own = frame.full
            continue
        for kid in frame.kids:
            if kid.kind not in ("function", "class"):
                digest.update(kid.own)
        frame.own = digest.digest()


def combined(digests: Sequence[bytes]) -> str:
    """16 hexadecimal digits: of the one definition, or of all definitions of one name in their order."""
    if len(digests) == 1:
        return digests[0].hex()[:16]
    return sha256(b"".join(digests)).hexdigest()[:16]
