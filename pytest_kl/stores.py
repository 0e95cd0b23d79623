"""Which functions store something that outlives the call, and branch on reading it: a data flow
over the bytecode of one function.

What a function has at hand is a *place*: a path from a global, an argument or a variable of an
outer function, over attributes, items and results of calls. Objects that the call makes have no
place. A function whose branches depend on a place that it also stores to does something else in
the next call: it may have computed a value for it. What can't be resolved counts as a store.

Runs no code of the program: globals are looked up, never called, and attributes only in modules.
"""

from __future__ import annotations

import builtins
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import (
    Callable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
    Set,
)
from dis import HAVE_ARGUMENT, opname, stack_effect
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple

Place = tuple[str, ...]
_MOST_STEPS: Final = 5
_MOST_PLACES: Final = 6
_MOST_PASSES: Final = 6
_MOST_OPERATIONS: Final = 6000
"""What is larger counts as storing, if it can at all."""
_ITEM = "[]"
RESULT = "()"
ANY = "*"
_GLOBALS = "globals()"
ENTRY_POINTS: Final = {"__get__": 1, "__getattr__": 0, "__missing__": 0}
"""Methods that the interpreter calls where it finds no value (data model) → the argument in which
it looks. It branches on reading, so the function need not.
"""


class Value(NamedTuple):
    """A value, as far as it can be followed."""

    places: frozenset[Place] = frozenset()
    """The objects that it may be; none: it is new, or a constant."""
    reads: frozenset[tuple[Place, bool]] = frozenset()
    """The places that it was computed from; with True, also from what they lead to."""

    def all_reads(self, deep: bool = False) -> frozenset[tuple[Place, bool]]:
        """What a decision by this value rests on."""
        if not self.places:
            return self.reads
        return self.reads.union((place, deep) for place in self.places)


_NOTHING: Final = Value()
UNKNOWN: Final = object()
"""An object that is not known."""


class Stores(NamedTuple):
    """The places that a function stores to, and those that its branches depend on."""

    written: frozenset[Place] = frozenset()
    read: frozenset[tuple[Place, bool]] = frozenset()
    handed: frozenset[Place] = frozenset()
    """Of `written` those in which it stores what it was called with."""

    @property
    def asked(self) -> frozenset[Place]:
        """The places that are stored to and that a branch depends on."""
        return frozenset(
            place
            for place in self.written
            if any(_depends(read, deep, place) for read, deep in self.read)
        )

    @property
    def roots(self) -> frozenset[str]:
        """The globals, arguments and outer variables that these begin with."""
        return frozenset(place[0] for place in self.asked)


def _depends(read: Place, deep: bool, written: Place) -> bool:
    """Whether what is read may differ after a store."""
    if written[0] == _GLOBALS:
        return read[0].startswith("g:") or read[0] == _GLOBALS
    if read[0] == _GLOBALS:
        return written[0].startswith("g:")
    wild = written[-1] == ANY
    if wild:
        written = written[:-1]
    if read[-1] == ANY:
        read, deep = read[:-1], True
    if read[: len(written)] == written:
        return True
    if written[: len(read)] != read:
        return False
    return deep or written[len(read) :] == (_ITEM,)


# operations


class _Operation(NamedTuple):
    """One operation of a function."""

    offset: int
    number: int
    argument: int
    target: int
    """The offset that it may jump to; -1: it does not jump."""


def _operations(code: CodeType) -> list[_Operation]:
    """All but the paddings."""
    text = code.co_code
    extended = 0
    jumps = _JUMPS
    padding = _CACHE
    operations: list[_Operation] = []
    last = -1
    """The place of a jump that waits for the end of its padding."""
    for offset in range(0, len(text), 2):
        number = text[offset]
        if number == padding:
            continue
        if last >= 0:
            operations[last] = operations[last]._replace(target=offset + operations[last].target)
            last = -1
        argument = text[offset + 1] | extended
        if number == _EXTENDED:
            extended = argument << 8
            continue
        extended = 0
        if number in jumps:
            last = len(operations)
            operations.append(_Operation(offset, number, argument, jumps[number] * argument))
        else:
            operations.append(_Operation(offset, number, argument, -1))
    return operations


_CACHE = opname.index("CACHE")
_EXTENDED = opname.index("EXTENDED_ARG")
_NUMBERS: Final = {name: number for number, name in enumerate(opname)}
_JUMPS: Final = {
    number: -2 if "BACKWARD" in name else 2
    for name, number in _NUMBERS.items()
    if "JUMP" in name or name in ("FOR_ITER", "SEND")
}


@lru_cache(maxsize=4096)
def _effect(name: str, argument: int, jump: bool) -> int:
    number = _NUMBERS[name]
    return stack_effect(number, argument if number >= HAVE_ARGUMENT else None, jump=jump)


class _Handler(NamedTuple):
    """An entry of the exception table."""

    start: int
    end: int
    at: int
    depth: int
    """Of the stack there, without the exception."""


class _Mark:
    """What begins at an offset."""

    def __init__(self) -> None:
        self.catches = False
        """Whether exceptions come here."""
        self.handlers: list[_Handler] = []
        self.within = False
        """Whether an exception is caught from here on."""


def _handlers(code: CodeType) -> list[_Handler]:
    """The exception table: numbers of six bits, the first of an entry is marked (CPython,
    exception_handling_notes).
    """
    numbers: list[int] = []
    value = 0
    for byte in code.co_exceptiontable:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    handlers = []
    for position in range(0, len(numbers) - 3, 4):
        start, size, handler, depth = numbers[position : position + 4]
        below = (depth >> 1) + (depth & 1)
        handlers.append(_Handler(start * 2, (start + size) * 2, handler * 2, below))
    return handlers


_END_NAMES: Final = frozenset(
    (
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
    )
)
"""After these comes what something else jumps to."""
_ENDS: Final = frozenset(number for number, name in enumerate(opname) if name in _END_NAMES)
_POP_TOP: Final = opname.index("POP_TOP")
_DROPPING: Final = frozenset(
    (
        "POP_TOP",
        "POP_EXCEPT",
        "LIST_APPEND",
        "SET_ADD",
        "MAP_ADD",
        "LIST_EXTEND",
        "SET_UPDATE",
        "DICT_UPDATE",
        "DICT_MERGE",
        "STORE_NAME",
        "DELETE_NAME",
        "RETURN_VALUE",
        "RAISE_VARARGS",
        "RERAISE",
        "END_FOR",
        "END_ASYNC_FOR",
        "SETUP_ANNOTATIONS",
        "INTERPRETER_EXIT",
        "EXIT_INIT_CHECK",
        "STORE_FAST_MAYBE_NULL",
    )
)
"""They push nothing."""
_SAME: Final = frozenset(
    (
        "GET_ITER",
        "GET_AITER",
        "GET_AWAITABLE",
        "TO_BOOL",
        "NOP",
        "RESUME",
        "MAKE_CELL",
        "COPY_FREE_VARS",
        "KW_NAMES",
    )
)
"""The value on top is the same one afterwards, for us."""
_NULL: Final = Value(frozenset(), frozenset())
_NULL_FIRST: Final = sys.version_info < (3, 13)
_OWN_TYPE: Final = frozenset((isinstance, issubclass, callable, id, len))
_BY_NAME: Final = frozenset((getattr, hasattr, setattr, delattr))
"""They look at an object itself, and at nothing that it leads to."""


def _mutators() -> frozenset[str]:
    pairs = ((MutableMapping, Mapping), (MutableSequence, Sequence), (MutableSet, Set))
    return frozenset(name for some, other in pairs for name in {*dir(some)} - {*dir(other)})


MUTATORS: Final = _mutators() | frozenset(name for name in dir(deque) if name.endswith("left"))
_KEYS: Final = {"setdefault": 1, "pop": 2, "remove": 1, "discard": 1}
"""Methods that are called with a key first, or with nothing that they store → number of these."""
_CONTAINERS: Final = (dict, list, set, deque, OrderedDict, defaultdict, Counter)


class _State:
    """The stack and the variables at an offset."""

    def __init__(self, stack: list[Value], variables: dict[str, Value]) -> None:
        self.stack, self.variables = stack, variables

    def take(self, other: _State) -> bool:
        """Add what another way has here; whether something is new."""
        changed = False
        for depth, value in enumerate(other.stack[: len(self.stack)]):
            if value is not self.stack[depth] and value != self.stack[depth]:
                merged = _union(self.stack[depth], value)
                changed |= merged != self.stack[depth]
                self.stack[depth] = merged
        for name, value in other.variables.items():
            variable = self.variables.get(name)
            if value is variable:
                continue
            if variable is None:
                merged = value
            else:
                merged = _union(variable, value)
            if merged != variable:
                self.variables[name] = merged
                changed = True
        return changed


class _Flow:
    """The data flow of one function."""

    def __init__(self, code: CodeType, analysis: Analysis, space: Mapping[str, Any], depth: int):
        self._code = code
        self._analysis = analysis
        self._space = space
        self._depth = depth
        cells = [name for name in code.co_cellvars if name not in code.co_varnames]
        self._names = (*code.co_varnames, *cells, *code.co_freevars)
        number = code.co_argcount + code.co_kwonlyargcount
        self._arguments = code.co_varnames[:number]
        self._locals: dict[str, Value] = {name: _root(f"a:{name}") for name in self._arguments}
        for name in code.co_freevars:
            self._locals[name] = _root(f"f:{name}")
        self._ever = dict(self._locals)
        """What each variable had at any time: an exception may come at any time, too."""
        self._written: set[Place] = set()
        self._handed: set[Place] = set()
        self._read: set[tuple[Place, bool]] = set()
        self._definite: set[Place] = set()
        """What every way through the function has stored to before."""
        self._states: dict[int, _State] = {0: _State([], dict(self._locals))}
        self._offset = 0
        self._changed = False
        self._stack: list[Value] = []
        self._open_until = 0
        self._discarded = False
        """Whether nobody uses the result of the call."""
        self._within = False
        """Whether an exception of what is read here is a branch."""

    def stores(self) -> Stores:
        """What the function stores to."""
        code = self._code
        operations = _operations(code)
        if len(operations) > _MOST_OPERATIONS:
            return _EVERYTHING
        handlers = _handlers(code)
        marks = self._marks(operations, handlers)
        if code.co_name in ENTRY_POINTS:
            self._read |= self._asked()
        for _ in range(_MOST_PASSES):
            self._changed = False
            self._definite, self._open_until = set(), 0
            self._pass(operations, marks)
            if not self._changed:
                written = frozenset(self._written)
                handed = frozenset(self._handed)
                return Stores(written, frozenset(self._read), handed)
        return _EVERYTHING

    @staticmethod
    def _marks(operations: list[_Operation], handlers: list[_Handler]) -> dict[int, _Mark]:
        """What begins at an offset: most operations only follow the one before."""
        marks: dict[int, _Mark] = {0: _Mark()}
        for operation in operations:
            if operation.target >= 0:
                marks.setdefault(operation.target, _Mark())
        catching = _catching(operations, handlers)
        for handler in handlers:
            marks.setdefault(handler.at, _Mark()).catches = True
            marks.setdefault(handler.start, _Mark()).handlers.append(handler)
            marks.setdefault(handler.end, _Mark())
        for offset, mark in marks.items():
            mark.within = any(start <= offset < end for start, end in catching)
        return marks

    def _asked(self) -> set[tuple[Place, bool]]:
        position = ENTRY_POINTS[self._code.co_name]
        if self._code.co_argcount <= position:
            return set()
        if self._code.co_name == "__getattr__" and self._code.co_argcount == 1:
            return {((_GLOBALS,), True)}  # of a module (PEP 562)
        return {((f"a:{self._arguments[position]}",), True)}

    def _pass(self, operations: list[_Operation], marks: dict[int, _Mark]) -> None:
        reachable = True
        steps = _STEPS
        last = len(operations) - 1
        for index, (offset, number, argument, target) in enumerate(operations):
            self._offset = offset
            if offset in marks:
                reachable = self._begin(offset, marks[offset], reachable)
            if not reachable:
                continue
            self._discarded = index < last and operations[index + 1].number == _POP_TOP
            if target >= 0:
                self._jump(number, argument, target)
            steps[number](self, opname[number], argument)
            if target > offset:
                self._open_until = max(self._open_until, target)
            reachable = number not in _ENDS

    def _begin(self, offset: int, mark: _Mark, reachable: bool) -> bool:
        """What is reached from elsewhere, or may end by an exception. Whether it is reached at
        all.
        """
        state = self._states.get(offset)
        if reachable and state is not None:
            self._offset = -1  # what comes next has not been looked at
            state = self._merged(offset, _State(self._stack, self._locals))
            self._offset = offset
        if state is not None:
            self._stack, self._locals = list(state.stack), dict(state.variables)
            reachable = True
        if mark.catches:
            self._locals = dict(self._ever)
        self._within = mark.within
        for handler in mark.handlers if reachable else ():
            self._open_until = max(self._open_until, handler.at)
            below = self._stack[: handler.depth]
            stack = [*below, *[_NOTHING] * (handler.depth - len(below)), _NOTHING]
            self._merged(handler.at, _State(stack, self._locals))
        return reachable

    def _merged(self, offset: int, state: _State) -> _State:
        """The state at an offset that is reached in several ways."""
        merged = self._states.get(offset)
        if merged is None:
            merged = self._states[offset] = _State(list(state.stack), dict(state.variables))
            self._changed |= offset <= self._offset
        elif merged.take(state):
            self._changed |= offset <= self._offset  # a loop
        return merged

    def _jump(self, number: int, argument: int, target: int) -> None:
        """The state at the target of a jump."""
        stack = list(self._stack)
        effect = _effect(opname[number], argument, True)
        if effect < 0:
            del stack[effect:]
        else:
            stack += [self._item_of_top()] * effect
        self._merged(target, _State(stack, self._locals))

    # one operation

    def _branch(self, name: str, argument: int) -> None:
        self._decide(self._stack.pop())

    def _same(self, name: str, argument: int) -> None:
        pass

    def _copy(self, name: str, argument: int) -> None:
        self._stack.append(self._stack[-argument])

    def _swap(self, name: str, argument: int) -> None:
        stack = self._stack
        stack[-1], stack[-argument] = stack[-argument], stack[-1]

    def _null(self, name: str, argument: int) -> None:
        self._stack.append(_NULL)

    def _nothing(self, name: str, argument: int) -> None:
        self._stack.append(_NOTHING)

    def _subscript(self, name: str, argument: int) -> None:
        key = self._stack.pop()
        owner = self._stack.pop()
        self._push_below(owner, _ITEM, key.all_reads())

    def _next_item(self, name: str, argument: int) -> None:
        self._stack.append(self._item_of_top())

    def _unpack(self, name: str, argument: int) -> None:
        item = self._item_of_top()
        self._stack.pop()
        self._stack += [item] * (_effect(name, argument, False) + 1)

    def _import(self, name: str, argument: int) -> None:
        del self._stack[-2:]
        self._stack.append(_root(f"m:{self._code.co_names[argument]}"))

    def _import_from(self, name: str, argument: int) -> None:
        self._push_attribute(self._stack[-1], self._code.co_names[argument])

    def _enter_manager(self, name: str, argument: int) -> None:
        manager = self._stack.pop()
        self._stack.append(_NOTHING)
        self._push_below(manager, RESULT, frozenset())

    def _drop(self, name: str, argument: int) -> None:
        effect = _effect(name, argument, False)
        if effect < 0:
            del self._stack[effect:]

    def _other(self, name: str, argument: int) -> None:
        effect = _effect(name, argument, False)
        stack = self._stack
        if effect < 0:
            values = stack[effect - 1 :]
            del stack[effect - 1 :]
            stack.append(self._computed(values))
        elif effect == 0:
            if stack:
                stack.append(self._computed([stack.pop()]))
        else:
            stack += [self._computed(stack[-1:])] * effect

    @staticmethod
    def _computed(values: list[Value]) -> Value:
        """A new value that was computed from others."""
        reads = [value_reads for value in values if (value_reads := value.all_reads())]
        if not reads:
            return _NOTHING
        return Value(frozenset(), reads[0].union(*reads[1:]))

    def _decide(self, value: Value) -> None:
        reads = value.all_reads()
        if reads and not reads <= self._read:
            self._read.update(
                (place, deep) for place, deep in reads if deep or not self._is_own(place)
            )

    def _is_own(self, place: Place) -> bool:
        """Whether this call has stored there before it reads."""
        return bool(self._definite) and any(place[: len(own)] == own for own in self._definite)

    def _item_of_top(self) -> Value:
        if self._stack:
            return self._below(self._stack[-1], _ITEM, frozenset())
        return _NOTHING

    @staticmethod
    def _below(owner: Value, step: str, reads: frozenset[tuple[Place, bool]]) -> Value:
        places = frozenset(_longer(place, step) for place in owner.places)
        if len(places) > _MOST_PLACES:
            places = frozenset((place[0], ANY) for place in places)
        return Value(places, owner.reads | reads)

    def _push_below(self, owner: Value, step: str, reads: frozenset[tuple[Place, bool]]) -> None:
        value = self._below(owner, step, reads)
        self._stack.append(value)
        if self._within:
            self._decide(value)

    def _push_attribute(self, owner: Value, name: str) -> None:
        self._push_below(owner, name, frozenset())

    # variables

    def _variable(self, number: int) -> Value:
        return self._locals.get(self._names[number], _NOTHING)

    def _assign(self, number: int, value: Value) -> None:
        name = self._names[number]
        if name in self._code.co_cellvars:  # an inner function may assign at any time
            value = _union(self._locals.get(name, _NOTHING), value)
        self._locals[name] = value
        assigned = self._ever.get(name)
        self._ever[name] = value if assigned is None else _union(assigned, value)

    def _load_variable(self, name: str, argument: int) -> None:
        self._stack.append(self._variable(argument))

    def _load_constant(self, name: str, argument: int) -> None:
        value = self._code.co_consts[argument]
        # for `getattr`
        self._stack.append(_text(value) if type(value) is str else _NOTHING)

    def _load_global(self, name: str, argument: int) -> None:
        value = _root(f"g:{self._code.co_names[argument >> 1]}")
        if _NULL_FIRST:
            parts = (_NULL, value)
        else:
            parts = (value, _NULL)
        self._stack += parts if argument & 1 else (value,)
        if self._within:
            self._decide(value)

    def _load_attribute(self, name: str, argument: int) -> None:
        stack = self._stack
        owner = stack.pop()
        self._push_attribute(owner, self._code.co_names[argument >> 1])
        if argument & 1:
            stack.append(owner)

    def _load(self, name: str, argument: int) -> None:
        stack = self._stack
        names = self._code.co_names
        if name == "LOAD_SUPER_ATTR":
            owner = stack[-1]
            del stack[-3:]
            self._push_attribute(owner, names[argument >> 2])
            stack += [owner] if argument & 1 else []
        elif name == "LOAD_FAST_LOAD_FAST":
            stack += [self._variable(argument >> 4), self._variable(argument & 15)]
        elif name == "LOAD_FROM_DICT_OR_DEREF":
            stack[-1] = self._variable(argument)
        else:
            self._other(name, argument)

    def _store(self, name: str, argument: int) -> None:
        stack = self._stack
        names = self._code.co_names
        if name == "STORE_FAST_LOAD_FAST":
            self._assign(argument >> 4, stack.pop())
            stack.append(self._variable(argument & 15))
        elif name == "STORE_FAST_STORE_FAST":
            self._assign(argument >> 4, stack.pop())
            self._assign(argument & 15, stack.pop())
        elif name == "STORE_FAST":
            self._assign(argument, stack.pop())
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            if name == "STORE_DEREF":
                value = stack.pop()
            else:
                value = _NOTHING
            if self._names[argument] in self._code.co_freevars:
                self._write((f"f:{self._names[argument]}",), value)
            else:
                self._assign(argument, value)
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            self._write((f"g:{names[argument]}",), *stack[-1:])
            del stack[_effect(name, argument, False) or len(stack) :]
        elif name in ("STORE_ATTR", "DELETE_ATTR"):
            owner = stack.pop()
            for place in owner.places:
                self._write(_longer(place, names[argument]), *stack[-1:])
            del stack[len(stack) - (name == "STORE_ATTR") :]
        elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            owner = stack[-3 if name == "STORE_SLICE" else -2]
            value = stack[_effect(name, argument, False)]
            del stack[_effect(name, argument, False) :]
            for place in owner.places:
                self._write(_longer(place, _ITEM), value)
        else:
            self._other(name, argument)

    def _write(self, place: Place, *values: Value) -> None:
        if "__dict__" in place:
            place = (*place[: place.index("__dict__")], ANY)
        elif self._offset >= self._open_until and not UNCERTAIN.intersection(place):
            self._definite.add(place)
        self._written.add(place)
        if any(_is_argument(source) for value in values for source in value.places):
            self._handed.add(place)

    # calls

    def _call(self, name: str, argument: int) -> None:
        stack = self._stack
        if name == "CALL_KW":
            stack.pop()
        if name == "CALL_FUNCTION_EX":
            taken = 3 + (argument & 1)
            parts = stack[-taken:]
            first, second, values = (*parts[:2], parts[2:])
            positions = None
        else:
            taken = argument + 2
            parts = stack[-taken:]
            first = parts[0]
            second = parts[1]
            values = parts[2:]
            positions = values
        del stack[-taken:]
        callee = second if first is _NULL else first
        if second is not _NULL and first is not _NULL and positions is not None:
            positions = [second, *positions]  # the object of a method comes first
        stack.append(self._result(callee, values, positions))
        if self._within:
            self._decide(stack[-1])

    def _result(self, callee: Value, values: list[Value], positions: list[Value] | None) -> Value:
        """What a call returns, after what it stores to was noted."""
        target = self._resolve(callee)
        kind = type(target)
        reads = callee.all_reads(True).union(*(value.all_reads(True) for value in values))
        # a method may read all of its object
        reads = reads.union((place[:-1], True) for place in callee.places if len(place) > 1)
        if isinstance(target, type):
            if target is super and self._arguments and not values:
                return self._locals[self._arguments[0]]
            if target is type and len(values) == 1:
                return self._below(values[0], "__class__", frozenset())
            if target is bool:
                return self._computed(values)
            return Value(frozenset(), reads)
        if kind is BuiltinFunctionType and target in _OWN_TYPE:
            return self._computed(values)
        if kind is BuiltinFunctionType and target in _BY_NAME and len(values) > 1:
            return self._attribute(target, values)
        if target is globals:
            return Value(frozenset(((_GLOBALS,),)))
        if target is vars and len(values) == 1:
            return self._below(values[0], "__dict__", frozenset())
        if self._analysis.is_foreign(target):
            return Value(frozenset(), reads)
        if kind is FunctionType:
            self._callee(target, positions)
        else:
            self._unknown_call(callee, values)
        places = frozenset(
            _longer(place, RESULT) for place in callee.places if place[-1] != "__new__"
        )
        return Value(places, reads)

    def _attribute(self, target: Any, values: list[Value]) -> Value:
        names = [read[0][1] for read in values[1].reads if read[0][0] == "k:"]
        if len(names) == 1 and not values[1].places:
            step = names[0]
        else:
            step = ANY
        value = self._below(values[0], step, values[1].all_reads())
        if target in (setattr, delattr):
            for place in value.places:
                self._write(place, *values[2:])
            return _NOTHING
        if target is hasattr:
            return self._computed([value])
        if len(values) < 3:
            return value
        return _union(value, values[2])

    def _unknown_call(self, callee: Value, values: list[Value]) -> None:
        """Where nobody uses the result, the call was made for what it changes."""
        for place in callee.places:
            owner = place[:-1]
            if not owner or owner[0].startswith("m:") or isinstance(self._at(owner), ModuleType):
                continue
            if place[-1] in MUTATORS:
                self._write((*owner, _ITEM), *values[_KEYS.get(place[-1], 0) :])
            elif (
                self._discarded
                and type(self._at(owner)) not in _CONTAINERS
                # what an argument leads to, or a call, is mostly made by the test itself
                and (len(owner) == 1 or (owner[0].startswith("g:") and RESULT not in owner))
            ):
                self._write((*owner, ANY), *values)

    def _callee(self, function: FunctionType, positions: list[Value] | None) -> None:
        """A function of Python that is known: what it stores to in its arguments and globals."""
        stores = self._analysis.of(function.__code__, function.__globals__, self._depth + 1)
        names = function.__code__.co_varnames
        values = positions or []
        for place in stores.written if stores is not None else ():
            root = place[0]
            if root.startswith("g:") or root == _GLOBALS:
                if function.__globals__ is self._space:
                    self._write(place, *values)
            elif root.startswith("a:"):
                position = names.index(root[2:])
                is_given = positions is not None and position < len(positions)
                for outer in positions[position].places if is_given and positions else ():
                    self._write(
                        _joined(outer, place[1:]), *values[:position], *values[position + 1 :]
                    )

    def _resolve(self, callee: Value) -> Any:
        if len(callee.places) == 1:
            return self._at(next(iter(callee.places)))
        return UNKNOWN

    def _at(self, place: Place) -> Any:
        """The object at a place, where that is certain."""
        return self._analysis.object_at(place, self._code, self._space)


def _step_of(name: str) -> Callable[[_Flow, str, int], None]:
    if name in _STEP_NAMES:
        return _STEP_NAMES[name]
    if "JUMP" in name and "IF" in name:
        return _Flow._branch
    if name.startswith("LOAD_"):
        return _Flow._load
    if name.startswith(("STORE_", "DELETE_")):
        return _Flow._store
    if name in _DROPPING or name in _END_NAMES:
        return _Flow._drop
    return _Flow._other


_STEP_NAMES: Final[Mapping[str, Callable[[_Flow, str, int], None]]] = {
    **dict.fromkeys(_DROPPING, _Flow._drop),
    **dict.fromkeys(_SAME, _Flow._same),
    **dict.fromkeys(("CALL", "CALL_KW", "CALL_FUNCTION_EX"), _Flow._call),
    **dict.fromkeys(("UNPACK_SEQUENCE", "UNPACK_EX"), _Flow._unpack),
    **dict.fromkeys(("BEFORE_WITH", "BEFORE_ASYNC_WITH"), _Flow._enter_manager),
    **dict.fromkeys(
        (
            "LOAD_FAST",
            "LOAD_FAST_CHECK",
            "LOAD_FAST_AND_CLEAR",
            "LOAD_DEREF",
            "LOAD_CLOSURE",
        ),
        _Flow._load_variable,
    ),
    "LOAD_CONST": _Flow._load_constant,
    "LOAD_GLOBAL": _Flow._load_global,
    "LOAD_ATTR": _Flow._load_attribute,
    "COPY": _Flow._copy,
    "SWAP": _Flow._swap,
    "PUSH_NULL": _Flow._null,
    "RETURN_GENERATOR": _Flow._nothing,
    "BINARY_SUBSCR": _Flow._subscript,
    "FOR_ITER": _Flow._next_item,
    "IMPORT_NAME": _Flow._import,
    "IMPORT_FROM": _Flow._import_from,
}
_STEPS: Final = [_step_of(name) for name in opname]
UNCERTAIN: Final = frozenset((_ITEM, RESULT, ANY))
"""Steps that may lead to several objects."""
_EVERYTHING: Final = Stores(frozenset(((_GLOBALS,),)), frozenset((((_GLOBALS,), True),)))


@lru_cache(maxsize=4096)
def _root(name: str) -> Value:
    return Value(frozenset(((name,),)))


@lru_cache(maxsize=4096)
def _text(text: str) -> Value:
    """A constant, whose text is needed where it names an attribute."""
    return Value(frozenset(), frozenset(((("k:", text), False),)))


def _is_argument(place: Place) -> bool:
    """Whether it is what the function was called with, or a part of that."""
    return place[0].startswith("a:") and RESULT not in place


def _union(first: Value, second: Value) -> Value:
    if first is second or first == second:
        return first
    places = first.places | second.places
    if len(places) > _MOST_PLACES:
        places = frozenset((place[0], ANY) for place in places)
    return Value(places, first.reads | second.reads)


def _longer(place: Place, step: str) -> Place:
    if place[-1] == ANY:
        return place
    if len(place) < _MOST_STEPS:
        return (*place, step)
    return (*place, ANY)


def _joined(place: Place, steps: Place) -> Place:
    for step in steps:
        place = _longer(place, step)
    return place


def _catching(operations: list[_Operation], handlers: list[_Handler]) -> list[tuple[int, int]]:
    """(start, end) of what an `except` is for; `with` and `finally` raise again."""
    if not handlers:
        return []
    places = {operation.offset: index for index, operation in enumerate(operations)}
    catches: dict[int, bool] = {}
    ranges = []
    for handler in handlers:
        if handler.at not in catches:
            catches[handler.at] = False
            for operation in operations[places.get(handler.at, len(operations)) :]:
                name = opname[operation.number]
                if name in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "POP_EXCEPT"):
                    catches[handler.at] = True
                    break
                if name in ("WITH_EXCEPT_START", "RERAISE", "COPY", "SWAP"):
                    break
        if catches[handler.at]:
            ranges.append((handler.start, handler.end))
    return ranges


class Analysis:
    """The stores of functions, computed once for each."""

    def __init__(self, path: Callable[[str], str | None] = str) -> None:
        self._path = path
        """A file → its path in the repository; None for another one."""
        self._known: dict[int, Stores | None] = {}
        self._codes: list[CodeType] = []
        """So that no other object gets their identity."""
        self._first: Any = UNKNOWN

    def of(
        self, code: CodeType, space: Mapping[str, Any], depth: int = 0, first: Any = UNKNOWN
    ) -> Stores | None:
        """What a function stores to. None where it is called too deep below another one, or calls
        itself. `first`: its first argument, in some call.
        """
        key = _identity(code)
        if key not in self._known:
            if depth > _MOST_DEPTH:
                return None
            self._known[key] = None  # while it is looked at
            self._codes.append(code)
            before, self._first = self._first, first
            try:
                self._known[key] = _Flow(code, self, space, depth).stores()
            finally:
                self._first = before
        return self._known[key]

    def is_foreign(self, target: Any) -> bool:
        """Whether a function is known, and none of the repository: what it caches is not followed,
        and what it returns is taken for new.
        """
        if type(target) is FunctionType:
            return self._path(target.__code__.co_filename) is None
        return type(target) is BuiltinFunctionType

    def object_at(self, place: Place, code: CodeType, space: Mapping[str, Any]) -> Any:
        """The object at a place, where that is certain; UNKNOWN else. Runs nothing."""
        root, *steps = place
        if root.startswith("g:"):
            name = root[2:]
            if name in space:
                value = space[name]
            else:
                value = vars(builtins).get(name, UNKNOWN)
        elif root.startswith("m:"):
            value = sys.modules.get(root[2:], UNKNOWN)
        elif (
            root.startswith("a:")
            and len(steps) == 1
            and code.co_argcount
            and root[2:] == code.co_varnames[0]
        ):
            return _member(self._first, steps[0])
        else:
            return UNKNOWN
        for step in steps:
            if type(value) is ModuleType:
                value = vars(value).get(step, UNKNOWN)
            elif isinstance(value, type):
                value = _member(value, step)
            else:
                return UNKNOWN
        return value


_MOST_DEPTH: Final = 3
_identity: Final = object.__hash__


def _member(owner: Any, name: str) -> Any:
    """What a class has under a name, of an object or of the class itself."""
    if owner is UNKNOWN:
        return UNKNOWN
    kind = type(owner)
    classes = type.__dict__["__mro__"].__get__(owner if issubclass(kind, type) else kind)
    for owner_class in classes:
        own = type.__dict__["__dict__"].__get__(owner_class)
        if name in own:
            value = own[name]
            if type(value) is classmethod:
                return value.__func__
            return value
    return UNKNOWN
