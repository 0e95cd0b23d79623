"""Documents under a policy: what a document names leads to nothing that is hidden."""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.fixture
def guided(repo: Checkout) -> Checkout:
    """A guide that names a function of a denied folder and an open one; a denied guide."""
    for folder in ("hidden", "open"):
        repo.write(f"{folder}/code.py", f"def {folder}_total() -> int:\n    return 1\n")
    repo.write("docs/guide.md", "# Guide\n\nUse `hidden_total`, else `open_total`.\n")
    repo.write("docs/hidden/guide.md", "# Plans\n\nUse `open_total`.\n")
    repo.commit()
    assert repo.kl("init", "--yes").returncode == 0
    assert repo.kl("document", "list").returncode == 0
    repo.write("hidden/code.py", "def hidden_total() -> int:\n    return 2\n")
    repo.write("open/code.py", "def open_total() -> int:\n    return 2\n")
    rule = "deny: {paths: [hidden, docs/hidden], actors: [agent]}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: hidden\n    {rule}\n")
    return repo


@pytest.mark.parametrize("args", [("show", "docs/guide.md"), ("list", "--stale")])
def test_a_document_shows_no_hidden_symbol_that_it_names(
    guided: Checkout, args: tuple[str, ...]
) -> None:
    for shape in ("text", "json"):
        everything = guided.kl("document", *args, "--format", shape).stdout
        assert "hidden" in everything and "open" in everything
        done = guided.kl("document", *args, "--format", shape, env=AGENT)
        assert done.returncode == 0 and "open" in done.stdout, done.stdout
        for name in ("hidden.code", "hidden/code.py", "docs/hidden"):
            assert name not in done.stdout, done.stdout


def test_a_denied_document_is_not_counted_and_not_found(guided: Checkout) -> None:
    def number(**env: str) -> int:
        done = guided.kl("document", "list", "--format", "json", env=env)
        return int(json.loads(done.stdout)["total"])

    assert number(**AGENT) == number() - 1
    done = guided.kl("document", "show", "docs/hidden/guide.md", env=AGENT)
    assert done.returncode == 2 and not done.stdout


def test_a_folder_states_which_types_of_files_were_not_read_and_sizes_follow_the_source(
    repo: Checkout,
) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    for name, text in (("a.md", "# Notes\n"), ("b.docx", "x"), ("c.PNG", "x"), ("d.png", "x")):
        repo.write(f"more/{name}", text)
    added = repo.kl("document", "add", "more")
    assert added.returncode == 0
    assert "more: files of a type that is not read: 2 .png, 1 .docx." in added.stderr
    repo.write("more/a.md", "# Notes\n\nMany more words than before.\n")
    assert repo.kl("document", "refresh").returncode == 0
    listed = repo.kl("document", "collections").stdout
    assert f"{len('# Notes') + len('Many more words than before.') + 3} bytes" in listed
