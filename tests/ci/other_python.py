"""A plugin of pytest that makes this interpreter state the version that `actions/setup-python` was
asked for.
"""

from __future__ import annotations

import os
import platform

platform.python_version = lambda: f"{os.environ['SETUP_PYTHON']}.1"
