"""Tests of docs/guide/cookbook.md: each recipe runs in a directory of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import millibox
from test_examples import EXAMPLES, PACKAGE, needs_cgroups, needs_program

#: In the repository, and where `make test` assembles the package.
PAGES = [PACKAGE / "cookbook.md", PACKAGE / "../../docs/guide/cookbook.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS = Path(millibox.__file__).with_name("_bin")


def recipes() -> dict[str, list[tuple[str, str]]]:
    """The blocks of each recipe: language and text."""
    page = next(path for path in PAGES if path.exists()).read_text(encoding="utf-8")
    sections = page.split("\n## ")[1:]
    return {section.split("\n", 1)[0]: BLOCK.findall(section) for section in sections}


class Test(unittest.TestCase):
    def blocks(self, title: str, *languages: str) -> list[str]:
        found = recipes()[title]
        self.assertEqual([language for language, _ in found], list(languages))
        return [text for _, text in found]

    def directory(self) -> Path:
        path = Path(tempfile.mkdtemp(prefix="millibox-"))
        self.addCleanup(shutil.rmtree, path)
        # The sandbox's user must be able to read it.
        path.chmod(0o755)
        return path

    def succeeds(self, command: list[str], directory: Path) -> None:
        path = f"{COMMANDS}:{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path}
        ended = subprocess.run(
            command, cwd=directory, env=environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def shell(self, text: str, directory: Path) -> None:
        self.succeeds(["sh", "-e", "-u", "-c", text], directory)

    def python(self, text: str, directory: Path) -> None:
        self.succeeds([sys.executable, "-W", "error", "-c", text], directory)

    def test_all_recipes_are_tested(self) -> None:
        titles = [
            "Grade a class",
            "Reward a model for programs that pass tests",
            "Run HumanEval",
            "Give an agent a tool that runs programs",
            "Build a LaTeX document that you do not trust",
        ]
        self.assertEqual(list(recipes()), titles)

    @needs_cgroups
    def test_class(self) -> None:
        package, program, table = self.blocks("Grade a class", "sh", "python", "text")
        directory = self.directory()
        self.shell(package, directory)
        self.python(program, directory)
        self.assertEqual((directory / "grades.csv").read_text(encoding="utf-8"), table)

    def test_programs_in_the_repository_are_shown(self) -> None:
        """test_examples.py runs these programs."""
        (program,) = self.blocks("Reward a model for programs that pass tests", "python")
        self.assertEqual(program, (EXAMPLES / "reward.py").read_text(encoding="utf-8"))
        program, _ = self.blocks("Run HumanEval", "python", "text")
        self.assertEqual(program, (EXAMPLES / "check_human_eval.py").read_text(encoding="utf-8"))

    @needs_cgroups
    def test_agent(self) -> None:
        (program,) = self.blocks("Give an agent a tool that runs programs", "python")
        hostile = (
            "with Sandbox() as box:\n"
            "    session = Session(box)\n"
            "    source = \"import os; os.makedirs('a/b'); os.chmod('a', 0); os.chmod('.', 0)\"\n"
            "    assert session.run_python(source) == '[exit status 0]'\n"
            "    session.close()\n"
            "    assert not os.path.exists(session.directory)\n"
        )
        directory = self.directory()
        self.python(program + hostile, directory)

    @needs_cgroups
    @needs_program("pdflatex")
    def test_latex(self) -> None:
        (script,) = self.blocks("Build a LaTeX document that you do not trust", "sh")
        directory = self.directory()
        self.shell(script, directory)
        self.assertTrue((directory / "paper.pdf").read_bytes().startswith(b"%PDF-"))
        self.assertIn("(./paper.tex", (directory / "paper.log").read_text(encoding="utf-8"))
        # A document that runs forever is ended.
        forever = script.replace("\\section", "\\def\\x{\\x}\\x\\section").replace("20s", "1s")
        with self.assertRaisesRegex(AssertionError, "^124 != 0"):
            self.shell(forever, self.directory())


if __name__ == "__main__":
    unittest.main()
