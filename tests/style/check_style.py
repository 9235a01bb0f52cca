#!/usr/bin/env python3
"""Holds the style that a reader relies on: who includes whom, sizes, the one getenv, written-out memory orders, one type for each name.

check_style.py [ROOT]: prints FILE:LINE: RULE: what is wrong, one a line; exit 1 when there is any, 2 when ROOT is no tree.
Exceptions stand in tests/style/allow.txt, each with its reason; one that nothing needs any more is itself reported.
"""

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from cpp_text import blank_out, functions, line_of, types

FOLDERS = ("include", "src", "kernels", "transports", "nccl", "tools", "benchmarks", "examples", "tests", "python")
CPP = (".cpp", ".hpp", ".h", ".c", ".cu", ".cuh")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 160

# What a folder may include beside itself, include/rondo and src/base. None: anything. The table of docs/ARCHITECTURE.md.
DIRECTIONS = {
    "include": (),
    "src/base": (),
    "src/topology": (),
    "src/plan": (),
    "src/planner": ("src/topology", "src/plan"),
    "src/calibration": (),
    "src/formats": ("src/plan",),
    "src/verifier": ("src/plan",),
    "src/simulator": ("src/plan", "src/topology"),
    "src/executor": ("src/plan",),
    "src/device": ("src/plan", "src/executor", "kernels/cuda"),
    "src/bootstrap": (),
    "src/communicator": None,
    "kernels": (),
    "transports": (),
    "nccl": (),
    "tests": None,
}
PUBLIC_HEADERS_ALONE = {"tools": (), "benchmarks": ("tools",), "examples": (), "python": ()}  # programs, and whose parts they may use
LIBRARY = ("include", "src", "kernels", "transports", "nccl")
GETENV_HOME = "src/base/config.cpp"


@dataclass(frozen=True)
class Fault:
    path: str
    line: int
    rule: str
    text: str
    name: str = ""  # of the function, where there is one: part of the key in the allow-list

    def key(self):
        return (self.rule, f"{self.path}:{self.name}" if self.name else self.path)


class Source:
    """A file: its text, and for C++ the text without comments, literals and directives, at the same positions."""

    def __init__(self, root, file):
        self.root = root
        self.path = file.relative_to(root).as_posix()
        self.suffix = file.suffix
        self.text = file.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.is_cpp = file.suffix in CPP
        self.code = blank_out(self.text) if self.is_cpp else self.text

    def fault(self, line, rule, text, name=""):
        return Fault(self.path, line, rule, text, name)


def folder_of(path):
    """The folder that counts for include directions: src/NAME, kernels/NAME, transports/NAME, else the first."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("src", "kernels", "transports") and len(parts) > 2 else parts[0]


def resolve(source, included):
    """The included file as a path from the root, found as the compiler finds it; None when it isn't ours."""
    beside = Path(source.path).parent
    own = Path(source.path).parts[0]  # tests and benchmarks name their own files from their top
    for base in (beside, Path("include"), Path("src"), Path("."), Path(own)):
        candidate = source.root / base / included
        if candidate.is_file():
            return candidate.resolve().relative_to(source.root).as_posix()
    return None


def may_include(user, used):
    if used in (user, "include"):
        return True
    top = user.split("/")[0]
    if top in PUBLIC_HEADERS_ALONE:
        return used in PUBLIC_HEADERS_ALONE[top]
    allowed = DIRECTIONS.get(user, DIRECTIONS.get(top, ()))
    if allowed is None:
        return True
    return (used == "src/base" and user != "include") or used in allowed


def check_includes(source):
    for number, line in enumerate(source.lines, 1):
        found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<(rondo/[^>]+)>)', line)
        if not found:
            continue
        included = found.group(1) or found.group(2)
        target = resolve(source, included)
        if target is None:
            yield source.fault(number, "include-direction", f'"{included}" is not in the tree; write <...> for foreign headers')
            continue
        user, used = folder_of(source.path), folder_of(target)
        if not may_include(user, used):
            yield source.fault(number, "include-direction", f"{user} must not include {target}")


def check_file_size(source):
    count = len(source.lines) - (source.lines[-1] == "")
    if source.suffix in (".cpp", ".hpp", ".py") and count > MAX_FILE_LINES:
        yield source.fault(count, "file-size", f"{count} lines; at most {MAX_FILE_LINES}")


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def check_function_size(source):
    if source.is_cpp:
        found = functions(source.code, source.text)
    elif source.suffix == ".py":
        try:
            found = list(python_functions(source.text))
        except SyntaxError as wrong:
            yield source.fault(wrong.lineno or 1, "python-syntax", str(wrong.msg))
            return
    else:
        return
    for name, first, last in found:
        count = last - first + 1
        if count > MAX_FUNCTION_LINES:
            yield source.fault(first, "function-size", f"{name} has {count} lines; at most {MAX_FUNCTION_LINES}", name)


def check_environment(source):
    if not source.is_cpp or source.path == GETENV_HOME or source.path.startswith("tests/"):
        return
    for found in re.finditer(r"\b(?:secure_)?getenv\b|\benviron\b", source.code):
        yield source.fault(line_of(source.code, found.start()), "getenv", f"the environment is read in {GETENV_HOME} alone")


def check_conditionals(source):
    if not source.is_cpp:
        return
    for number, line in enumerate(source.code.split("\n"), 1):
        if re.match(r"\s*#\s*(?:el)?if(?:n?def)?\b.*(?:CUDA|UCX)", line):
            yield source.fault(number, "conditional", "#if on CUDA or UCX belongs into CMake")


ATOMIC_CALL = re.compile(r"(?:\.|->)\s*(load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set|test)\s*\(")


def arguments_at(code, opening):
    depth = 0
    for position in range(opening, len(code)):
        depth += (code[position] == "(") - (code[position] == ")")
        if depth == 0:
            return code[opening + 1:position]
    return code[opening + 1:]


def check_memory_orders(source):
    if not source.is_cpp or not source.path.startswith(("src/", "transports/", "include/", "kernels/")):
        return
    for found in ATOMIC_CALL.finditer(source.code):
        if not re.search(r"\bmemory_order|\border\b", arguments_at(source.code, found.end() - 1)):
            yield source.fault(line_of(source.code, found.start()), "memory-order", f"{found.group(1)} without its memory order")


def check_lines(source):
    for number, line in enumerate(source.lines, 1):
        if "\t" in line:
            yield source.fault(number, "tab", "tab character")
        if source.is_cpp and len(line) > MAX_COLUMNS:
            yield source.fault(number, "line-length", f"{len(line)} columns; at most {MAX_COLUMNS}")


def check_name(source):
    name = Path(source.path).name
    # NAME-inl.hpp is Highway's word for a header that is compiled once per instruction set.
    if source.suffix in (".cpp", ".hpp") and not re.fullmatch(r"[a-z][a-z0-9_]*(?:-inl\.hpp|\.[ch]pp)", name):
        yield source.fault(1, "file-name", f"{name} is not snake_case")


CHECKS = (check_includes, check_file_size, check_function_size, check_environment, check_conditionals,
          check_memory_orders, check_lines, check_name)


def check_one_definition(all_sources):
    """Two types of one name in the library are undefined behaviour that no compiler reports."""
    first = {}
    for source in all_sources:
        if not source.is_cpp or source.path.split("/")[0] not in LIBRARY:
            continue
        for name, line in types(source.code):
            if name in first:
                yield source.fault(line, "one-definition", f"{name} is defined in {first[name]}, too")
            else:
                first[name] = source.path


def read_allowed(root):
    """{(rule, place): line number}, and the faults of the list itself. A line: RULE PLACE REASON; PLACE is FILE or FILE:FUNCTION."""
    path = "tests/style/allow.txt"
    allowed, faults = {}, []
    file = root / path
    for number, line in enumerate(file.read_text().split("\n") if file.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3:
            faults.append(Fault(path, number, "allow-list", "expected: RULE PLACE REASON"))
        else:
            allowed[(words[0], words[1])] = number
    return allowed, faults


def sources(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in CPP + (".py",) and file.is_file() and "__pycache__" not in file.parts:
                yield Source(root, file)


def check_tree(root):
    root = Path(root).resolve()
    allowed, faults = read_allowed(root)
    used = set()
    all_sources = list(sources(root))
    found = [fault for source in all_sources for check in CHECKS if source.is_cpp or check is not check_includes for fault in check(source)]
    for fault in found + list(check_one_definition(all_sources)):
        if fault.key() in allowed:
            used.add(fault.key())
        else:
            faults.append(fault)
    for key, number in allowed.items():
        if key not in used:
            faults.append(Fault("tests/style/allow.txt", number, "allow-list", f"{key[0]} {key[1]} is no longer needed"))
    return faults


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    if not (root / "src").is_dir():
        print(f"check_style.py: {root} has no folder src; expected the root of the tree", file=sys.stderr)
        return 2
    faults = check_tree(root)
    for fault in faults:
        print(f"{fault.path}:{fault.line}: {fault.rule}: {fault.text}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
