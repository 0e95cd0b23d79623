"""`kl context`: a small, ranked, cited package for a task; and what became of a package or of one thing in it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import click

from kl_hooks.cli.common import note, say, say_text, workspace
from kl_hooks.clock import FixedClock, micros
from kl_hooks.context.deliver import Delivered, Request, deliver, find
from kl_hooks.context.document import as_json
from kl_hooks.context.explain import explain, why
from kl_hooks.context.weights import DEFAULT_BUDGET
from kl_hooks.errors import UsageProblem
from kl_hooks.workspace.open import Workspace
