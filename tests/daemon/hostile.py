#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client that tries everything against another user's job (Documentation/security.rst).

    hostile.py SOCKET VICTIM_UID VICTIM_JOB HOST...
says "done" with what was granted that should not have been, as JSON, goes on asking for
plans for as long as its input is open, and stays in all that it has got.
"""

import contextlib
import json
import os
import resource
import select
import sys

from control import Control

PATH, UID, JOB, HOSTS = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
GRANTED = []
HELD = []       # connections and slots


def must_be_refused(control, op, **members):
    answer = control.ask(op, **members)
    if answer["ok"] and answer.get("paced") is not False:
        GRANTED.append([op, members])


def administrators_requests(control):
    must_be_refused(control, "off")
    must_be_refused(control, "job_end", job=JOB, uid=UID)
    must_be_refused(control, "job_start", job=JOB, uid=UID, hosts=HOSTS[:1])
    must_be_refused(control, "job_start", job="heavy", hosts=HOSTS, weight=1000)
    must_be_refused(control, "job_start", job="ever", hosts=HOSTS, lasting=True)
    must_be_refused(control, "job_start", job="pattern", hosts=HOSTS, operation="alltoall")
    must_be_refused(control, "job_start", job="flows", hosts=HOSTS, flows=[[0, 4, 1]])
    must_be_refused(control, "enter", operation="alltoall", job_hosts=HOSTS, comm_hosts=HOSTS)


def slow_phase(job, with_hosts):
    """Sits in the slowest phase that there is, with nonsense in all other slots of the job."""
    control = Control(PATH)
    HELD.append(control)
    slot, answer = control.join(job)
    if not slot:
        return answer["error"]
    HELD.append(slot)
    if with_hosts:
        control.phase(HOSTS)
    slow = 1250     # bytes/s: a thousandth of the guest's 10 Mbit/s
    answer = control.ask("rate", bytes_per_s=slow)
    while not answer["ok"] and "thousandth" in answer["error"]:
        slow *= 2
        answer = control.ask("rate", bytes_per_s=slow)
    for place in range(256):
        slot.store(0xffffffff, place)
    if answer["ok"]:
        for place in range(256):
            slot.store(answer["phase"], place)
    return None


def many_connections():
    """Connects as many as are let in, each of a job of its own that names all hosts."""
    with contextlib.suppress(OSError, AssertionError, ValueError):
        for number in range(1100):
            control = Control(PATH)
            HELD.append(control)
            control.do("hello", job=f"sybil{number}", rank=0, pid=1)
            control.ask("prepare", operation="alltoall", job_hosts=HOSTS, comm_hosts=HOSTS)


def storm(control):
    """Plans of many kinds, until our input ends; answers that nobody fetches."""
    size = 1
    while not select.select([sys.stdin], [], [], 0)[0]:
        size += 1
        control.ask("plan", operation="alltoall", hosts=HOSTS, ranks_per_host=1 + size % 4096,
                    message_bytes=size * 4096)
        control.ask("status")


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
first = Control(PATH)
administrators_requests(first)
for number in range(60):
    refused = slow_phase(f"slow{number}", with_hosts=number % 2 == 0)
many_connections()
print(json.dumps({"uid": os.getuid(), "granted": GRANTED, "last_refusal": refused}), flush=True)
storm(first)
