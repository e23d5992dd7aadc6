# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The dialect of src/, as doc/hacking.md states it, for check-style: names of errors, blank lines, headers.

Each rule is a function of a path and its lines that returns complaints. BAD has examples that the rules must
refuse, and GOOD some that they must not; check-style tries them each time."""
import os
import re

# Words, stars and a name; statements of that look begin with a keyword.
DECLARATION = re.compile(r"\t+(?!(?:if|while|for|switch|return|goto|else|case|break|continue|do|default|typedef)\b)"
                         r"(?:(?:[A-Za-z_]\w*[ *]+)+(?:\(\*)?\w+(?:\[[^;]*\]|\)\(.*|\[.*)*(?: =|;|,|$)"
                         r"|(?:static |const )*(?:struct|union|enum)(?: \w+)? \{|_Static_assert|LIBBPF_OPTS)")
STATUS = re.compile(r"\t+int (?:[^(]*[ ,])?(ret|rc|rv|res|err|error)(?: =|;|,)")
INCLUDE = re.compile(r'#include "(\w+(?:/\w+)*)/(\w+_state\.h)"')
PROTOTYPE = re.compile(r"(?!static|typedef|extern)[a-z][\w *]*\b\w+\(")


def blank_comments(lines):
    text = "\n".join(lines)
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.S)
    return [line.rstrip() for line in text.split("\n")]


def find_functions(lines):
    """First and last line of each, by the braces in column 0."""
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            yield begin, number
            begin = None


def skip_declaration(code, at, end):
    """The line behind the declaration that begins at one, which may be an initialiser of many lines."""
    depth = 0
    while at < end:
        depth += code[at].count("{") - code[at].count("}")
        at += 1
        if depth <= 0 and code[at - 1].endswith(";"):
            break
    return at


def skip_comments(lines, code, at):
    while at < len(lines) and lines[at].strip() and not code[at]:
        at += 1
    return at


def check_blank_lines(path, lines):
    """A blank line follows the declarations at the head of a block."""
    found, code = [], blank_comments(lines)
    for begin, end in find_functions(lines):
        for block in range(begin, end):
            if not code[block].endswith("{") or code[block].endswith(("= {", "]{", "struct {", "union {")):
                continue
            behind = at = skip_comments(lines, code, block + 1)
            first = behind
            while at < end and DECLARATION.match(code[at]):
                behind = skip_declaration(code, at, end)
                at = skip_comments(lines, code, behind)
            if behind > first and lines[behind].strip() and code[behind].strip() != "}":
                found.append(f"{path}:{behind + 1}: a blank line belongs between the declarations and this")
    return found


def check_error_names(path, lines):
    """What a call returned is r, or err in a function that has another r."""
    found, code = [], blank_comments(lines)
    for begin, end in find_functions(lines):
        head = begin
        while head > 0 and code[head - 1] and not code[head - 1].endswith((";", "}")):
            head -= 1
        words = set(re.findall(r"\w+", "\n".join(code[head:end])))
        for at in range(begin, end):
            name = STATUS.match(code[at])
            if name and (name[1] != "err" or "r" not in words):
                found.append(f"{path}:{at + 1}: '{name[1]}': the variable for what a call returned is r, "
                             "or err where r is something else")
    return found


def check_header(path, lines):
    """A header is guarded by its path's name and says what it is for; a folder keeps its *_state.h to itself."""
    found = []
    for number, line in enumerate(lines, 1):
        include = INCLUDE.match(line)
        if include and "src/" + include[1] != os.path.dirname(path):
            found.append(f"{path}:{number}: {include[2]} is for the sources of src/{include[1]} alone")
    if not path.endswith(".h"):
        return found
    guard = "CULPRIT_" + re.sub(r"\W", "_", path[len("src/"):]).upper()
    if "#ifndef " + guard not in lines[:4]:
        found.append(f"{path}: its guard is not {guard}")
    if any(PROTOTYPE.match(line) for line in lines) and not any("/*" in line for line in lines[1:]):
        found.append(f"{path}: no comment says what its functions do")
    return found


def check_sorts(path, lines):
    """An array is sorted by array_sort(), which may have none: qsort() of a null pointer is undefined."""
    return [f"{path}:{number}: array_sort() of util/array.h, not qsort()"
            for number, line in enumerate(blank_comments(lines), 1)
            if re.search(r"\bqsort\(", line) and path != "src/util/array.h"]


RULES = (check_blank_lines, check_error_names, check_header, check_sorts)
SPDX = "/* SPDX */"
BAD = (
    (check_blank_lines, "src/a.c", "{\n\tint r = 0;\n\treturn r;\n}"),
    (check_blank_lines, "src/a.c", "{\n\tif (a) {\n\t\tstruct b *c = d;\n\t\te(c);\n\t}\n}"),
    (check_blank_lines, "src/a.c", "{\n\tchar a[2], *b; /* c */\n\t/* d */\n\te(a, b);\n}"),
    (check_blank_lines, "src/a.c", "{\n\tstatic const int a[] = {\n\t\t1,\n\t};\n\tb(a);\n}"),
    (check_error_names, "src/a.c", "{\n\tint err = b();\n\n\treturn err;\n}"),
    (check_error_names, "src/a.c", "{\n\tint a, error;\n\n\terror = b(&a);\n}"),
    (check_error_names, "src/a.c", "int a(struct b *r)\n{\n\tint ret = b(r);\n\n\treturn ret;\n}"),
    (check_header, "src/db/a.h", SPDX + "\n#ifndef A_H\n/* a */"),
    (check_header, "src/db/a.h", SPDX + "\n#ifndef CULPRIT_DB_A_H\nint a(void);"),
    (check_header, "src/cmd/a.c", '#include "db/writer_state.h"'),
    (check_sorts, "src/a.c", "{\n\tqsort(a, b, sizeof(*a), c);\n}"),
)
GOOD = (
    (check_blank_lines, "src/a.c", "{\n\tfor (;;) {\n\t\tif (*b == 1)\n\t\t\tc();\n\t\td();\n\t}\n}"),
    (check_blank_lines, "src/a.c", "{\n\tint r = 0;\n\n\treturn r;\n}"),
    (check_blank_lines, "src/a.c", "{\n\tb();\n\tif (c) {\n\t\treturn d;\n\t}\n}"),
    (check_error_names, "src/a.c", "int a(struct b *r)\n{\n\tint err = b(r);\n\n\treturn err;\n}"),
    (check_error_names, "src/a.c", "int a(struct b *ret)\n{\n\tint r = b(c, ret, d);\n\n\treturn r;\n}"),
    (check_header, "src/db/a.h", SPDX + "\n#ifndef CULPRIT_DB_A_H\n/* a */\nint a(void);"),
    (check_header, "src/db/a.c", '#include "db/writer_state.h"'),
)


def check_rules():
    """That each rule finds what it is there for."""
    return ([f"{rule.__name__} does not refuse {text!r}" for rule, path, text in BAD
             if not rule(path, text.split("\n"))] +
            [f"{rule.__name__} refuses {text!r}" for rule, path, text in GOOD if rule(path, text.split("\n"))])


def check(path, lines):
    return [line for rule in RULES for line in rule(path, lines)]
