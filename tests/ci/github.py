"""A small runner of GitHub workflows: what `templates/ci/github-workflow.yml` and `action.yml` use,
and nothing else.

It follows "Workflow syntax for GitHub Actions", "Contexts" and "Workflow commands" of
docs.github.com: `run` steps are run; of others' actions the inputs are checked, and what the job
needs of them is done (checkout, cache, artifacts).
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support import HERE, Checkout

from .job_shell import JobShell

ACTION: Final = "kl-hooks/kl"
INPUTS: Final[Mapping[str, tuple[str, ...]]] = {
    "actions/checkout": ("fetch-depth", "persist-credentials"),
    "actions/setup-python": ("python-version",),
    "actions/cache/restore": ("path", "key", "restore-keys"),
    "actions/cache/save": ("path", "key"),
    "actions/upload-artifact": ("name", "path", "if-no-files-found", "retention-days"),
    "actions/download-artifact": ("name", "path", "pattern", "merge-multiple"),
    "github/codeql-action/upload-sarif": ("sarif_file", "category"),
}
"""Inputs that these actions have in the pinned versions, as far as they are used."""
SHELLS: Final = {None: "-e", "bash": "--noprofile --norc -eo pipefail"}
"""Options of bash where a step names no shell, and where it names bash."""
MOST_SUMMARY: Final = 1 << 20
_EXPRESSION: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|[!(),]|[A-Za-z_][\w.-]*)")
_OPERATORS: Final = {"&&": " and ", "||": " or ", "!": " not "}


@dataclass
class Event:
    """What starts a workflow."""

    name: str
    sha: str
    ref: str
    payload: dict[str, Any] = field(default_factory=dict)
    base_ref: str = ""


@dataclass
class JobRun:
    """What a job did; outcomes are `success`, `failure` or `skipped`."""

    result: str
    steps: dict[str, str] = field(default_factory=dict)
    """Outcome by name of the step, or by what it uses."""
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)

    def after(self, other: JobRun | None) -> JobRun:
        """This job of a matrix and those before it as one: it failed where one of them did."""
        if other is None:
            return self
        steps = {
            **self.steps,
            **{name: outcome for name, outcome in other.steps.items() if outcome == "failure"},
        }
        result = "failure" if "failure" in (self.result, other.result) else self.result
        return JobRun(
            result, steps, other.log + self.log, other.summary + self.summary, self.outputs
        )


@dataclass
class _Scope:
    """The steps of a job or of a composite action as far as they are done."""

    contexts: dict[str, Any]
    run: JobRun
    env: dict[str, str]

    def evaluate(self, text: str) -> Any:
        """The value of an expression."""
        python, position = "", 0
        while text[position:].strip():
            found = _TOKEN.match(text, position)
            assert found, f"the runner does not know this expression: {text}"
            token, position = found[1], found.end()
            if token[0] == "'":
                python += repr(token[1:-1].replace("''", "'"))
            elif token[0].isalpha() and not text[position:].startswith("("):
                python += f"get({token!r})"
            else:
                python += _OPERATORS.get(token, token)
        failed = self.run.result == "failure"
        names: dict[str, Callable[..., Any]] = {
            "get": self._get,
            "format": lambda form, *values: form.format(*values),
            "cancelled": lambda: False,
            "success": lambda: not failed,
        }
        return eval(python.strip(), {"__builtins__": {}}, names)

    def _get(self, name: str) -> Any:
        value: Any = self.contexts
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return "" if value is None else value

    def text(self, value: object) -> str:
        """A value of the workflow as a text, with the results of its expressions."""
        written = json.dumps(value) if isinstance(value, bool) else str(value)
        return _EXPRESSION.sub(lambda found: str(self.evaluate(found[1])), written)

    def wanted(self, condition: str | None) -> bool:
        """Whether a step or job is to run; without a function of status only if nothing has
        failed.
        """
        written = (condition or "success()").strip().removeprefix("${{").removesuffix("}}")
        if not re.search(r"\b(success|failure|always|cancelled)\(", written):
            written = f"success() && ({written})"
        return bool(self.evaluate(written))


class Runner:
    """A self-hosted runner: RUNNER_TEMP is empty for each job, but HOME and the checkout's .git
    stay.
    """

    def __init__(self, folder: Path, origin: Checkout, environ: Mapping[str, str]) -> None:
        self.shell = JobShell(folder)
        self.caches: dict[str, Path] = {}
        self.artifacts: dict[str, Path] = {}
        self.restored: list[str] = []
        self.secrets: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self._writes = self._several = False
        self._uploaded = set[str]()
        self._origin, self._folder, self._number = origin, folder, 0
        self._environ = {**environ, "PATH": f"{self.shell.bin}:{environ['PATH']}"}

    def start(self, workflow: str, event: Event) -> dict[str, JobRun]:
        """Run the jobs of a workflow in the order they are written in; skipped ones are in the
        answer too.
        """
        loaded = yaml.load(workflow, yaml.BaseLoader)  # BaseLoader: "on" stays a text
        assert event.name in loaded["on"], "the workflow is not for this event"
        assert loaded["permissions"] == {}, "what a job may do is named by the job"
        self._number += 1
        self._uploaded.clear()
        runs: dict[str, JobRun] = {}
        for name, job in loaded["jobs"].items():
            needs = {one: vars(runs[one]) for one in [job.get("needs")] if one}
            [(axis, values)] = job.get("strategy", {}).get("matrix", {"": [""]}).items()
            self._several = len(values) > 1
            for value in values:
                scope = _Scope(
                    {**self._contexts(event, name), "needs": needs, "matrix": {axis: value}},
                    JobRun("success"),
                    {},
                )
                if not scope.wanted(job.get("if")):
                    scope.run.result = "skipped"
                else:
                    self._writes = job["permissions"].get("contents") == "write"
                    self._job(job, scope, event)
                    scope.run.outputs = {
                        key: scope.text(value) for key, value in job.get("outputs", {}).items()
                    }
                runs[name] = scope.run.after(runs.get(name))
        return runs

    def _contexts(self, event: Event, job: str) -> dict[str, Any]:
        github = {
            "event_name": event.name,
            "ref": event.ref,
            "sha": event.sha,
            "run_id": str(self._number),
            "run_attempt": "1",
            "base_ref": event.base_ref,
            "repository": "ada/shop",
            "job": job,
            "event": event.payload,
            "workspace": str(self._folder / "work"),
        }
        return {
            "secrets": self.secrets,
            "vars": self.variables,
            "github": github,
            "runner": {"os": "Linux", "temp": str(self._folder / "temp")},
            "steps": {},
        }

    def _job(self, job: Mapping[str, Any], scope: _Scope, event: Event) -> None:
        github, temp = scope.contexts["github"], self._folder / "temp"
        shutil.rmtree(temp, ignore_errors=True)
        for folder in (temp, self._folder / "work"):
            folder.mkdir(exist_ok=True)
        (self._folder / "event.json").write_text(json.dumps(event.payload), encoding="utf-8")
        scope.env = {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(temp),
            "GITHUB_EVENT_PATH": str(self._folder / "event.json"),
            **{
                f"GITHUB_{key.upper()}": value
                for key, value in github.items()
                if isinstance(value, str)
            },
        }
        self._steps(job["steps"], scope)

    def _steps(self, steps: list[dict[str, Any]], scope: _Scope) -> None:
        for step in steps:
            name = str(
                step.get("name") or step.get("uses", step.get("id", "run")).partition("@")[0]
            )
            outcome = "skipped"
            outputs: dict[str, str] = {}
            if scope.wanted(step.get("if")):
                act = self._run if "run" in step else self._use
                outcome = "success" if act(step, scope, outputs) else "failure"
            if outcome == "failure":
                scope.run.result = outcome
            scope.run.steps[name] = outcome
            if "id" in step:
                scope.contexts["steps"][step["id"]] = {"outcome": outcome, "outputs": outputs}

    def _run(self, step: Mapping[str, Any], scope: _Scope, outputs: dict[str, str]) -> bool:
        assert "${{" not in step["run"], "text of others would become part of the program: use env"
        files = {
            name: self._folder / name
            for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")
        }
        for file in files.values():
            file.write_bytes(b"")
        given = {key: scope.text(value) for key, value in step.get("env", {}).items()}
        env = {
            **self._environ,
            **scope.env,
            **given,
            **{name: str(file) for name, file in files.items()},
        }
        done = self.shell.run(step["run"], SHELLS[step.get("shell")], self._folder / "work", env)
        scope.run.log += done.stdout
        outputs.update(_variables(files["GITHUB_OUTPUT"]))
        scope.env.update(_variables(files["GITHUB_ENV"]))
        summary = files["GITHUB_STEP_SUMMARY"].read_bytes()
        assert len(summary) <= MOST_SUMMARY, "GitHub drops such a summary"
        scope.run.summary += summary.decode()
        return done.returncode == 0

    def _use(self, step: Mapping[str, Any], scope: _Scope, outputs: dict[str, str]) -> bool:
        action, _, version = step["uses"].partition("@")
        given = {key: scope.text(value) for key, value in step.get("with", {}).items()}
        if action == ACTION:
            return self._composite(given, scope, outputs)
        assert re.fullmatch("[0-9a-f]{40}", version), f"{action} is not pinned to a commit"
        assert given.keys() <= set(INPUTS[action]), f"{action} has no such input"
        work = self._folder / "work"
        match action.rpartition("/")[2]:
            case "checkout":
                self._checkout(given, scope.contexts["github"], work)
            case "restore":
                self._restore(given)
            case "save":
                assert given["key"] not in self.caches, "a cache is never overwritten"
                self.caches[given["key"]] = self._copy(given["path"])
            case "upload-artifact":
                assert given["name"] not in self._uploaded, (
                    "a job of a matrix can't replace another's artifact"
                )
                self._uploaded.add(given["name"])
                self.artifacts[given["name"]] = self._copy(given["path"])
            case "download-artifact":
                for name in fnmatch.filter(self._uploaded, given["pattern"]):
                    target = work / given["path"] / ("" if given.get("merge-multiple") else name)
                    shutil.copytree(self.artifacts[name], target, dirs_exist_ok=True)
            case "setup-python":
                if self._several:  # each is this interpreter in truth
                    scope.env["SETUP_PYTHON"] = given["python-version"]
            case "upload-sarif":
                assert (
                    json.loads((work / given["sarif_file"]).read_text("utf-8"))["version"]
                    == "2.1.0"
                )
        return True

    def _composite(self, given: dict[str, str], scope: _Scope, outputs: dict[str, str]) -> bool:
        """Our action: its steps see its inputs and no other steps; variables that it sets stay in
        the job.
        """
        action = yaml.load((HERE / "action.yml").read_text("utf-8"), yaml.BaseLoader)
        assert given.keys() <= action["inputs"].keys(), "the action has no such input"
        inputs = {**{name: one["default"] for name, one in action["inputs"].items()}, **given}
        inner = _Scope(
            {**scope.contexts, "inputs": inputs, "steps": {}}, JobRun("success"), scope.env
        )
        scope.env["GITHUB_ACTION_PATH"] = str(HERE)
        assert all("shell" in step for step in action["runs"]["steps"] if "run" in step), (
            "GitHub requires it"
        )
        self._steps(action["runs"]["steps"], inner)
        scope.run.log += inner.run.log
        scope.run.summary += inner.run.summary
        scope.run.steps.update(inner.run.steps)
        outputs.update({name: inner.text(one["value"]) for name, one in action["outputs"].items()})
        return inner.run.result == "success"

    def _checkout(self, given: Mapping[str, str], github: Mapping[str, Any], work: Path) -> None:
        if not self._writes:
            assert given["persist-credentials"] == "false", (
                "code of a pull request could read the token"
            )
        git = Checkout(work).git
        if not (work / ".git").exists():
            git("init", "-q")
            git("remote", "add", "origin", self._origin.root.as_uri())
        git("clean", "-ffdxq")
        depth = ["--depth=1"]
        if given.get("fetch-depth") == "0":
            depth = ["--unshallow"] if (work / ".git/shallow").exists() else []
            git("fetch", "-q", *depth, "origin", "+refs/heads/*:refs/remotes/origin/*")
            depth = []
        git("fetch", "-q", *depth, "origin", f"+{github['sha']}:refs/remotes/pull/merge")
        git("checkout", "-q", "--detach", github["sha"])

    def _restore(self, given: Mapping[str, str]) -> None:
        """The cache of this key, else the newest whose key begins with one of `restore-keys`."""
        for beginning in (given["key"], *given["restore-keys"].split()):
            for key in reversed(self.caches):
                if key.startswith(beginning):
                    shutil.copytree(self.caches[key], given["path"], dirs_exist_ok=True)
                    self.restored.append(key)
                    return

    def _copy(self, path: str) -> Path:
        """What is there now; it may be changed there later. An error where there is nothing."""
        target = self._folder / f"stored-{len(list(self._folder.glob('stored-*')))}"
        shutil.copytree(path, target)
        assert any(target.iterdir()), f"{path} is empty"
        return target


def _variables(file: Path) -> dict[str, str]:
    """`name=value` lines, as steps write them to GITHUB_OUTPUT and GITHUB_ENV."""
    return {
        line.partition("=")[0]: line.partition("=")[2]
        for line in file.read_text("utf-8").splitlines()
    }
