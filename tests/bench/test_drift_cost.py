"""The verdicts that the bench compares: kl and import-linter are asked the same."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from bench import drift_cost, peers
from bench.repositories import Repository, repository

SOURCES = {
    "__init__.py": "from django.http.response import Response\n",
    "shortcuts.py": (
        "from django.http.response import Response\n\n\ndef page():\n    return Response()\n"
    ),
    "http/__init__.py": "",
    "http/response.py": "class Response: ...\n",
    "contrib/__init__.py": "",
    "contrib/views.py": "from django import Response\nfrom django.shortcuts import page\n",
    "db/__init__.py": "",
    "db/models/__init__.py": "",
    "db/models/query.py": "import django.http.response\n",
}
"""Two files in no layer, `django/__init__.py` and `django/shortcuts.py`, lead from `contrib` to
`http`.
"""


@pytest.fixture
def little_django(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository as the bench makes it, of an archive of our own."""
    monkeypatch.setenv("KL_BENCH_CACHE", str(tmp_path))
    folder = tmp_path / "archives" / "Django"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "Django-5.2.tar.gz", "w:gz") as packed:
        for name, text in SOURCES.items():
            member = tarfile.TarInfo(f"Django-5.2/django/{name}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return repository("django")


@pytest.mark.slow
@pytest.mark.sweep
def test_files_in_no_layer_make_no_difference_between_the_verdicts(
    little_django: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    lint = peers.tool("lint-imports")
    assert lint is not None, "it comes with import-linter, which kl needs"
    breaking, other = drift_cost.verified(little_django, lint)
    assert (breaking, other) == ("import django.contrib", [])

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "  everything forbidden: 1 imports broken, 0 differences to import-linter"
    assert "  imports through files in no layer followed: 1 more, not compared" in printed


@pytest.mark.slow
@pytest.mark.sweep
def test_the_rules_it_leaves_fit_what_kl_follows_by_default(little_django: Repository) -> None:
    drift_cost.verified(little_django, None)
    assert (
        "unassigned_imports: follow"
        in (little_django.top / ".kl" / "architecture.yaml").read_text()
    )
    drift_cost.checked(
        little_django, "", *little_django.kl("arch", "check")
    )()  # raises where its exit code is not 0
