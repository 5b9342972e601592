# SPDX-License-Identifier: Apache-2.0
"""One bash for the whole run, with the test bed's and the contenders' functions."""

import subprocess


class ShellError(RuntimeError):
    pass


class Shell:
    """Runs shell code in one process, so that functions and variables persist."""

    END = "@end-of-command"

    def __init__(self, environment):
        self.bash = subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc"], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, code):
        """The output of `code`; ShellError with it if the status is not 0."""
        # In a function, so that set -e ends the command and not this shell.
        self.bash.stdin.write(f"{code}\nprintf '\\n{self.END} %s\\n' $?\n")
        self.bash.stdin.flush()
        output = []
        for line in self.bash.stdout:
            if line.startswith(self.END):
                break
            output.append(line)
        else:
            raise ShellError(f"the shell ended at: {code}\n{''.join(output)}")
        text = "".join(output).removesuffix("\n")
        status = int(line.split()[1])
        if status:
            raise ShellError(f"status {status} of: {code}\n{text}")
        return text

    def close(self):
        self.bash.stdin.close()
        self.bash.wait()
