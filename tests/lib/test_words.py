# SPDX-License-Identifier: Apache-2.0
"""tests/lib/words on pages of its own: what counts, and what does not."""
import pathlib
import subprocess
import tempfile
import unittest

WORDS = pathlib.Path(__file__).resolve().parent / "words"

PAGE = """.. SPDX-License-Identifier: Apache-2.0

=====
Title
=====

Three words here, and -- none of dashes:

=======  =======  =====
program  seconds  drops
=======  =======  =====
IS       0.733    1567
FT       0.401    1063
=======  =======  =====

=====  ==========
verb   what it does
=====  ==========
plan   says rates
run    begins jobs
=====  ==========
"""
MARKDOWN = """<!-- SPDX-License-Identifier: Apache-2.0 -->
One `two` three.

| a | b |
| --- | --- |
| what | nothing |
| 2 | 3 |

```json
{"four": 4}
```
"""
MANUAL = """.Dd November 21, 2026
.Dt X 1
.Os
.Sh NAME
.Nm x
.Nd four words of text
"""


class Words(unittest.TestCase):
    def counted(self, **pages):
        """The lines that are printed, as (words, name)."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in pages.items():
                paths.append(pathlib.Path(folder, name.replace("_", ".")))
                paths[-1].write_text(text)
            printed = subprocess.run([WORDS, *paths], check=True, text=True, stdout=subprocess.PIPE).stdout
        return [(int(line.split()[0]), pathlib.Path(line.split(maxsplit=1)[1]).name) for line in printed.splitlines()]

    def test_tables_of_figures_do_not_count_and_others_do(self):
        # Title; Three words here and none of dashes; the second table
        self.assertEqual(self.counted(page_rst=PAGE), [(1 + 7 + 10, "page.rst"), (18, "in all")])

    def test_in_a_page_that_a_program_writes_neither_tables_nor_code_count(self):
        self.assertEqual(self.counted(a_md=MARKDOWN)[0], (3 + 2, "a.md"))
        written = MARKDOWN.replace("One", "<!-- Written by x; do not edit. -->\nOne").replace("| 2 | 3 |\n", "")
        self.assertEqual(self.counted(a_md=written)[0], (3, "a.md"))
        self.assertEqual(self.counted(a_md=written.replace("do not edit", "edit"))[0], (3 + 4 + 2, "a.md"))

    def test_manual_pages_count_as_they_are_read(self):
        (count, _), _ = self.counted(x_1=MANUAL)
        self.assertIn("four", MANUAL)
        more = MANUAL.replace("of text", "of text and three more")
        self.assertEqual(self.counted(x_1=more)[0][0], count + 3)

    def test_the_sum_is_that_of_the_documents_git_knows(self):
        printed = subprocess.run([WORDS], check=True, text=True, stdout=subprocess.PIPE).stdout
        *pages, total = [line.split() for line in printed.splitlines()]
        self.assertEqual(sum(int(count) for count, _ in pages), int(total[0]))
        names = {name for _, name in pages}
        self.assertLessEqual({"README.md", "Documentation/index.rst", "Documentation/headway.1", "tc-plugin/tc-gap.8"}, names)
        self.assertFalse([name for name in names if name.startswith("LICENSES")])


if __name__ == "__main__":
    unittest.main()
