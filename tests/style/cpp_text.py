"""C++ as text: enough to find functions and calls in formatted code, far from a parser."""

import re

_TOKENS = re.compile(
    r"""//[^\n]*            # line comment
      | /\*.*?\*/           # block comment
      | R"([^()\s\\]{0,16})\(.*?\)\1"   # raw string
      | "(?:\\.|[^"\\\n])*" # string
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'  # character, but not a digit separator
    """, re.VERBOSE | re.DOTALL)


def _blank(found):
    text = found.group(0)
    if text.startswith(("//", "/*")):
        return re.sub(r"[^\n]", " ", text)
    return text[0] + re.sub(r"[^\n]", " ", text[1:-1]) + text[-1]


def blank_out(text):
    """The text with comments and the insides of literals turned to spaces; positions and lines stay."""
    return _TOKENS.sub(_blank, text)


def without_directives(code):
    """Preprocessor lines (with their continuations) turned to spaces."""
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda found: re.sub(r"[^\n]", " ", found.group(0)), code, flags=re.MULTILINE)


def line_of(code, position):
    return code.count("\n", 0, position) + 1


def _kind(head, outer):
    if re.search(r"\bnamespace\b|\bextern\s*\"", head):
        return "scope"
    if outer == "body":
        return "body"
    if re.search(r"\b(?:class|struct|union|enum)\b[^()]*$", head) and "=" not in head:
        return "scope"
    return "function" if "(" in head else "body"


def _name(head, text):
    if found := re.match(r'\s*(\w*TEST_CASE\w*)\s*\(', head):
        quoted = re.search(r'"((?:[^"\\]|\\.)*)"', text)
        return re.sub(r"\W+", "_", quoted.group(1)) if quoted else found.group(1)
    found = re.search(r"([\w~:]+|operator\s*\S+?)\s*\(", head)
    return re.sub(r"\s", "", found.group(1)) if found else "lambda"


def functions(code, text):
    """[(name, first line, last line)] of what has a body outside other bodies. `code` is blank_out(text)."""
    code = without_directives(code)
    result, stack = [], []
    begin = 0  # where the declaration that may own the next brace begins
    for found in re.finditer(r"[{};]", code):
        at, mark = found.start(), found.group(0)
        if mark == "{":
            head = code[begin:at]
            outer = stack[-1][0] if stack else "scope"
            kind = _kind(head, "body" if outer in ("function", "body") else "scope")
            stack.append((kind, begin, at))
            begin = at + 1
        elif mark == "}" and stack:
            kind, declared, opened = stack.pop()
            begin = at + 1
            if re.match(r"\s*[,{]", code[at + 1:]):
                begin = declared  # a member initialiser: the body is still to come
            elif kind == "function":
                head = code[declared:opened]
                first = declared + len(head) - len(head.lstrip())
                result.append((_name(head, text[declared:opened]), line_of(code, first), line_of(code, at)))
        elif mark == ";" and not (stack and stack[-1][0] in ("function", "body")):
            begin = at + 1
        elif mark == ";":
            begin = at + 1
    return result


_TYPES = re.compile(r"\bnamespace\s*(?P<space>[\w:]*)\s*\{"
                    r"|\b(?:struct|class|union|enum(?:\s+class)?)\s+(?:\w+\([^)]*\)\s*|\[\[[^]]*\]\]\s*)*(?P<type>\w+)\s*(?:final\s*)?(?::[^:{};][^{};]*)?\{"
                    r"|[{}]")


def types(code):
    """[(qualified name, line)] of the types that are defined in named namespaces, outside functions and other types."""
    code = without_directives(code)
    result, stack = [], []  # of each open brace: the namespace's name, or None
    for found in _TYPES.finditer(code):
        if found.group(0) == "}":
            stack = stack[:-1]
        else:
            if found.group("type") and all(stack):
                result.append(("::".join([*stack, found.group("type")]), line_of(code, found.start())))
            stack.append(found.group("space"))
    return result
