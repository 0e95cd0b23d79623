"""The scanner of what decides imports: `package.json`, `tsconfig.json` and their like.

A configuration file is read as source is: once per content. It defines no symbol; what it states is
in the `settings` of its outline, so that an edit of it links again the files that asked for it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from kl_hooks.code.scanner.parser import LARGEST, Facts, too_large_facts, unreadable_facts
from kl_hooks.model.definitions import lazy_pattern

_TEXT: Final = ("name", "main", "module", "types", "typings", "source", "browser")
_STRUCTURES: Final = ("exports", "imports")
"""The parts of `package.json` that are objects."""
_STRING: Final = r'("(?:\\.|[^"\\])*")'
_COMMENT: Final = lazy_pattern(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_LAST_COMMA: Final = lazy_pattern(_STRING + r"|,(?=\s*[}\]])")


def scan_configuration(content: bytes, path: str, module: str) -> Facts:
    """The facts of a configuration file: no symbols, and what it states of imports."""
    facts = unreadable_facts("")
    if len(content) > LARGEST:
        return too_large_facts()
    try:
        # comments and a comma after the last element are allowed in tsconfig.json
        text = content.decode("utf-8-sig")
        # one after the other: an expression for both tries all ways to part a long comment
        for pattern in (_COMMENT, _LAST_COMMA):
            text = pattern.sub(lambda match: match[1] or " ", text)
        stated = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return unreadable_facts(f"0:0: it is no JSON ({problem})")
    if isinstance(stated, dict):
        facts["outline"]["settings"] = {**_package(stated), **_compiler(stated)}
    return facts


def _package(stated: dict[str, Any]) -> dict[str, str]:
    settings = {key: stated[key] for key in _TEXT if isinstance(stated.get(key), str)}
    settings |= {key: _json(stated[key]) for key in _STRUCTURES if stated.get(key) is not None}
    return settings


def _compiler(stated: dict[str, Any]) -> dict[str, str]:
    settings: dict[str, str] = {}
    extends = stated.get("extends")
    if isinstance(extends, str):
        extends = [extends]
    if isinstance(extends, list):
        settings["extends"] = _json([text for text in extends if isinstance(text, str)])
    references = stated.get("references")
    if isinstance(references, list):
        paths = [part.get("path") for part in references if isinstance(part, dict)]
        settings["references"] = _json([text for text in paths if isinstance(text, str)])
    options = stated.get("compilerOptions")
    if isinstance(options, dict):
        if isinstance(options.get("baseUrl"), str):
            settings["baseUrl"] = options["baseUrl"]
        if isinstance(options.get("paths"), dict):
            settings["paths"] = _json(options["paths"])
    return settings


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
