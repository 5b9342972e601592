# SPDX-License-Identifier: Apache-2.0
"""Which mpirun comes next for a contender.

The same rule for everybody.  A contender first tries each of its transport
settings `trials` times at every size.  At each size the setting with the lower
median goes on until it has enough fresh mpiruns: `runs_clean` if nothing was
lost at that size, `runs_lossy` if anything was (a lossy exchange is chaotic, a
loss-free one repeats itself).
"""

from dataclasses import dataclass

from .samples import median_ms


@dataclass(frozen=True)
class Effort:
    trials: int
    runs_clean: int
    runs_lossy: int


class Schedule:
    def __init__(self, transports, sizes, effort):
        self.transports = list(transports)
        self.sizes = list(sizes)
        self.effort = effort
        self.runs = {(t, s): [] for t in self.transports for s in self.sizes}
        self.mpiruns = 0

    def add(self, transport, size_runs):
        """Take the results of one mpirun."""
        self.mpiruns += 1
        for run in size_runs:
            self.runs[transport, run.message_bytes].append(run)

    def next(self):
        """(transport, sizes) of the next mpirun, or None when all is done."""
        return self._next_trial() or self._next_of_the_better()

    def _next_trial(self):
        if len(self.transports) == 1:
            return None
        for tried in range(self.effort.trials):
            for transport in self.transports:
                if any(len(self.runs[transport, size]) <= tried for size in self.sizes):
                    return transport, list(self.sizes)
        return None

    def _next_of_the_better(self):
        for transport in self.transports:
            sizes = [size for size in self.sizes
                     if self.better(size) == transport and self._wants_more(transport, size)]
            if sizes:
                return transport, sizes
        return None

    def _wants_more(self, transport, size):
        runs = self.runs[transport, size]
        lossy = any(run.lossy for run in runs)
        return len(runs) < (self.effort.runs_lossy if lossy else self.effort.runs_clean)

    def better(self, size):
        """The setting with the lower median over the trials at this size."""
        if len(self.transports) == 1:
            return self.transports[0]
        return min(self.transports,
                   key=lambda transport: median_ms(self.runs[transport, size][:self.effort.trials]))

    def most_left(self):
        """At most so many mpiruns are still to come, if the settings' trials agree."""
        trials = self.effort.trials * len(self.transports) if len(self.transports) > 1 else 0
        after = self.effort.runs_lossy - (self.effort.trials if trials else 0)
        return max(trials + after - self.mpiruns, 0)
