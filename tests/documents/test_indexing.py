"""The index of documents: what any order of changes leaves is what one built from nothing has."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kl_hooks.documents import indexing
from kl_hooks.documents.indexing import (
    indexed_documents,
    load_chunks,
    search_chunks,
    sync_documents,
    visible_documents,
)
from kl_hooks.workspace import Workspace
from tests.support import Checkout

WORDS = ("basket", "totals", "refund", "parser")


def content(ws: Workspace) -> Any:
    """All that the index has, without numbers, and what searches of it find."""
    with ws.store.reading("graph") as db:
        assert db is not None
        files = db.rows("SELECT * FROM document_files ORDER BY document")
        chunks = db.rows(
            "SELECT document, place, heading, first_line, last_line, text, text_hash FROM"
            " document_chunks ORDER BY document, place"
        )
        names = db.rows(
            "SELECT c.document, c.place, n.written FROM document_names n JOIN document_chunks c"
            " ON c.id = n.chunk ORDER BY 1, 2, 3"
        )
    found = {}
    for word in WORDS:
        scores = search_chunks(ws, word, limit=50)
        chunk_of = {one.id: one for one in load_chunks(ws, [number for number, _ in scores])}
        found[word] = [
            (chunk_of[n].document, chunk_of[n].first_line, round(s, 6)) for n, s in scores
        ]
    return files, chunks, names, found


def change(repo: Checkout, chance: random.Random) -> None:
    """One random step of somebody's work."""
    docs = sorted(path.relative_to(repo.root).as_posix() for path in repo.root.glob("docs/*.md"))
    text = (
        f"# {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=6))} `shop.total`\n\n##"
        " More\n\nx\n"
    )
    step = chance.choice(("add", "edit", "rename", "delete", "commit", "branch"))
    if step == "add" or not docs:
        repo.write(f"docs/{chance.randrange(9)}.md", text)
    elif step == "edit":
        repo.write(chance.choice(docs), text)
    elif step == "rename":
        (repo.root / chance.choice(docs)).rename(repo.root / f"docs/r{chance.randrange(9)}.md")
    elif step == "delete":
        (repo.root / chance.choice(docs)).unlink()
    elif step == "commit":
        repo.commit()
    else:
        repo.commit()
        branches = repo.git("branch", "--format=%(refname:short)").split()
        new = chance.random() < 0.5
        repo.git(
            "checkout", "-q", *(["-b", f"b{len(branches)}"] if new else [chance.choice(branches)])
        )


@pytest.mark.requirement("D18")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.share(3)
def test_any_order_of_changes_leaves_the_index_that_is_built_from_nothing(
    repo: Checkout, seed: int
) -> None:
    chance, ws = random.Random(seed), repo.workspace()
    for step in range(14):
        change(repo, chance)
        if step % 3 == 2:
            sync_documents(ws)
    sync_documents(ws)
    left = content(ws)
    assert left[0]
    assert sync_documents(ws).read == 0  # nothing is read twice
    ws.state.graph.unlink()
    sync_documents(ws)
    assert content(ws) == left


@pytest.mark.fault(
    "killed process",
    promised="the next run goes on where it was",
    injected="an index of documents that is stopped in the middle",
)
def test_a_run_that_is_killed_goes_on_where_it_was(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        repo.write(f"docs/{number}.md", f"# Page {number}\n\nA basket.\n")
    ws = repo.workspace()
    monkeypatch.setattr(indexing, "_BATCH", 2)

    def killed(made: Any, number: int) -> Any:
        assert number == 6
        for count, one in enumerate(made):
            if count == 5:
                raise KeyboardInterrupt
            yield one

    with pytest.raises(KeyboardInterrupt):
        sync_documents(ws, killed)
    assert sync_documents(ws).read == 2
    with ws.store.reading("graph") as db:
        assert db is not None and db.rows("SELECT COUNT(*) FROM document_chunks") == [(6,)]
    assert len(search_chunks(ws, "basket", limit=50)) == 6


@pytest.mark.requirement("D18")
def test_bad_files_are_stated_and_the_rest_is_indexed(repo: Checkout) -> None:
    (repo.root / "docs").mkdir()
    (repo.root / "docs/binary.md").write_bytes(b"\0\1\2")
    (repo.root / "docs/latin.md").write_bytes(b"# Caf\xe9\n\nbasket\n")
    with (repo.root / "docs/huge.txt").open("wb") as file:
        file.truncate(200_000_000)
    (repo.root / "docs/loop.md").symlink_to("loop.md")
    (repo.root / "docs/around").symlink_to(".")
    repo.write("docs/n.ipynb", "{")
    repo.write("docs/good.md", "# Good\n\nA basket.\n")
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"
    repo.write("docs/key.md", f"a\n{key}\nline six\n")
    repo.write("docs/token.md", "Use ghp_abcdefghijklmnopqrstuvwxyz0123456789 here.\n")
    ws = repo.workspace()
    sync_documents(ws)
    found = {one.document: one.error for one in indexed_documents(ws, visible_documents(ws))}
    assert {name: error for name, error in found.items() if error} == {
        "docs/binary.md": "is a binary file.",
        "docs/huge.txt": "is larger than 10 MB.",
        "docs/n.ipynb": "is not a notebook of Jupyter (nbformat 4).",
    }
    assert not {"docs/loop.md", "docs/around"} & found.keys()
    found_ids = [number for number, _ in search_chunks(ws, "basket use six", limit=9)]
    chunks = {one.document: one for one in load_chunks(ws, found_ids)}
    assert chunks.keys() == {"docs/latin.md", "docs/good.md", "docs/token.md", "docs/key.md"}
    assert chunks["docs/latin.md"].title == "Caf\ufffd"
    assert "ghp_" not in ws.state.graph.read_bytes().decode("latin-1")
    assert (chunks["docs/key.md"].text.count("\n"), "MIIE" in chunks["docs/key.md"].text) == (
        5,
        False,
    )


def test_the_settings_name_documents_and_how_they_are_cut(repo: Checkout) -> None:
    repo.write("wiki/a.md", "One two. Three four.\n\n" * 20)
    repo.write("wiki/b.adoc", "= Title\n\nbasket\n")
    repo.write("wiki/old/c.md", "c\n")
    repo.write("docs/d.md", "d\n")
    assert sorted(visible_documents(repo.workspace())) == []
    sync_documents(repo.workspace())
    assert sorted(visible_documents(repo.workspace())) == [
        "docs/d.md",
        "wiki/a.md",
        "wiki/old/c.md",
    ]
    repo.write(
        ".kl/config.yaml",
        "version: 1\ndocuments:\n  include: [wiki/**]\n  exclude: [wiki/old]\n"
        "  strategy: fixed\n  chunk_size: 100\n  chunk_overlap: 10\n",
    )
    ws = repo.workspace()
    sync_documents(ws)
    assert [(one.document, one.chunks) for one in indexed_documents(ws, visible_documents(ws))] == [
        ("wiki/a.md", 5),
        ("wiki/b.adoc", 1),
    ]
    repo.write(".kl/config.yaml", "version: 1\ndocuments:\n  strategy: cunning\n  chunk_size: 7\n")
    wrong = repo.kl("search", "x")
    assert wrong.returncode == 2 and "strategy" in wrong.stderr and "chunk_size" in wrong.stderr
