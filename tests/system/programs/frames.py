# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Works for some seconds in Python functions that are called in every way there is, and writes what
sys._getframe() says of each: frames.py OUT [KIND...]. OUT is a JSON list of chains, each a list of
[function, file, line] from the outermost to the one that called work() or hashed(). All is done briefly
at first: stacks that meet a library before there is a table for it keep the interpreter's frames."""
import asyncio
import ctypes
import functools
import hashlib
import json
import re
import sys
import threading
import time

BRIEF, SECONDS = 0.02, 0.3
length = BRIEF
chains = []


def note():
    """The chain of the caller's callers."""
    chain = []
    frame = sys._getframe(2)  # pylint: disable=protected-access
    while frame:
        code = frame.f_code
        chain.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    chains.append(chain[::-1])


def work(seconds=None):
    note()
    end = time.thread_time() + (seconds or length)
    total = 0
    while time.thread_time() < end:
        for i in range(500):
            total += i * i % 7
    return total


def hashed():
    """In C code that gives the interpreter's lock to others."""
    note()
    end = time.thread_time() + length
    while time.thread_time() < end:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20000)


def nested():
    def middle():
        def inner():
            return [work() for _ in range(1)]
        return (
            inner()
        )
    return middle()


def by_key():
    return sorted([2, 1], key=lambda x: x + (work() if x == 1 else 0))


def by_match():
    def replace(match):
        work()
        return match[0]
    return re.sub("b", replace, "abc")


def by_generator():
    def numbers():
        yield 1
        work()
        yield 2

    def more():
        yield from numbers()
    return sum(more())


class Shape:
    def __init__(self):
        self.begun = True

    def __call__(self):
        work()

    @classmethod
    def of_class(cls):
        work()

    @property
    def area(self):
        return work()

    def __del__(self):
        if self.begun:
            work()


def by_class():
    shape = Shape()
    shape()
    Shape.of_class()
    assert shape.area
    del shape


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@decorated
def by_decorator():
    try:
        raise ValueError
    except ValueError:
        work()
    finally:
        work()


def deep(left):
    return work() if left == 0 else deep(left - 1)


def by_recursion():
    # Before 3.11 each call of Python is one in C too: stacks keep 448 innermost frames.
    deep(300 if sys.version_info >= (3, 11) else 120)


def reduced(left, _):
    return work() if left == 0 else functools.reduce(reduced, [left - 1, 0])


def by_recursion_in_c():
    reduced(20, None)


def by_foreign_code():
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    done = []

    def compare(_, __):
        if not done:
            done.append(work())
        return 0
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(1, 2), 2, 4, kind(compare))


def by_threads():
    threads = [threading.Thread(target=f) for f in (work, hashed, hashed)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def by_coroutine():
    async def inner():
        await asyncio.sleep(0)
        work()

    async def outer():
        await inner()
    asyncio.run(outer())


def by_name():
    def größe_日本():
        work()

    def latin_é():
        work()
    größe_日本()
    latin_é()


def by_memory():
    """Code objects whose memory was others' before."""
    for i in range(100, 160):
        space = {"work": work}
        exec(compile(f"def made_{i}():\n    work({length / 8})\n", f"<made {i}>", "exec"), space)  # pylint: disable=exec-used
        space[f"made_{i}"]()


KINDS = {name: f for name, f in list(globals().items()) if name == "nested" or name.startswith("by_")}


def main():
    global length
    for length in (BRIEF, SECONDS):
        for name in sys.argv[2:] or KINDS:
            KINDS[name]()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(chains, out)


main()
