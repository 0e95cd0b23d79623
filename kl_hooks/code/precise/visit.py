"""One walk over a libcst tree: what it defines, with the names that libcst's scopes give, and what it imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import ImportAssignment

from kl_hooks.code.precise.imports import DYNAMIC, dynamic_row, import_rows
from kl_hooks.code.precise.names import Found, last_name, local_names
from kl_hooks.code.precise.text import Source


@dataclass(frozen=True, slots=True)
class _Scope:
    kind: str
    name: str
    """Qualified, as CPython has it."""
    seen: str
    """As libcst has it for what stands inside: it puts a class declared `global` under its function."""
    receiver: str = ""


class Visitor(cst.CSTVisitor):
    """Fills `found` and `imports`; runs over one module."""

    def __init__(self, source: Source, scopes: Any) -> None:
        super().__init__()
        self.source, self.scopes = source, scopes
        self.found: list[Found] = []
        self.imports: list[list[Any]] = []
        self.dynamic = set(DYNAMIC)
        """The names of what imports by name, in this file."""
        self.calls: list[cst.Call] = []
        self.harmless: set[cst.CSTNode] = set()
        """Targets of a `TYPE_CHECKING` of the file's own that is false when it runs."""
        self._around = [_Scope("module", "", "")]
        self._checking = 0

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.found.append(Found("class", self._name(node, node), node, self._around[-1].kind == "class"))

    def visit_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.append(_Scope("class", self._name(node, node), self._prefix(node.name.value)))

    def leave_ClassDef_body(self, node: cst.ClassDef) -> None:
        self._around.pop()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        in_class = self._around[-1].kind == "class"
        self.found.append(Found("function", self._name(node, node), node, in_class))

    def visit_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        first = [*node.params.posonly_params, *node.params.params][:1]
        in_class = self._around[-1].kind == "class"
        receiver = first[0].name.value if first and in_class else ""
        scope = _Scope("function", self._name(node, node), self._prefix(node.name.value), receiver)
        self._around.append(scope)

    def leave_FunctionDef_body(self, node: cst.FunctionDef) -> None:
        self._around.pop()

    def visit_Assign(self, node: cst.Assign) -> None:
        self._named_anew(node, [target.target for target in node.targets])
        if self._around[-1].kind != "function":
            self._fields(node, [target.target for target in node.targets])

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        scope, target = self._around[-1], node.target
        self._named_anew(node, [target])
        if scope.kind != "function":
            self._fields(node, [target])
            return
        owner = target.value if isinstance(target, cst.Attribute) else None
        if isinstance(owner, cst.Name) and scope.receiver == owner.value and isinstance(target, cst.Attribute):
            self.found.append(Found("field", f"{self._around[-2].name}.{target.attr.value}", node, False))

    def _named_anew(self, node: Any, targets: list[Any]) -> None:
        """`load = importlib.import_module`, and `TYPE_CHECKING = False` outside of functions."""
        value = node.value
        whole = not isinstance(value, cst.Call | cst.Subscript)
        if whole and value is not None and last_name(value) in self.dynamic:
            self.dynamic |= {target.value for target in targets if isinstance(target, cst.Name)}
        elsewhere = isinstance(value, cst.Attribute) and value.attr.value == "TYPE_CHECKING"
        written = value.value if isinstance(value, cst.Name | cst.Integer) else ""
        if self._around[-1].kind != "function" and (value is None or elsewhere or written in ("False", "0")):
            self.harmless.update(targets)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self.found.append(Found("alias", self._name(node.name, node), node, False))

    def _name(self, node: Any, around: Any) -> str:
        (name, *_) = local_names(self.scopes, node, around)
        scope = self._around[-1]
        inside = scope.seen and name.startswith(f"{scope.seen}.")
        return scope.name + name.removeprefix(scope.seen) if inside else name

    def _prefix(self, name: str) -> str:
        scope = self._around[-1]
        dots = ".<locals>." if scope.kind == "function" else "."
        return f"{scope.seen}{dots}{name}" if scope.seen else name

    def _fields(self, node: Any, targets: list[Any]) -> None:
        for target in targets:
            inner = [one.value for one in target.elements] if isinstance(target, cst.Tuple | cst.List) else [target]
            for one in inner:
                if isinstance(one, cst.Name):
                    self.found.append(Found("field", self._name(one, one), node, False))

    def visit_If_body(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == 1

    def leave_If_body(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == 1

    def visit_If_orelse(self, node: cst.If) -> None:
        self._checking += _type_checking(node.test) == -1

    def leave_If_orelse(self, node: cst.If) -> None:
        self._checking -= _type_checking(node.test) == -1

    def visit_Import(self, node: cst.Import) -> None:
        self.imports += import_rows(node, self._how(), self.source)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        self.imports += import_rows(node, self._how(), self.source)
        if isinstance(node.module, cst.Name) and node.module.value in ("importlib", "builtins") and not node.relative:
            names = () if isinstance(node.names, cst.ImportStar) else node.names
            self.dynamic |= {last_name(one.asname.name) for one in names if one.asname and one.name.value in DYNAMIC}

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def leave_Module(self, original_node: cst.Module) -> None:
        """What needs the whole file: which names import by name, and whether `TYPE_CHECKING` is what it seems to be."""
        for call in self.calls:
            self.imports += dynamic_row(call, self.source, self.dynamic)
        if self._checked_always():
            self.imports = [
                [*row[:4], row[4].replace("type-checking import", "import"), row[5]] for row in self.imports
            ]

    def _checked_always(self) -> bool:
        for scope in {scope for scope in self.scopes.values() if scope is not None}:
            for one in scope.assignments["TYPE_CHECKING"]:
                imported = isinstance(one, ImportAssignment) and isinstance(one.node, cst.ImportFrom)
                if one.node not in self.harmless and not (imported and _from_another(one.node)):
                    return True
        return False

    def _how(self) -> str:
        if self._checking:
            return "type-checking import"
        return "lazy import" if any(scope.kind == "function" for scope in self._around) else "import"


def _from_another(node: Any) -> bool:
    """True for `from m import TYPE_CHECKING`."""
    names = () if isinstance(node.names, cst.ImportStar) else node.names
    return any(last_name(one.name) == "TYPE_CHECKING" for one in names)


def _type_checking(test: cst.BaseExpression) -> int:
    """1 for `TYPE_CHECKING` and `typing.TYPE_CHECKING`, -1 for `not` of it, else 0."""
    sign = 1
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        sign, test = -sign, test.expression
    if isinstance(test, cst.Attribute):
        test = test.attr
    return sign if isinstance(test, cst.Name) and test.value == "TYPE_CHECKING" else 0
