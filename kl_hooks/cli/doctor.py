"""`kl doctor`: what is wrong with the set-up, and the exact fix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kl_hooks.cli.output import broken_kinds_are_shown, echo_lines, print_answer
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.operations.doctor import DOCTOR, Diagnosis, DoctorRequest, obstacles


def _exit_code(diagnosis: Diagnosis, _request: DoctorRequest) -> int:
    if diagnosis.is_wrong:
        return FINDINGS
    return CLEAN


@operation_command(DOCTOR, exit_code=_exit_code)
def doctor(diagnosis: Diagnosis, _request: DoctorRequest) -> None:
    """Print the findings."""
    echo_lines(_lines(diagnosis))


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    for finding in diagnosis.findings:
        yield f"  {finding.state:<7} {finding.what:<12} {finding.text}"
        if finding.fix:
            yield f"          {'':<12} fix: {finding.fix}"


_examine = doctor.callback


def _doctor(shape: str) -> Any:
    """Where no workspace can be opened, what keeps it from that is the answer."""
    root = click.get_current_context().find_root().params.get("root")
    findings = obstacles(Path(root or os.getcwd()))  # noqa: PTH109
    if findings:
        diagnosis = Diagnosis.of(findings)
        print_answer(shape, DOCTOR.plain(diagnosis), _lines(diagnosis))
        return _exit_code(diagnosis, DoctorRequest())
    broken_kinds_are_shown()
    assert _examine is not None
    return _examine(shape=shape)


doctor.callback = _doctor
