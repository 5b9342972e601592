# SPDX-License-Identifier: Apache-2.0
"""The demo's command line."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from . import guest_run, plan
from .contender import CONTENDERS, LIBRARIES
from .scene import SCENES

WAYS = {"back-to-back": plan.BACK_TO_BACK, "paused": plan.PAUSED}


def parse(words):
    parser = argparse.ArgumentParser(
        prog="demo", description="An MPI all-to-all across two emulated clusters, without and with Headway.",
        epilog="Results of each contender are kept below the folder; a second start measures what is"
               " missing there.")
    parser.add_argument("--full", action="store_true",
                        help="every scene, contender, size and way of calling, both MPI libraries (hours)")
    parser.add_argument("--fresh", action="store_true", help="forget kept results")
    parser.add_argument("--scenes", "--scene", default=",".join(SCENES), metavar="A,B,...",
                        help=f"some of {','.join(SCENES)}")
    parser.add_argument("--contenders", metavar="A,B,...", help=f"some of {','.join(CONTENDERS)} "
                        f"(default: {','.join(plan.OF_THE_DEMO)}; with --full all)")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), metavar="A,B", help="ompi, mpich or both")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="A,B", help="back-to-back, paused or both")
    parser.add_argument("--sizes", metavar="BYTES,...", help="bytes per pair of ranks, instead of the plan's")
    parser.add_argument("--launches", metavar="N,...",
                        help="fresh mpiruns with seed 1, 2, ... (default 1; with --full 2,2,1)")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
                        help="guests at a time, of one processor and 2 GB each (default: processors here)")
    parser.add_argument("--kernel", default=guest_run.STABLE, metavar="NAME",
                        help="the guests' kernel, of those that tests/vm/kernels lists (default: stable)")
    parser.add_argument("--out", type=Path, metavar="FOLDER",
                        help="default: build/demo, or build/demo-full")
    parser.add_argument("--assert", dest="must_meet", action="store_true",
                        help="end with status 1 if a target is missed")
    options = parser.parse_args(words)
    options.out = options.out or guest_run.ROOT / "build" / ("demo-full" if options.full else "demo")
    options.plan = wanted(parser, options)
    return options


def wanted(parser, options):
    contenders = names(parser, "--contenders", options.contenders or ",".join(CONTENDERS), CONTENDERS)
    whole = plan.FULL if options.full else plan.demo(contenders if options.contenders else plan.OF_THE_DEMO)
    ways = [WAYS[name] for name in names(parser, "--ways", options.ways, WAYS)]
    libraries = names(parser, "--libraries", options.libraries, LIBRARIES)
    scenes = names(parser, "--scenes", options.scenes, SCENES)
    found = plan.chosen(whole, scenes, contenders, libraries, ways,
                        numbers(parser, "--sizes", options.sizes))
    launches = numbers(parser, "--launches", options.launches)
    if launches:
        found = replace(found, launches=launches)
    if not found.parts:
        parser.error("nothing of that is in the plan; --full has more")
    return found


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def names(parser, option, text, known):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            parser.error(f"{option}: unknown '{name}'; known: {', '.join(known)}")
    return [name for name in known if name in chosen]


def numbers(parser, option, text):
    if text is None:
        return None
    try:
        return tuple(positive(word) for word in text.split(","))
    except (ValueError, argparse.ArgumentTypeError):
        parser.error(f"{option}: '{text}' is no list of numbers")
