"""A small runner of GitLab jobs: what `templates/ci/gitlab-ci.yml` uses, and nothing else.

It follows the "CI/CD YAML syntax reference" of docs.gitlab.com. `before_script` and `script` are
one script; the cache is unpacked before it and stored after it; artifacts are stored whatever its
result is.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support import Checkout

from .job_shell import JobShell


@dataclass
class Pipeline:
    """What a job left; `reports` has the files that GitLab reads, by kind of report."""

    passed: bool
    log: str
    artifacts: Path
    reports: dict[str, Path]


class Runner:
    """A runner of its own with the strategy `fetch`: HOME and .git stay, what is not tracked is
    removed.
    """

    def __init__(self, folder: Path, origin: Checkout, environ: Mapping[str, str]) -> None:
        self.shell = JobShell(folder)
        self._origin, self._folder = origin, folder
        self._environ = {**environ, "PATH": f"{self.shell.bin}:{environ['PATH']}"}
        self._jobs = 0

    def start(
        self, pipeline: str, sha: str, variables: Mapping[str, str], name: str = "kl"
    ) -> Pipeline | None:
        """Run a job of a pipeline on a commit, with these predefined variables; None where no rule
        starts it.

        A job that needs another one gets the artifacts of the last job that ran.
        """
        job = yaml.load(pipeline, yaml.BaseLoader)[name]
        work = self._folder / "work"
        [matrix] = job.get("parallel", {}).get("matrix", [{}])
        first = {name: values[0] for name, values in matrix.items()}
        known = {
            "CI": "true",
            "GITLAB_CI": "true",
            "CI_PROJECT_DIR": str(work),
            **first,
            **variables,
        }
        rule = next((one for one in job["rules"] if _holds(one["if"], known)), None)
        if rule is None:
            return None
        for variable, value in {**job["variables"], **rule.get("variables", {})}.items():
            known[variable] = _expanded(value, known)
        assert known["GIT_DEPTH"] == "0", "this runner clones everything"
        if not work.exists():
            Checkout(self._folder).git(
                "clone", "-q", "--no-checkout", self._origin.root.as_uri(), str(work)
            )
        Checkout(work).git("checkout", "-q", "-f", "--detach", sha)
        Checkout(work).git("clean", "-ffdxq")
        if job.get("needs"):
            shutil.copytree(self._folder / f"artifacts-{self._jobs}", work, dirs_exist_ok=True)
        cache = job.get("cache", {"policy": "pull", "paths": []})
        policy = _expanded(cache["policy"], known)
        assert policy in ("pull", "pull-push")
        _copy(self._folder / "cache", work, cache["paths"])
        script = "\n".join([*job.get("before_script", []), *job["script"]])
        done = self.shell.run(script, "-eo pipefail", work, {**self._environ, **known})
        if policy == "pull-push":
            shutil.rmtree(self._folder / "cache", ignore_errors=True)
            _copy(work, self._folder / "cache", cache["paths"])
        self._jobs += 1
        stored = self._folder / f"artifacts-{self._jobs}"
        artifacts = job.get("artifacts", {"paths": [], "reports": {}})
        _copy(work, stored, artifacts["paths"])
        reports = {kind: stored / path for kind, path in artifacts["reports"].items()}
        return Pipeline(done.returncode == 0, done.stdout, stored, reports)


def _copy(source: Path, target: Path, folders: list[str]) -> None:
    for folder in folders:
        if (source / folder).is_dir():
            shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)


def _expanded(value: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda found: known.get(found[1], ""), value)


def _holds(condition: str, known: Mapping[str, Any]) -> bool:
    """`$A == "text"` or `$A == $B`, or several with `&&`; a variable that is not set equals
    nothing.
    """
    if " && " in condition:
        return all(_holds(one, known) for one in condition.split(" && "))
    left, right = (
        known.get(one[1:]) if one[0] == "$" else one.strip('"') for one in condition.split(" == ")
    )
    return left is not None and left == right
