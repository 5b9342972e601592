#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what Slurm's prolog, epilog and plugin tell headwayd, and that they never fail."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLURM = ROOT / "packaging/slurm"
HEADERS = pathlib.Path("/usr/include/slurm/spank.h")

# slurmd, as far as the plugin calls it.
HOST = r"""
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <slurm/spank.h>

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	return opt->name ? ESPANK_SUCCESS : ESPANK_ERROR;
}
spank_err_t spank_option_getopt(spank_t sp, struct spank_option *opt, char **value)
{
	(void)sp; (void)opt;
	*value = getenv("PATTERN");
	return *value ? ESPANK_SUCCESS : ESPANK_ERROR;
}
spank_err_t spank_getenv(spank_t sp, const char *name, char *value, int size)
{
	const char *found = getenv(name);

	(void)sp;
	if (!found)
		return ESPANK_ENV_NOEXIST;
	if (snprintf(value, size, "%s", found) >= size)
		return ESPANK_NOSPACE;
	return ESPANK_SUCCESS;
}
spank_err_t spank_setenv(spank_t sp, const char *name, const char *value, int overwrite)
{
	(void)sp; (void)overwrite;
	printf("%s=%s\n", name, value);
	return ESPANK_SUCCESS;
}
const char *spank_strerror(spank_err_t error) { (void)error; return "an error"; }
spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	va_list list;
	(void)sp;
	va_start(list, item);
	*va_arg(list, uint32_t *) = item == S_JOB_ID ? 4711 : 1000;
	va_end(list);
	return ESPANK_SUCCESS;
}
void slurm_error(const char *format, ...) { (void)format; }

int main(int argc, char *argv[])
{
	void *plugin = dlopen(argv[1], RTLD_NOW);
	int (*call)(spank_t, int, char **) = plugin ? dlsym(plugin, argv[2]) : 0;
	return call ? call(0, argc - 3, argv + 3) : 99;
}
"""


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said = self.folder / "said"
        self.program = self.folder / "headway"
        self.answer(0)
        # the system's log
        (self.folder / "logger").write_text(f'#!/bin/sh\necho "log: $*" >>{self.said}\n')
        (self.folder / "logger").chmod(0o755)

    def answer(self, status):
        self.program.write_text(f'#!/bin/sh\necho "$*" >>{self.said}\n'
                                f'[ {status} = 0 ] || echo refused >&2\nexit {status}\n')
        self.program.chmod(0o755)

    def environment(self, more):
        path = f"{self.folder}:{os.environ['PATH']}"
        return {"PATH": path, "HEADWAY": str(self.program), **more}

    def run_script(self, name, **more):
        done = subprocess.run([SLURM / name], env=self.environment(more), text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return self.said.read_text().splitlines()

    def test_prolog_starts_the_job(self):
        self.assertEqual(self.run_script("headway-prolog", SLURM_JOB_ID="4711", SLURM_JOB_UID="1000",
                                         SLURM_JOB_NODELIST="a[0-3],b1"),
                         ["job start 4711 --lasting --user 1000 --hosts a[0-3],b1"])

    def test_prolog_tells_the_start_where_slurm_does(self):
        self.assertEqual(self.run_script("headway-prolog", SLURM_JOB_ID="4711",
                                         SLURM_JOB_START_TIME="1700000000"),
                         ["job start 4711 --lasting --start 1700000000"])
        for nothing in ("", "0", "Unknown"):
            self.said.write_text("")
            self.assertEqual(self.run_script("headway-prolog", SLURM_JOB_ID="4711",
                                             SLURM_JOB_START_TIME=nothing), ["job start 4711 --lasting"])

    def test_prolog_does_without_hosts(self):
        self.assertEqual(self.run_script("headway-prolog", SLURM_JOB_ID="4711"),
                         ["job start 4711 --lasting"])

    def test_epilog_ends_it(self):
        self.assertEqual(self.run_script("headway-epilog", SLURM_JOB_ID="4711", SLURM_JOB_UID="1000"),
                         ["job end 4711 --user 1000"])

    def test_a_refusal_is_logged_and_no_failure(self):
        self.answer(1)
        for script in ("headway-prolog", "headway-epilog"):
            self.said.write_text("")
            log = self.run_script(script, SLURM_JOB_ID="4711")[-1]
            self.assertEqual(log, f"log: --tag {script} -- job 4711: status 1: refused")

    def test_slurm_that_tells_no_job_does_not_lose_the_node(self):
        for script in ("headway-prolog", "headway-epilog"):
            self.said.write_text("")
            self.assertEqual(self.run_script(script),
                             [f"log: --tag {script} -- Slurm has not set SLURM_JOB_ID"])

    def test_a_daemon_that_hangs_is_logged_and_no_failure(self):
        # stands for timeout(1) when headway has not ended within its 10 s
        (self.folder / "timeout").write_text('#!/bin/sh\n[ "$2" = 10 ] && [ "$4" = job ] && exit 124\n'
                                             'shift 2; exec "$@"\n')
        (self.folder / "timeout").chmod(0o755)
        for script in ("headway-prolog", "headway-epilog"):
            self.said.write_text("")
            self.assertEqual(self.run_script(script, SLURM_JOB_ID="4711"),
                             [f"log: --tag {script} -- job 4711: status 124: "])

    def plugin(self, *options):
        """Builds the plugin and what stands for slurmd."""
        plugin, host = self.folder / "plugin.so", self.folder / "host"
        (self.folder / "host.c").write_text(HOST)
        cc = shutil.which("cc")
        subprocess.run([cc, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", plugin,
                        f'-DHEADWAY_PROGRAM="{self.program}"', *options, SLURM / "spank_headway.c"],
                       check=True)
        subprocess.run([cc, "-rdynamic", "-o", host, self.folder / "host.c"], check=True)
        return [host, plugin]

    @unittest.skipUnless(HEADERS.exists(), "libslurm-dev is not installed")
    def test_plugin_tells_the_same(self):
        plugin = self.plugin()

        def call(function, where=f"headway={self.program}", **more):
            self.said.write_text("")
            subprocess.run([*plugin, function, *where.split()], check=True, env=self.environment(more))
            return self.said.read_text().splitlines()

        self.assertEqual(call("slurm_spank_job_epilog", where=""), ["job end 4711 --user 1000"])
        self.assertEqual(call("slurm_spank_job_epilog", where="headway=/nowhere/headway"), [])
        self.assertEqual(call("slurm_spank_init"), [])
        self.assertEqual(call("slurm_spank_job_prolog", SLURM_JOB_NODELIST="a[0-3]", PATTERN="alltoall"),
                         ["job start 4711 --lasting --user 1000 --hosts a[0-3] --pattern=alltoall"])
        # as Slurm 22.05 calls it
        self.assertEqual(call("slurm_spank_job_prolog", SLURM_NODELIST="a[0-3]"),
                         ["job start 4711 --lasting --user 1000 --hosts a[0-3]"])
        self.assertEqual(call("slurm_spank_job_prolog"), ["job start 4711 --lasting --user 1000"])
        self.assertEqual(call("slurm_spank_job_prolog", SLURM_JOB_NODELIST="a0", PATTERN="alltoall",
                              SLURM_JOB_START_TIME="1700000000"),
                         ["job start 4711 --lasting --user 1000 --hosts a0 --start 1700000000 "
                          "--pattern=alltoall"])
        for nothing in ("", "0", "Unknown"):
            self.assertEqual(call("slurm_spank_job_prolog", SLURM_JOB_START_TIME=nothing),
                             ["job start 4711 --lasting --user 1000"])
        self.assertEqual(call("slurm_spank_job_epilog"), ["job end 4711 --user 1000"])
        self.answer(1)
        self.assertEqual(call("slurm_spank_job_epilog"), ["job end 4711 --user 1000"])

    @unittest.skipUnless(HEADERS.exists(), "libslurm-dev is not installed")
    def test_plugin_goes_on_where_nobody_tells_of_a_childs_end(self):
        # SIGCHLD ignored: waitpid() finds no child.  SIGALRM ends one that asks for ever.
        program = [*self.plugin(), "slurm_spank_job_epilog", f"headway={self.program}"]
        ignoring = ["perl", "-e", "$SIG{CHLD} = 'IGNORE'; alarm 60; exec @ARGV"]
        done = subprocess.run([*ignoring, *program], env=self.environment({}), check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.said.read_text(), "job end 4711 --user 1000\n")

    @unittest.skipUnless(HEADERS.exists(), "libslurm-dev is not installed")
    def test_plugin_kills_a_program_that_hangs(self):
        ended = self.folder / "ended"
        self.program.write_text(f"#!/bin/sh\necho $$ >{self.said}\nread nothing <>{self.fifo()}\ntouch {ended}\n")
        subprocess.run([*self.plugin("-DHEADWAY_PATIENCE_MS=500"), "slurm_spank_job_prolog"], check=True,
                       env=self.environment({}), timeout=60)
        pid = self.said.read_text().strip()
        self.assertFalse(pathlib.Path("/proc", pid).exists())
        self.assertFalse(ended.exists())

    def fifo(self):
        path = self.folder / "fifo"
        os.mkfifo(path)
        return path

    @unittest.skipUnless(HEADERS.exists(), "libslurm-dev is not installed")
    def test_plugin_sets_the_preload(self):
        plugin = self.plugin()
        library = self.folder / "libheadway-mpi.so"
        library.touch()

        def preload(*arguments, **more):
            return subprocess.run([*plugin, "slurm_spank_user_init", *arguments], check=True, text=True,
                                  env=self.environment(more), capture_output=True).stdout

        given = f"preload={library}"
        self.assertEqual(preload(), "")
        self.assertEqual(preload(given), f"LD_PRELOAD={library}\n")
        self.assertEqual(preload(given, LD_PRELOAD=""), f"LD_PRELOAD={library}\n")
        # behind the user's own, and not twice where a step inherits it
        self.assertEqual(preload(given, LD_PRELOAD="/lib/libm.so.6"),
                         f"LD_PRELOAD=/lib/libm.so.6:{library}\n")
        for before in (f"{library}", f"/lib/libm.so.6:{library}", f"{library} /lib/libm.so.6"):
            self.assertEqual(preload(given, LD_PRELOAD=before), "")
        self.assertEqual(preload(given, LD_PRELOAD=f"{library}.1"), f"LD_PRELOAD={library}.1:{library}\n")
        self.assertEqual(preload(f"preload={library}.missing"), "")
        self.assertEqual(preload(given, LD_PRELOAD="x" * 5000), "")


if __name__ == "__main__":
    unittest.main()
