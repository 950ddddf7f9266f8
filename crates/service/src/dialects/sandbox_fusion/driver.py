"""Executes the cells of a request one after another, as a Jupyter kernel does.

The cells are a list of sources in cells.json, beside this file. For each executed cell, the driver
adds a line to results.jsonl: the cell's output, the values that it displayed, and the exception
that ended it.
"""

import ast
import builtins
import json
import linecache
import os
import sys
import types

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
MAX_OUTPUT_BYTES = 1 << 20
# The code of a cell that awaits at its top level is a coroutine (inspect.CO_COROUTINE).
COROUTINE = 0x80
REPRESENTATIONS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_json_": "application/json",
}


class Capture:
    """Captures the output to a descriptor, including that of other processes."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.original = os.dup(descriptor)
        self.file = os.memfd_create("output")
        os.dup2(self.file, descriptor)

    def end(self):
        os.dup2(self.original, self.descriptor)
        output = os.pread(self.file, MAX_OUTPUT_BYTES, 0)
        os.close(self.file)
        os.close(self.original)
        return output.decode("utf-8", "replace")


class Kernel:
    """The state that the cells share."""

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.module.__builtins__ = builtins
        sys.modules["__main__"] = self.module
        self.namespace = self.module.__dict__
        self.displayed = []
        self.loop = None
        builtins.display = self.display

    def display(self, *values):
        self.displayed.extend(bundle(value) for value in values)

    def execute(self, number, source):
        name = f"<cell {number}>"
        self.displayed = []
        errors = []
        captures = [Capture(1), Capture(2)]
        try:
            self.run(source, name)
        # Any exception, including SystemExit, ends a cell, and the next cell is executed.
        except BaseException as error:
            errors.append(describe(error))
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass
        stdout, stderr = [capture.end() for capture in captures]
        return {"stdout": stdout, "stderr": stderr, "display": self.displayed, "error": errors}

    def run(self, source, name):
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        body = parse(source, name).body
        last = None
        if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = ast.Expression(body.pop().value)
        self.evaluate(ast.Module(body, []), name, "exec")
        if last is not None:
            value = self.evaluate(last, name, "eval")
            if value is not None:
                self.namespace["_"] = value
                self.display(value)

    def evaluate(self, tree, name, mode):
        code = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self.namespace)
        if code.co_flags & COROUTINE:
            if self.loop is None:
                import asyncio

                self.loop = asyncio.new_event_loop()
            value = self.loop.run_until_complete(value)
        return value


def parse(source, name):
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compile(source, name, "exec", flags)
    except SyntaxError:
        plain = without_commands(source)
        if plain == source:
            raise
        return compile(plain, name, "exec", flags)


def without_commands(source):
    """Replaces `!COMMAND` by a call of the shell, and leaves out `%magic` lines."""
    lines = []
    for line in source.splitlines():
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        if text.startswith("!"):
            line = f"{indent}__import__('os').system({text[1:]!r})"
        elif text.startswith("%"):
            line = f"{indent}pass"
        lines.append(line)
    return "\n".join(lines)


def bundle(value):
    """The representations of a value by media type."""
    representations = {"text/plain": repr(value)}
    for method, kind in REPRESENTATIONS.items():
        render = getattr(type(value), method, None)
        if render is None:
            continue
        try:
            data = render(value)
            if isinstance(data, bytes):
                import base64

                data = base64.b64encode(data).decode()
            json.dumps(data)
        except Exception:
            continue
        if data is not None:
            representations[kind] = data
    return representations


def describe(error):
    import traceback

    frames = error.__traceback__
    # The frames of this file come first.
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    try:
        value = str(error)
    except Exception:
        value = "<the exception cannot be converted>"
    text = "".join(lines).rstrip("\n")
    return {"ename": type(error).__name__, "evalue": value, "traceback": text.split("\n")}


def main():
    with open(os.path.join(DIRECTORY, "cells.json"), encoding="utf-8") as file:
        cells = json.load(file)
    sys.path[0] = os.getcwd()
    sys.argv = [""]
    kernel = Kernel()
    with open(os.path.join(DIRECTORY, "results.jsonl"), "w", encoding="ascii") as results:
        for number, source in enumerate(cells, 1):
            json.dump(kernel.execute(number, source), results)
            results.write("\n")
            results.flush()


main()
