"""Pages under a policy: no list names what is denied, and of what is redacted no text is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

AGENT = {"KL_AGENT": "bot"}


@pytest.fixture
def site(repo: Checkout) -> Checkout:
    """A page with a link to a denied, a redacted and an open page, each of which links back."""
    names = ("hidden", "short", "open")
    links = " and ".join(f"[[{name.title()} plans]]" for name in names)
    repo.write("docs/home.md", f"# Home\n\nSee {links}.\n")
    for name in names:
        text = (
            f"# {name.title()} plans\n\nThe {name} word of [[Home]].\n\n## A part\n\nHome again.\n"
        )
        repo.write(f"docs/{name}/plans.md", text)
    repo.commit()
    assert repo.kl("init", "--yes").returncode == 0
    rules = "deny: {paths: [docs/hidden], actors: [agent]}\n  - name: short\n    redact:"
    rule = f"{rules} {{paths: [docs/short], actors: [agent]}}\n"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: hidden\n    {rule}")
    return repo


def answers(repo: Checkout, verb: str, page: str, **env: str) -> list[dict[str, Any]]:
    """Return the answer of the command, and of the tool where there is one."""
    done = repo.kl("knowledge", verb, page, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    found = [json.loads(done.stdout)]
    if verb != "links":
        done = repo.kl("tool", f"knowledge_{verb}", json.dumps({"page": page}), env=env)
        found.append(json.loads(done.stdout)["result"])
    return found


@pytest.mark.parametrize("verb", ["backlinks", "related"])
def test_lines_are_only_of_pages_that_are_shown_whole(site: Checkout, verb: str) -> None:
    for answer in answers(site, verb, "docs/home.md", **AGENT):
        assert [line["path"] for line in answer[verb]] == ["docs/open/plans.md"], answer
        assert answer["total"] == 1
    shown = answers(site, verb, "docs/home.md")[0]
    assert (len(shown[verb]), shown["total"]) == (3, 3)


def test_a_page_does_not_name_the_denied_page_that_it_links_to(site: Checkout) -> None:
    (answer,) = answers(site, "links", "docs/home.md", **AGENT)
    links = {link["node"]: link for link in answer["links"]}
    assert set(links) == {"file:docs/short/plans.md", "file:docs/open/plans.md"}
    # what the page itself has written is read on it
    redacted = links["file:docs/short/plans.md"]
    assert (redacted["target"], redacted["title"]) == ("Short plans", "(redacted by policy: short)")
    text = site.kl("knowledge", "links", "docs/home.md", env=AGENT).stdout
    assert "docs/open/plans.md" in text and "hidden" not in text.lower(), text


@pytest.mark.parametrize("verb", ["links", "backlinks", "mentions", "related"])
def test_a_denied_page_is_asked_for_in_vain(site: Checkout, verb: str) -> None:
    done = site.kl("knowledge", verb, "docs/hidden/plans.md", env=AGENT)
    assert done.returncode == 2 and "denies it to you" in done.stderr, done.stdout
    for answer in answers(site, verb, "docs/short/plans.md", **AGENT):
        assert answer["page"]["path"] == "docs/short/plans.md"
        assert answer["page"]["title"] == "(redacted by policy: short)"
