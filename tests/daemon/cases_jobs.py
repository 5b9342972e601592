# SPDX-License-Identifier: Apache-2.0
"""Jobs by command, links shared among jobs, and looking at them."""

import json
import os

from cases_phases import BYTES_PER_S, in_phase, phased
from control import Control
from guestdaemon import (BIN, EVERYBODY, PLANNED, SOCKET, Daemon, at_rest, config, paced_at,
                         rate_of)
from ktap import case, equal
from tcguest import eventually, sh

HEADWAY = os.path.join(BIN, "headway")
JOBS_FILE = SOCKET + ".jobs"


def headway(*words):
    return sh(HEADWAY, *words, "--socket", SOCKET)


def start_job(name, *more, hosts=None):
    headway("job", "start", name, "--hosts", ",".join(hosts or EVERYBODY), *more)


def headway_jobs():
    return Control(SOCKET).do("status")["jobs"]


def listed():
    return [job["job"] for job in json.loads(headway("job", "list", "--json"))["jobs"]]


@case
def another_job_takes_its_part_while_one_is_in_its_phase():
    Daemon(phased())
    control, _, answer = in_phase()
    equal(answer["bytes_per_s"], BYTES_PER_S)
    paced_at(BYTES_PER_S)
    start_job("99", hosts=["a1", "b1"])
    paced_at(BYTES_PER_S // 2)
    equal(control.phase(EVERYBODY)["bytes_per_s"], BYTES_PER_S // 2)
    headway("job", "end", "99")
    paced_at(BYTES_PER_S)


@case
def jobs_of_two_users_share():
    Daemon(phased())
    held = in_phase()   # as long as its connection is
    other = Control(SOCKET)
    other.join("another")
    other.phase(EVERYBODY)
    paced_at(BYTES_PER_S // 2)
    equal(held[0].phase(EVERYBODY)["bytes_per_s"], BYTES_PER_S // 2)
    other.close()
    eventually(lambda: len(headway_jobs()) == 1, "the other job has ended")
    paced_at(BYTES_PER_S)


@case
def a_pattern_is_in_force_as_long_as_the_job():
    Daemon(config())
    start_job("12", "--pattern", "alltoall")
    equal(rate_of("1:11"), PLANNED)
    headway("job", "end", "12")
    eventually(at_rest, "every class is at rest")


@case
def started_jobs_outlive_the_daemon():
    daemon = Daemon(config())
    start_job("12", "--pattern", "alltoall")
    daemon.kill()
    daemon = Daemon(config())
    equal(listed(), ["12"])
    equal(rate_of("1:11"), PLANNED)
    headway("job", "end", "12")
    equal(listed(), [])
    start_job("13")
    equal(os.path.exists(JOBS_FILE), True)
    equal(daemon.stop(), 0)
    equal(os.path.exists(JOBS_FILE), False)


@case
def a_frame_of_top():
    Daemon(phased())
    held = in_phase()
    frame = json.loads(headway("top", "--once", "--json", "--interval", "0.2"))
    equal([one["cluster"] for one in frame["trunks"]], ["a", "b"])
    equal(frame["in_step"], True)
    equal(isinstance(frame["gap_share"], float), True)
    job = next(one for one in frame["jobs"] if one["job"] == "12.0")
    equal(job["phases"][0]["bytes_per_s"], held[2]["bytes_per_s"])
