#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Asks bash, zsh and fish themselves what they offer behind a beginning of headway's command line.

    completion_test.py HEADWAY
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from hang_limit import HANGS_S

HEADWAY = ""

# The words before the cursor, and what is offered there: some of it, and what is not.
CASES = (
    (["headway", ""], {"plan", "run", "job", "completion", "topology"}, {"start", "slot"}),
    (["headway", "pre"], {"predict"}, {"plan"}),
    (["headway", "job", ""], {"start", "end", "list"}, {"plan", "job"}),
    (["headway", "job", "--socket", "/x", "start", "--ma"], {"--map-by"}, {"--hosts"}),
    (["headway", "plan", "--what-if", "run", "--op"], {"--operation"}, {"--report"}),
    (["headway", "plan", "--map-by", ""], {"slot", "node"}, {"--json", "plan"}),
    (["headway", "completion", ""], {"bash", "zsh", "fish"}, {"plan"}),
    (["headway", "run", "--report", "know"], {"known.json"}, set()),
    (["headway", "run", "--", "mpirun", "know"], {"known.json"}, set()),
    (["headway", "run", "--", "mpirun", "--re"], set(), {"--report"}),
)

BASH = r"""
source "$1"; shift
compopt() { [[ "$*" != '-o default' ]] || default=yes; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_headway
printf '%s\n' "${COMPREPLY[@]}"
[[ ! $default ]] || compgen -f -- "${!#}" || true
"""

# A shell on a terminal of its own, to which a Tab is sent.  It writes to a file what it
# adds to the offer, and says when it has offered all.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
say() { zpty -w shell "$1"; }
say 'PS1=; stty cols 400; fpath=('"$1"' $fpath); autoload -Uz compinit; compinit -u -D'
say 'zstyle ":completion:*" list-packed no; zstyle ":completion:*:default" list-prompt ""; LISTMAX=10000'
say 'compadd() { builtin compadd "$@"; local -a got; builtin compadd -O got "$@"; print -rl -- "${got[@]#-}" "${got[@]}" >>'"$2"'; }'
say 'complete_and_tell() { zle complete-word; print -r -- off''ered; }'
say 'zle -N complete_and_tell; bindkey "^I" complete_and_tell'
say 'echo rea''dy'
zpty -r -m shell line '*ready*'
zpty -w -n shell "$3"$'\t'
zpty -r -m shell line '*offered*'
zpty -d shell
"""


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "known.json").touch()
        (self.folder / "functions").mkdir()

    def script(self, shell, name):
        file = self.folder / "functions" / name
        file.write_text(self.headway("completion", shell))
        return file

    def headway(self, *arguments):
        return subprocess.run([HEADWAY, *arguments], check=True, text=True, capture_output=True).stdout

    def output(self, *command):
        return subprocess.run(command, text=True, capture_output=True, cwd=self.folder, timeout=HANGS_S,
                              check=True).stdout

    def check(self, offered_by):
        for words, wanted, unwanted in CASES:
            with self.subTest(" ".join(words)):
                offered = offered_by(words)
                self.assertLessEqual(wanted, offered)
                self.assertFalse(unwanted & offered, offered)

    def test_bash(self):
        script = self.script("bash", "headway.bash")

        def offered(words):
            return set(self.output("bash", "-c", BASH, "bash", script, *words).split())

        self.check(offered)
        self.assertEqual(offered(["headway", "plan", "--map-by", "=", "s"]), {"slot"})

    def test_fish(self):
        script = self.script("fish", "headway.fish")

        def offered(words):
            lines = self.output("fish", "--no-config", "-c",
                                f"source {script}; complete -C '{' '.join(words)}'")
            return {line.split("\t")[0] for line in lines.splitlines()}

        self.check(offered)

    def test_zsh(self):
        functions = self.script("zsh", "_headway").parent
        found = self.folder / "found"

        def offered(words):
            found.write_text("")
            self.output("zsh", "-f", "-c", ZSH, "zsh", functions, found, " ".join(words))
            return set(found.read_text().split())

        self.check(offered)

    def test_everything_of_help_is_offered(self):
        """Each verb and option that --help lists, by bash, whose words are plain to read."""
        script = self.script("bash", "headway.bash")

        def listed(*verb):
            text = self.headway(*verb, "--help")
            options = set(re.findall(r"(?:^  |,)(--?[a-z][a-z-]*)", text, re.M))
            return options, re.findall(r"^  ([a-z][a-z-]*) {2,}", text.partition("--help")[2], re.M)

        def walk(*path):
            options, verbs = listed(*path)
            self.assertIn("--help", options)
            offered = self.output("bash", "-c", BASH, "bash", script, "headway", *path, "").split()
            self.assertLessEqual(options | set(verbs), set(offered))
            return 1 + sum(walk(*path, verb) for verb in verbs)

        self.assertGreater(walk(), 20)

    def test_no_other_shell(self):
        ended = subprocess.run([HEADWAY, "completion", "powershell"], text=True, capture_output=True)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("bash, zsh, fish", ended.stderr)


if __name__ == "__main__":
    HEADWAY = sys.argv.pop(1)
    unittest.main()
