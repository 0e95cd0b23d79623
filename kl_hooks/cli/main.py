"""The entry of the command line: the commands, imported when they are called, and what their errors
become.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks import __version__
from kl_hooks.cli.groups import LazyGroup
from kl_hooks.errors import (
    CLEAN,
    ENVIRONMENT_ERROR,
    INTERNAL_ERROR,
    INTERRUPTED,
    USAGE_ERROR,
    KlError,
)
from kl_hooks.model.text import brief, one_line, safe_text

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.workspace import Workspace

COMMANDS = {
    "init": "Look at the repository and propose `.kl/`.",
    "doctor": "Check the set-up, and show the exact fix for what is wrong.",
    "status": "What is recorded here, and what is proven for this content.",
    "context": "A small, ranked, cited context package for a task.",
    "arch": "Layers: check imports against them, show, explain, fix.",
    "graph": "The code graph: definitions, references, dependents.",
    "verify": "The gate: is there complete, passing evidence for this content?",
    "report": "A page of what is proven here, with layers, tests and knowledge, to send.",
    "run": "Run a command and record its exit code as evidence.",
    "evidence": "Receipts: list, show, import, export, verify, accept a loss.",
    "proof": "Which tests prove a symbol, which must run, why one failed, which are flaky.",
    "claim": "Claims, their tier and the reasons.",
    "search": "One ranked list over documents, records and code.",
    "knowledge": "Records of every kind: search, proposals, upkeep.",
    "seed": "Make guides and facts from README, AGENTS.md, pyproject.toml.",
    "interview": "Answer open questions; each answer becomes a record.",
    "remember": "Store a value under a key, in one of the tiers of memory.",
    "recall": "Read a key: working, short-term, long-term, then shared memory.",
    "forget": "Remove a key of your own.",
    "keys": "What is stored, tier by tier.",
    "session": "The memory of one session: close, save, load.",
    "pool": "Memory that several agents share: create, read, write, grant.",
    "mcp": "The agents' tools over MCP, for clients that start a server.",
    "tool": "The agents' tools: JSON in, JSON out.",
    "serve": "The agents' tools over HTTP, for programs on this machine.",
    "config": "The effective settings, and where each comes from.",
    "maintain": "Run periodic maintenance.",
    "hooks": "Native git hooks: install, uninstall, status.",
    "agents": "Hooks and MCP server for coding agents, in this clone: install, uninstall, status.",
    "commits": "Record new commits, and name packages in them (git hooks call this).",
    "sync": "Exchange evidence with other clones, by git notes.",
    "store": "Where evidence is stored: in this clone, or in a team's database.",
    "trust": "The keys whose signatures make evidence of others count.",
    "stats": "Packages that were delivered, and what of them commits touched.",
    "uninstall": "Remove kl from this clone, and name what stays.",
    "help": "Help on a command; `kl help all` lists all of them.",
}
"""Command → its line in the help; it is the object of the same name in the module of the same name,
or in `_PLACES`.
"""

_PLACES = {
    **dict.fromkeys(("run", "commits"), "capture"),
    **dict.fromkeys(("claim", "proof"), "proof"),
    **dict.fromkeys(("remember", "recall", "forget", "keys", "session", "pool"), "tiers"),
    **dict.fromkeys(("store", "sync", "trust"), "sharing"),
    **dict.fromkeys(("tool", "mcp", "serve"), "tools"),
    **dict.fromkeys(("task", "turn", "outcome", "objective", "gate", "role", "feature"), "work"),
    "failure": "finding",
    "proposal": "skill",
}
"""Command or kind → the module that it shares with others."""

KINDS = {
    "decision": "What was decided, why, and what it governs.",
    "memory": "What was learned here, reviewed before anybody is shown it.",
    "objective": "Goals, and how far each is.",
    "task": "Pieces of work: what each requires and produces.",
    "outcome": "How pieces of work ended.",
    "failure": "What was tried and failed, and how to prevent it.",
    "feature": "What the product can do, or will.",
    "role": "What a role must do, and must not.",
    "gate": "What work of a type must pass.",
    "mode": "Ways of working.",
    "turn": "What each turn of a piece of work achieved.",
    "fact": "What is true of this project, as people stated it.",
    "guide": "How work is done here.",
    "finding": "What agents' tools found out or changed, while it is true.",
    "document": (
        "Texts from elsewhere, found by their passages, and the documents of the repository."
    ),
    "skill": "What agents can do here: discover, use, check.",
    "proposal": "Skills that are proposed, and wait for a person.",
}
"""The kinds that kl brings → their line; their commands are made from what describes them. Others
are found on need.
"""

_SECTIONS = {
    "Start": ("init", "doctor"),
    "Daily": ("status", "context", "search", "arch", "graph", "run", "verify", "proof"),
    "Knowledge": ("decision", "memory"),
    "Maintenance": ("agents", "help"),
}
"""Heading → commands of a person's first week: those that `kl --help` shows."""


class Commands(LazyGroup):
    """All commands: those with a module, and those that are made from a kind."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name == "help":
            return help_
        if name in COMMANDS:
            return super().get_command(ctx, name)
        line = KINDS.get(name) or self._described(ctx).get(name)
        if not line:
            return None
        return KindGroup(name, line)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of it names no more than its output may."""
        try:
            return super().invoke(ctx)
        except KlError as problem:
            from kl_hooks.cli.output import conceal_in_error

            conceal_in_error(problem)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._lines:
            # only for a word that is no command of ours: those need no workspace, and no process of
            # git, to be found
            self._lines |= self._described(ctx, asked=args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = COMMANDS | KINDS
        for heading, names in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names], col_max=12)

    def format_all_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As `format_commands`, with every command, and with the kinds of the repository."""
        from kl_hooks.errors import KlError

        try:
            if _may_describe_kinds(ctx.params.get("root")):
                own = self._described(ctx)
            else:
                own = {}
        except KlError:  # the help shows what it can
            own = {}
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Knowledge, each with new, list, show, search, edit"):
            formatter.write_dl(list((KINDS | own).items()))

    def _described(self, ctx: click.Context, asked: str = "") -> dict[str, str]:
        """Return the kinds of plugins and of the repository at hand; none where there is no
        repository.

        `asked`: a name that must be among them where a file of `.kl/kinds/` is wrong: it may be
        missing only because of that. Raises Problems.
        """
        from kl_hooks.cli.output import broken_kinds_are_shown, workspace
        from kl_hooks.errors import KlError
        from kl_hooks.model.problem import Problems

        try:
            with ctx.scope(cleanup=False):
                opened = workspace()
        except KlError:
            return {}
        kinds, problems = opened.catalog
        if asked and asked not in kinds and problems:
            with ctx.scope(cleanup=False):
                broken_kinds_are_shown()
            raise Problems(problems)
        return {name: kind.purpose for name, kind in kinds.items() if name not in KINDS}


def _may_describe_kinds(root: str | None) -> bool:
    """True if the folder, or one above it, has kinds of its own: only then is a workspace opened
    for the help.
    """
    here = Path(root or ".").absolute()
    return any((place / ".kl" / "kinds").is_dir() for place in (here, *here.parents))


@click.command(
    cls=Commands,
    module="kl_hooks.cli.{}",
    lines={**COMMANDS, **KINDS},
    places=_PLACES,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "KL"},
)
@click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True),
    help="Work on the repository of this folder.",
)
@click.version_option(__version__, prog_name="kl")
@click.pass_context
def kl(context: click.Context, root: str | None) -> None:
    """A knowledge layer for coding agents and the people who work with them.

    Evidence of test runs, commands and commits; layers that block drift; a small, cited context
    package.

    All commands: kl help all. One of them: kl help COMMAND.
    """
    context.ensure_object(dict)["root"] = root
    context.color = _color(os.environ)
    context.call_on_close(lambda: _maintain(context.obj.get("workspace")))


def _maintain(ws: Workspace | None) -> None:
    """Start daily maintenance after a command that opened a workspace, for whoever configured
    it.
    """
    if ws is not None and ws.settings.maintain == "daily":
        from kl_hooks.cli.maintain import start_in_background

        start_in_background(ws)


@click.command("help", epilog="Example: kl help graph dependents")
@click.argument("words", nargs=-1, metavar="[all | COMMAND...]")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of kl, of one COMMAND, or (all) a list of every command."""
    above = context.find_root()
    command = context.find_root().command
    if words == ("all",):
        formatter = above.make_formatter()
        kl.format_usage(above, formatter)
        kl.format_all_commands(above, formatter)
        click.echo(formatter.getvalue(), nl=False)
        return
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{above.command_path} has no commands.", above)
        # not get_command(): this one suggests a near name, and reads the spellings that are no
        # longer listed
        _, found, _ = command.resolve_command(above, [word])
        assert found is not None  # else resolve_command raised
        command, above = found, click.Context(found, info_name=word, parent=above)
    with above.scope(cleanup=False):
        click.echo(command.get_help(above))


def _color(environ: os._Environ[str]) -> bool | None:
    """click ignores NO_COLOR and FORCE_COLOR; None lets it look at the terminal."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return None


def run(argv: Sequence[str]) -> int:
    """Runs `kl` with these arguments and returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # file names need not be UTF-8; a test may have put in a stream without `reconfigure`
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return run_safely(kl, list(argv), os.environ)


_STANDARD_COMMANDS: Mapping[str, str] = {
    "new": "Create a record.",
    "list": "List records: all, or by status, tag or place.",
    "show": "Show a whole record.",
    "search": "Search records.",
    "edit": "Edit fields of a record.",
    "delete": "Delete a record.",
    "history": "List earlier versions of a record.",
}
"""Command → its line; each works on any kind."""


OWN_COMMANDS: Mapping[str, Mapping[str, str]] = {
    "decision": {
        "supersede": "Replace a decision by a newer one.",
        "renumber": "Give a decision a new ID where two files have the same.",
        "record": "Record an answered question, if it decides enough.",
        "discover": "Propose decisions that the code made already.",
        "import": "Import decisions from other tools.",
        "export": "Export decisions in the format of another tool.",
    },
    "memory": {
        "add": "Record what was learned.",
        "review": "Go through the candidates: approve, reject, edit.",
        "inject": "Print the memories that an agent is given before it starts.",
        "mine": "Mine receipts and transcripts for candidates.",
        "show": "Show a whole memory, with what supports it.",
        "edit": "Edit the text or fields of a memory.",
        "approve": (
            "Approve a memory: it becomes a file, and agents are shown it. --checked: it was"
            " checked too."
        ),
        "reject": "Reject a memory: the same pattern never comes back.",
        "demote": "Return a memory to the candidates.",
        "disprove": "Mark a memory as wrong, after a check.",
        "feedback": "Rate a memory: it helped, or it did not.",
        "import": "Import memories of fuseraft or agor, as JSON.",
        "export": "Export all memories as JSON, in the format of fuseraft.",
        "configure": "Set how many memories are given, and if patterns are mined automatically.",
        "stats": "Count what each tier of memory has, and how often it was read.",
        "context": "Persistent contexts: entries in versions, snapshots, grants.",
    },
    "objective": {
        "new": "Create an objective, with its tasks.",
        "status": "Show the progress of one objective, or of all active ones.",
        "link": "Add a task to an objective, or mark it done.",
    },
    "task": {
        "new": "Create a task, with what it requires and produces.",
        "plan": "Show the order of tasks, and which can be done in parallel.",
        "eligible": "List the tasks that can begin now.",
        "fulfil": "Mark a task as done, or something it produces as there.",
    },
    "outcome": {"capture": "Record how a task ended.", "similar": "Show how similar tasks ended."},
    "failure": {
        "record": "Record what failed, and what prevents it; a second time it is counted.",
        "show": "Show a whole failure, and how often it happened.",
    },
    "feature": {"detect": "List the features that a text names, with their files."},
    "role": {"show": "Show a role as a page, by its name or ID."},
    "gate": {"for": "Show what work of a type and complexity must pass."},
    "turn": {
        "add": "Record a round of work and review.",
        "continue": "Show what the next round starts from.",
    },
    "finding": {
        "add": "Record what an agent's tool found out or changed.",
        "import": "Import the findings of an agent's transcript.",
    },
    "document": {
        "add": "Add files, folders, or what comes from stdin.",
        "new": "The same as `add`.",
        "list": "List the documents of every collection, files of the repository too.",
        "show": "Show a document: its passages, what they mention, and whether it is stale.",
        "process": "Index what is pending or has failed.",
        "refresh": "Read the sources again.",
        "remove": "Remove documents, with their text.",
        "collections": "List the collections, or create or change one.",
    },
    "skill": {
        "discover": "Find the skills that a task needs, with their instructions.",
        "context": "Show a skill, what it requires, and how well it does.",
        "use": "Begin a use of a skill: shows which variant to follow.",
        "done": "End a use of a skill.",
        "versions": "Show how well each variant does.",
        "promote": "Make a variant the skill.",
        "check": "List conflicts between skills, and the changes that end them.",
        "health": "Show the health of all skills, term by term.",
        "gaps": "List what was learned and no skill teaches.",
        "team": "Find agents that together have what a task needs.",
        "propose": "Propose a skill, with what is recorded about it.",
        "adopt": "Write the SKILL.md of an approved proposal.",
    },
    "proposal": {"approve": "Approve a proposal, and propose what it requires."},
}
"""Kind → command → its line."""


_OLD: Mapping[tuple[str, str], str] = {
    ("memory", "new"): "add",
    ("memory", "verify"): "approve --checked",
    ("memory", "promote"): "approve",
}
"""Command of a kind that is read for one more release → what to write instead."""


def commands_of(kind: Kind) -> dict[str, str]:
    """Return command → its line: those of every kind, the changes of status of this one, those that
    only it has.
    """
    verbs = {verb.name: verb.description for verb in kind.verbs}
    every = {**_STANDARD_COMMANDS, **verbs, **OWN_COMMANDS.get(kind.name, {})}
    return {name: line for name, line in every.items() if (kind.name, name) not in _OLD}


class KindGroup(LazyGroup):
    """`kl decision`: what every kind has, its changes of status, and what only it has."""

    def __init__(self, name: str, line: str) -> None:
        former = (old for kind, old in _OLD if kind == name)
        places = dict.fromkeys((*OWN_COMMANDS.get(name, {}), *former), _PLACES.get(name, name))
        if name == "memory":  # it counts what is in the tiers
            places |= {"stats": "tiers", "review": "memory_review"}
        super().__init__(name, help=line, module="kl_hooks.cli.{}", places=places)
        self._kind_name = name

    def list_commands(self, ctx: click.Context) -> list[str]:
        if not self._lines:
            with ctx.scope(cleanup=False):  # a shell completion pushes no context
                self._lines = commands_of(self._kind())
        return list(self._lines)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name == "create":
            name = "new"
        if instead := _OLD.get((self._kind_name, name)):
            from kl_hooks.cli.output import warn

            warn(
                f"kl {self._kind_name} {name} will be removed. Use: kl {self._kind_name} {instead}"
            )
            return self.load(name)
        if name in OWN_COMMANDS.get(self._kind_name, {}):
            return self.load(name)
        if name not in self.list_commands(ctx):
            return None
        from kl_hooks.cli.kind_commands import command_of

        return command_of(self._kind(), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.former_commands():
            return args[0], self.get_command(ctx, args[0]), args[1:]
        self.list_commands(ctx)
        return super().resolve_command(ctx, args)

    def former_commands(self) -> list[str]:
        # `create` is a spelling of other tools
        return ["create", *(old for kind, old in _OLD if kind == self._kind_name)]

    def _kind(self) -> Kind:
        from kl_hooks.cli.output import workspace

        return workspace().kinds[self._kind_name]


_LONGEST = 1000
"""Characters of a message about how kl was called: it may quote an argument."""


def print_problem(text: str) -> None:
    """One remark under our name."""
    _write(f"kl: {brief(text)}\n")


def _print_usage_error(problem: click.ClickException) -> None:
    """Print click's message about a call as click does, but cut and made safe: it may quote an
    argument.
    """
    if _is_help(problem):
        _write(safe_text(problem.format_message()) + "\n")
        return
    lines = []
    context = getattr(problem, "ctx", None)
    if context is not None:
        lines.append(context.get_usage())
        if context.command.get_help_option(context) is not None:
            lines.append(f"Try '{context.command_path} {context.help_option_names[-1]}' for help.")
        lines.append("")
    _write("\n".join([*lines, f"Error: {one_line(problem.format_message(), _LONGEST)}", ""]))


def _is_help(problem: click.ClickException) -> bool:
    """True for the whole help, which a group without a command is answered with. An older click
    prints it by itself.
    """
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(problem, kind)


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # nobody is listening


_OBSERVERS = (("commits", "record"),)
"""Commands that git runs after the fact: they warn, and always end with 0."""


_COMMIT_GATES = (("arch", "check"), ("knowledge", "check"))
"""Commands whose internal errors must not block a commit (outside CI), with `--staged`."""


def run_safely(command: click.Command, argv: list[str], environ: Mapping[str, str]) -> int:
    """Runs the command and returns its exit code; never raises, never shows a traceback unless
    KL_DEBUG is set.
    """
    words = _command_words(argv)
    try:
        code = _call(command, argv)
    except KlError as problem:
        code = report_problem(problem, environ)
    except Exception as fault:  # the one place where internal errors end
        code = _internal_error(fault, argv, environ)
        if words in _COMMIT_GATES and "--staged" in argv and not environ.get("CI"):
            print_problem("your commit was not blocked by this.")
            return CLEAN
    if words in _OBSERVERS and code != INTERRUPTED:
        return CLEAN
    return code


def report_problem(problem: KlError, environ: Mapping[str, str]) -> int:
    """Print an error of a command; return its exit code."""
    # a place may be what was typed, line ends and all: it is shown on one line
    text = str(problem).replace(problem.place or "\n", one_line(problem.place, 300) or "\n", 1)
    print_problem(f"{text}{_trace(environ)}")
    return problem.exit_code


def _trace(environ: Mapping[str, str]) -> str:
    """Return the caller's trace, so that its log and this error can be found together."""
    from kl_hooks.model.actors import trace_id

    found = trace_id(environ)
    if not found:
        return ""
    return f" [trace {found}]"


def _command_words(argv: Sequence[str]) -> tuple[str, ...]:
    """The first two words of a call that are no options of `kl` itself: which command it is,
    whatever follows.
    """
    words = list(argv)
    while words and words[0].startswith(
        "-"
    ):  # `--root` is the only option of `kl` itself with a value
        del words[: 2 if words[0] == "--root" else 1]
    return tuple(words[:2])


def _call(command: click.Command, argv: list[str]) -> int:
    try:
        answer = command.main(args=argv, prog_name="kl", standalone_mode=False)
        sys.stdout.flush()  # a full disk: at exit it would be code 120 of Python
        if isinstance(answer, int):
            return answer
        return CLEAN
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as problem:
        _print_usage_error(problem)
        return USAGE_ERROR
    except (
        UnicodeEncodeError
    ):  # bytes of an argument that do not decode are lone surrogates (PEP 383)
        odd = [arg for arg in argv if any("\ud800" <= letter <= "\udfff" for letter in arg)]
        if not odd:
            raise
        print_problem(
            f"{odd[0]}: is not {sys.getfilesystemencoding()}, so nothing here has this name."
        )
        return USAGE_ERROR
    except (click.Abort, KeyboardInterrupt):
        print_problem("interrupted.")
        return INTERRUPTED
    except (
        BrokenPipeError,
        SystemExit,
    ) as end:  # click exits with 1 where a pipe breaks: the code of a finding
        if (
            isinstance(end, SystemExit) and "_KL_COMPLETE" in os.environ
        ):  # it also exits after a shell completion
            if not isinstance(end.code, int):
                return CLEAN
            return end.code
        # the reader has seen enough; give the interpreter something it can flush into at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + 13  # as a shell reports a process that SIGPIPE ended
    except OSError as problem:
        if (
            problem.filename is None and problem.errno is None
        ):  # raised by our own code, not by the system
            raise
        _print_system_problem(problem)
        if os.environ.get("KL_DEBUG"):
            _print_traceback()
        return ENVIRONMENT_ERROR


def _print_system_problem(problem: OSError) -> None:
    if problem.filename is None and isinstance(problem, FileNotFoundError):
        print_problem(
            "the current folder was removed. Change into one that exists, or give --root."
        )
    else:
        from kl_hooks.store.disk import cause_of

        if isinstance(problem.filename, str):
            place = problem.filename
        else:
            place = ""
        cause = cause_of(problem, Path(place or ".").absolute().parent)
        # a path that is not there or has no such form: nothing of ours to look at
        is_path = problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
        see = "" if is_path else " See: kl doctor"
        print_problem(f"{place or 'the system'}: {cause.words}.{see}")


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _internal_error(fault: Exception, argv: list[str], environ: Mapping[str, str]) -> int:
    if environ.get("KL_DEBUG"):
        _print_traceback()
    report = _write_report(fault, argv)
    print_problem(
        f"internal error (a bug of kl): {type(fault).__name__}: {fault}. Details: {report}. Please"
        " attach it." + _trace(environ)
    )
    return INTERNAL_ERROR


def _write_report(fault: Exception, argv: list[str]) -> str:
    import tempfile
    import traceback

    from kl_hooks.store.redaction import builtin_rules, redact

    text = (
        "kl "
        + " ".join(argv)
        + f"\nPython {sys.version}\n\n"
        + "".join(traceback.format_exception(fault))
    )
    try:
        text = redact(text)
    except KlError:  # a plugin is missing: it would hide more, so the arguments are omitted
        text = builtin_rules(
            f"kl\nPython {sys.version}\n\n{''.join(traceback.format_tb(fault.__traceback__))}"
        )
    try:
        # mkstemp() makes it for this user alone (0600) and follows no link: the arguments may be
        # private
        handle, name = tempfile.mkstemp(prefix="kl-crash-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return str(Path(name))
    except OSError as problem:
        return f"(not written: {problem})"
