"""The contents of objects, out of one `git cat-file` for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from kl_hooks.git.repository import Repository, here
from kl_hooks.git.run import GitFailed, running

LARGEST: Final = 32 * 1024 * 1024
"""Bytes of the largest content that is given; a larger file is no source that anybody reads."""
_AT_ONCE: Final = 500  # ids per turn: they fit into a pipe, so that we never wait for git while git waits for us


def blobs(repo: Repository, ids: Sequence[str]) -> Iterator[bytes | None]:
    """The content for each id, in order; None where git does not have it, or it is larger than `LARGEST`."""
    if not ids:
        return
    with running(*here(repo), "cat-file", "--batch", cwd=repo.top, stdin=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            try:
                process.stdin.write("".join(f"{blob}\n" for blob in part).encode("ascii"))
                process.stdin.flush()
            except BrokenPipeError:  # git is gone: what is left reads as missing
                pass
            for _ in part:
                yield _next(process.stdout, b"blob")


@contextmanager
def tree_reader(repo: Repository) -> Iterator[Callable[[str], bytes]]:
    """A function that reads one tree object by its id; it raises GitFailed where there is none."""
    with running(*here(repo), "cat-file", "--batch", cwd=repo.top, stdin=True) as process:
        writer, reader = process.stdin, process.stdout
        assert writer is not None and reader is not None

        def read(tree: str) -> bytes:
            try:
                writer.write(f"{tree}\n".encode("ascii"))
                writer.flush()
            except BrokenPipeError:  # git is gone: there is no answer either
                pass
            content = _next(reader, b"tree")
            if content is None:
                raise GitFailed(f"git has no tree {tree}.", hint="See: git fsck")
            return content

        yield read


def _next(out: IO[bytes], kind: bytes) -> bytes | None:
    """One answer: `<id> blob <size>`, content, newline; or `<id> missing`; nothing at all if git ended."""
    about = out.readline().split()
    if len(about) != 3:
        return None
    size = int(about[2])
    if size > LARGEST:
        left = size + 1
        while left > 0:
            got = len(out.read(min(left, 1 << 20)))
            left = left - got if got else 0
        return None
    content = out.read(size)
    out.read(1)
    return content if about[1] == kind and len(content) == size else None
