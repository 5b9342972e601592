# SPDX-License-Identifier: Apache-2.0
"""Many jobs, and a daemon that is killed at any moment.

HW_JOBS and HW_KILLS say how many (make check-soak); by default 1000 and 4.
"""

import os
import random
import subprocess

from guestdaemon import DEV, EVERYBODY, SOCKET, Daemon, is_unpaced, paced_at, unpaced
from tcguest import classes, eventually, note
from ktap import case, equal
from control import Control
from cases_phases import BYTES_PER_S, in_phase, phased
from cases_reconcile import is_paced

JOBS = int(os.environ.get("HW_JOBS", "1000"))
KILLS = int(os.environ.get("HW_KILLS", "4"))
WARM_UP_JOBS = 100          # tables of the daemon reach their size
GROWTH_MAX_KIB = 256        # of memory: less than a page for each of 64 jobs


def held(daemon):
    """Descriptors (BPF programs and arrays are some) and resident KiB."""
    pid = daemon.process.pid
    with open(f"/proc/{pid}/status") as file:
        resident = next(line for line in file if line.startswith("VmRSS:"))
    return len(os.listdir(f"/proc/{pid}/fd")), int(resident.split()[1])


def run_job(number):
    """One that ends without a word, in its phase."""
    control = Control(SOCKET)
    control.do("hello", job=f"{number}.0", rank=0, pid=os.getpid())
    slot, _ = control.join(f"{number}.0")
    # rates that differ, so that classes come and go
    hosts = EVERYBODY[:1 + number % 4] + EVERYBODY[4:]
    slot.store(control.phase(hosts)["phase"])
    slot.close()
    control.close()


@case
def nothing_grows_with_jobs():
    daemon = Daemon(phased())
    for number in range(WARM_UP_JOBS):
        run_job(number)
    watcher = Control(SOCKET)
    eventually(lambda: watcher.do("status")["jobs"] == [], "no job is left")
    descriptors, kib = held(daemon)
    known = set(classes(DEV))  # those of phases serve the next job that wants such a rate
    for number in range(JOBS):
        run_job(number)
    eventually(lambda: watcher.do("status")["jobs"] == [], "no job is left")
    equal(set(classes(DEV)), known)
    unpaced()
    now, now_kib = held(daemon)
    note(f"{JOBS} jobs: {descriptors} and {now} descriptors, {kib} and {now_kib} KiB")
    equal(now, descriptors)
    equal(now_kib - kib <= GROWTH_MAX_KIB, True)


def killed_while_it_starts(chance, store=None):
    """A daemon that gets that far, and no further."""
    daemon = Daemon(phased(), wait=False, store=store)
    try:
        daemon.process.wait(timeout=chance.uniform(0, 0.1))
        raise AssertionError(f"the daemon has ended by itself: {daemon.said()}")
    except subprocess.TimeoutExpired:
        Daemon.kill_last()


@case
def kills_at_any_moment_leave_the_pace():
    """A job stays in its phase, and tells the next daemon of it as the helper does."""
    chance = random.Random(20)
    Daemon(phased())
    control, slot, _ = in_phase()
    for turn in range(KILLS):
        for _ in range(chance.randrange(4)):
            control.phase(EVERYBODY[:1 + chance.randrange(8)] + EVERYBODY[4:])
        Daemon.kill_last()
        paced_at(BYTES_PER_S, when=turn)
        for _ in range(chance.randrange(3)):
            killed_while_it_starts(chance)
            paced_at(BYTES_PER_S, when=turn)
        daemon = Daemon(phased())
        paced_at(BYTES_PER_S, when=turn)
        slot.close()
        control.close()
        control, slot, _ = in_phase()
        paced_at(BYTES_PER_S, when=turn)
    control.close()
    eventually(is_unpaced, "what is sent is not paced any more")
    equal(daemon.stop(), 0)
    equal(is_paced(), False)
