"""The bytes that a checkout writes are asked of git: by the attributes of the content, not of the
disk.
"""

from __future__ import annotations

from kl_hooks.git.checkout import checkout_ids
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import find_repository
from kl_hooks.git.worktree import STAGED
from tests.support import Checkout

ATTRIBUTES = """\
*.crlf eol=crlf
*.id ident
*.u16 text working-tree-encoding=UTF-16LE eol=lf
*.bin filter=program
*.png binary
"""


def test_what_a_checkout_writes_follows_from_the_attributes_of_the_content(repo: Checkout) -> None:
    repository = find_repository(repo.root)
    assert repository
    texts: dict[str, str] = {
        "a.txt": "1\n2\n",
        "a.crlf": "1\n2\n",
        "sub/a b.txt": "3\n",
        "a.id": "$Id$\n",
    }
    for name, text in {**texts, "x.bin": "1\n", "x.png": "\r\n", "x.u16": "4\n"}.items():
        repo.write(name, text)
    repo.git("add", "-A")
    repo.write(".gitattributes", ATTRIBUTES)
    repo.write("sub/.gitattributes", "*.txt text eol=crlf\n")
    repo.git("config", "filter.program.smudge", "touch smudged")
    # encodings are converted by `git add` too
    (repo.root / "x.u16").write_bytes("4\n".encode("utf-16-le"))
    repo.git("add", "x.u16", ".gitattributes", "sub/.gitattributes")
    paths = [*texts, "x.bin", "x.png", "x.u16", "none.txt", "sub"]

    def ids(*contents: bytes) -> frozenset[str]:
        return frozenset(
            object_id(repository.object_format, b"blob", content) for content in contents
        )

    blob = object_id(repository.object_format, b"blob", b"$Id$\n")
    expected = {
        "a.txt": ids(b"1\n2\n"),
        "a.crlf": ids(b"1\r\n2\r\n"),
        "sub/a b.txt": ids(b"3\r\n"),
        "a.id": ids(f"$Id: {blob} $\n".encode()),
        "x.png": ids(b"\r\n"),
        "x.u16": ids("4\n".encode("utf-16-le")),
    }
    assert checkout_ids(repository, STAGED, paths) == expected
    tree = repo.git("write-tree").strip()
    # neither the index nor the disk is asked
    repo.git("rm", "-q", "-r", "-f", ".")
    assert checkout_ids(repository, tree, paths) == expected
    # of many files all of the tree is listed
    assert checkout_ids(repository, tree, [*paths, *map(str, range(400))]) == expected
    # the bytes on a machine without configuration are those of the content, too
    repo.git("config", "core.autocrlf", "true")
    here = checkout_ids(repository, tree, ["a.txt", "a.crlf"])
    assert here == {"a.txt": ids(b"1\n2\n", b"1\r\n2\r\n"), "a.crlf": ids(b"1\r\n2\r\n")}
    assert not (repo.root / "smudged").exists()
