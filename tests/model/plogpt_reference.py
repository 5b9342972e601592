# SPDX-License-Identifier: Apache-2.0
"""PlogPT once more, as simple as possible.

Rational numbers instead of doubles, so that ties are exact; no incremental
anything: every event computes all rates anew, and every verdict on a send runs
the whole simulation again.  ask_*() as in congestion_reference; those that
simulate add how many sends timed out.
"""
import math
from fractions import Fraction

# ------------------------------------------------------------ tree, (4) (5) (7)

def clamped(b, clamp):
    b = list(b)
    for i in range(1, len(b)):
        if clamp:
            b[i] = min(b[i], 2 * b[i - 1])
    return b


def height(i, j):
    return (i ^ j).bit_length()


def exact(b, d, h, h2):
    return not (Fraction(2) ** (h2 - h) * b[h - 1] == b[h2 - 1] and d[h - 1] == d[h2 - 1])


def distance(b, d, h, h2):
    if h == h2:
        return 0.0
    if d[h - 1] == 0 or d[h2 - 1] == 0:
        return None
    bandwidths = math.log(Fraction(2) ** (h2 - h) * Fraction(b[h - 1]) / Fraction(b[h2 - 1]))
    return bandwidths ** 2 + math.log(Fraction(d[h - 1]) / Fraction(d[h2 - 1])) ** 2


def switches(b, d, h, h2, eps_s):
    far = distance(b, d, h, h2)
    return exact(b, d, h, h2) if far is None else far > eps_s


def edges(source, destination):
    for h in range(1, height(source, destination) + 1):
        yield h, ("up", source >> (h - 1))
        yield h, ("down", destination >> (h - 1))


def rates(b, flows):
    count = {}
    for flow in flows:
        for edge in edges(*flow):
            count[edge] = count.get(edge, 0) + 1
    return [min((Fraction(b[h - 1]) / count[h, e] for h, e in edges(*flow)), default=None)
            for flow in flows]


def gap_c(b1, g, start, profile):
    left = Fraction(b1) * Fraction(g)
    if left == 0:
        return 0
    for i, (time, throughput) in enumerate(profile):
        begin = max(Fraction(time), Fraction(start))
        end = Fraction(profile[i + 1][0]) if i + 1 < len(profile) else None
        if throughput == 0 or (end is not None and end <= begin):
            continue
        if end is None or Fraction(throughput) * (end - begin) >= left:
            return begin - Fraction(start) + left / Fraction(throughput)
        left -= Fraction(throughput) * (end - begin)
    return None


def gap_of(points, m):
    points = sorted(points)
    if m <= points[0][0] or len(points) == 1:
        return Fraction(points[0][1])
    for low, high in zip(points, points[1:]):
        if m <= high[0]:
            break
    slope = (Fraction(high[1]) - Fraction(low[1])) / (Fraction(high[0]) - Fraction(low[0]))
    return max(Fraction(0), Fraction(low[1]) + slope * (Fraction(m) - Fraction(low[0])))


# ------------------------------------------------------- simulation (10) to (15)

class Run:
    """The programs with a given set of delayed sends, each (rank, op)."""

    def __init__(self, system, programs, delayed):
        self.system, self.programs, self.delayed = system, programs, delayed
        self.time = Fraction(0)
        self.leave = [[None] * len(p) for p in programs]
        self.flows = {}     # send -> bytes left
        self.starts = {}    # send -> O.e
        self.ends = {}      # send -> (O.f_noRTO, rate)
        self.finish = {}    # (rank, op) -> O.f
        self.next = [0] * len(programs)
        self.partner = self.match()
        self.go()

    def match(self):
        waiting = {}
        for rank, program in enumerate(self.programs):
            for op, (kind, peer, *_) in enumerate(program):
                if kind == "isend" and peer != rank:
                    waiting.setdefault((rank, peer), []).append((rank, op))
        partner = {}
        for rank, program in enumerate(self.programs):
            for op, (kind, peer, *_) in enumerate(program):
                if kind == "irecv" and peer != rank:
                    partner[waiting[peer, rank].pop(0)] = (rank, op)
        return partner

    def peer(self, send):
        return self.programs[send[0]][send[1]][1]

    def advance(self, rank):
        program = self.programs[rank]
        moved = False
        while self.next[rank] < len(program):
            op = self.next[rank]
            kind, peer, *size = program[op]
            if kind == "wait":
                end = self.finish.get((rank, peer))
                if end is None or end > self.time:
                    break
            elif peer == rank:
                self.finish[rank, op] = self.time
            elif kind == "isend":
                self.starts[rank, op] = self.time
                self.flows[rank, op] = Fraction(self.system["b"][0]) * gap_of(self.system["gap"],
                                                                              size[0])
            self.leave[rank][op] = self.time
            self.next[rank] += 1
            moved = True
        return moved

    def go(self):
        while True:
            while any([self.advance(rank) for rank in range(len(self.programs))]):
                pass
            sends = list(self.flows)
            speed = dict(zip(sends, rates(self.system["b"],
                                          [(s[0], self.peer(s)) for s in sends])))
            times = [self.time + self.flows[s] / speed[s] for s in sends]
            times += [f for f in self.finish.values() if f > self.time]
            if not times:
                break
            step = min(times) - self.time
            self.time += step
            for send in sends:
                self.flows[send] -= speed[send] * step
                if self.flows[send] == 0:
                    self.end(send, speed[send])

    def end(self, send, rate):
        del self.flows[send]
        self.ends[send] = (self.time, rate)
        late = Fraction(self.system["t_rto"]) if send in self.delayed else 0
        self.finish[send] = self.time + late
        self.finish[self.partner[send]] = self.time + late + Fraction(self.system["L"])

    def makespan(self):
        return max((t for leave in self.leave for t in leave), default=Fraction(0))


def times_out(run, send):
    """(14), but for the question who is delayed himself."""
    system = run.system
    end, rate = run.ends[send]
    h = height(send[0], run.peer(send))
    if Fraction(system["d"][h - 1]) * rate >= Fraction(run.programs[send[0]][send[1]][2]):
        return False
    return any(other[0] != send[0] and run.peer(other) == run.peer(send)
               and abs(start - end) < Fraction(system["eps_t"])
               and switches(system["b"], system["d"], h, height(other[0], run.peer(other)),
                            system["eps_s"])
               for other, start in run.starts.items())


def simulate(system, programs, policy):
    delayed, judged = set(), set()
    while True:
        run = Run(system, programs, delayed)
        late = []
        if policy != "none":
            order = sorted(run.ends, key=lambda s: (run.ends[s][0], s))
            for send in order:
                if send in judged:
                    continue
                tie = [s for s in order if run.ends[s][0] == run.ends[send][0]]
                group = tie if policy == "all" else [send]
                late = [s for s in group if times_out(run, s)]
                judged.update(group)
                if late:
                    break
        if not late:
            return run, len(delayed)
        delayed.update(late)


def alltoall(algorithm, P, m):
    programs = []
    for r in range(P):
        if algorithm == "a":
            program = []
            for i in range(1, P):
                at = len(program)
                program += [["irecv", r ^ i, m], ["isend", r ^ i, m],
                            ["wait", at], ["wait", at + 1]]
        else:
            program = [["irecv", i, m] for i in range(P) if i != r]
            for i in range(1, P):
                program += [["isend", r ^ i, m], ["wait", len(program)]]
            program += [["wait", i] for i in range(P - 1)]
        programs.append(program)
    return programs


# --------------------------------------------------------------------- questions

def random_system(rng):
    D = rng.randint(1, 4)
    b = [rng.randint(1, 12)]
    for _ in range(D - 1):
        b.append(b[-1] * rng.choice([1, 1.5, 2, 2, 3]))
    same = rng.random() < 0.3
    d = [rng.choice([0, 0.125, 0.125, 0.25, 1, 7]) for _ in range(D)]
    if same:
        d = d[:1] * D
    return {"b": b, "d": d, "clamp": rng.random() < 0.7, "eps_s": rng.choice([0, 0.01, 0.3]),
            "L": rng.choice([0, 0.25, 1, 3])}


def used(system, **more):
    """As the reference takes it: b clamped."""
    return dict(system, b=clamped(system["b"], system["clamp"]), **more)


def random_programs(rng, P):
    """In the order of one possible course, so that nobody waits for ever."""
    programs = [[] for _ in range(P)]
    open_ops = [[] for _ in range(P)]
    for _ in range(rng.randint(1, 5 * P)):
        source, destination = rng.randrange(P), rng.randrange(P)
        if rng.random() < 0.4:  # many to one, for time-outs
            destination = 0
        if source == destination and rng.random() < 0.8:
            continue
        m = rng.choice([0, 1, 4, 9, 20])
        for rank, op in ((source, ["isend", destination, m]), (destination, ["irecv", source, m])):
            open_ops[rank].append(len(programs[rank]))
            programs[rank].append(op)
        for rank in (source, destination):
            while open_ops[rank] and rng.random() < 0.6:
                at = open_ops[rank].pop(rng.randrange(len(open_ops[rank])))
                programs[rank].append(["wait", at])
    return programs


def ask_ps(rng):
    system = random_system(rng)
    b, d, eps_s = system["b"], system["d"], system["eps_s"]
    h, h2 = rng.randint(1, len(b)), rng.randint(1, len(b))
    return ("ps", {"b": b, "d": d, "h": h, "h2": h2, "eps_s": eps_s},
            {"exact": exact(b, d, h, h2), "distance": distance(b, d, h, h2),
             "ps": switches(b, d, h, h2, eps_s)})


def ask_rates(rng):
    system = random_system(rng)
    leaves = 2 ** len(system["b"])
    flows = [[rng.randrange(leaves), rng.randrange(leaves)] for _ in range(rng.randint(0, 40))]
    return ("rates", {"b": system["b"], "clamp": system["clamp"], "flows": flows},
            {"height": [height(*f) for f in flows], "rate": rates(used(system)["b"], flows)})


def ask_gap(rng):
    profile, time = [], 0
    for _ in range(rng.randint(1, 6)):
        profile.append([time, rng.choice([0, 1, 2, 5])])
        time += rng.choice([0, 0.5, 1, 3])
    b1, g, start = rng.choice([1, 3]), rng.choice([0, 1, 7.5]), rng.choice([0, 0.75, 2])
    return ("gap", {"b1": b1, "g": g, "t_start": start, "profile": profile},
            {"g_c": gap_c(b1, g, start, profile)})


def ask_alltoall(rng):
    system = random_system(rng)
    P = 2 ** rng.randint(1, len(system["b"]))
    m, g, t_rto = rng.choice([1, 4, 9, 30]), rng.choice([0.5, 2, 8]), 0.2
    b, d, L, eps_s = (used(system)[key] for key in ("b", "d", "L", "eps_s"))
    D = P.bit_length() - 1
    total = sum(Fraction(4) ** (h - 1) * Fraction(b[0]) / Fraction(b[h - 1]) * Fraction(g)
                for h in range(1, D + 1))
    late = [h for h in range(1, D) if switches(b, d, h, h + 1, eps_s)
            and Fraction(d[h - 1]) * Fraction(b[h - 1]) / 2 ** (h - 1) < m]
    return ("alltoall", dict(system, P=P, m=m, g=g, t_rto=t_rto),
            {"plogp_a": (P - 1) * (g + L), "plogp_b": (P - 1) * g + L,
             "plogpt_a": total + (P - 1) * L, "plogpt_b": total + L + len(late) * t_rto,
             "rto_heights": late, "n_rto": len(late)})


def ask_simulate(rng):
    system = random_system(rng)
    programs = random_programs(rng, rng.randint(2, 2 ** len(system["b"])))
    gap = [[4 * i, rng.choice([0.5, 1, 3])] for i in range(rng.randint(1, 3))]
    rto = {"policy": rng.choice(["none", "chrono", "chrono", "all"]),
           "eps_t": rng.choice([0, 0.01, 0.5, 2, 10, 40]), "t_rto": rng.choice([0.3, 5, 20])}
    run, late = simulate(used(system, gap=gap, eps_t=rto["eps_t"], t_rto=rto["t_rto"]), programs,
                      rto["policy"])
    finish = [[None if program[op][0] == "wait" else run.finish[rank, op]
               for op in range(len(program))] for rank, program in enumerate(programs)]
    return ("simulate", dict(system, gap=gap, rto=rto, programs=programs),
            {"makespan": run.makespan(), "leave": run.leave, "finish": finish}, late)


def ask_simulate_alltoall(rng):
    system = random_system(rng)
    P = 2 ** rng.randint(0, min(3, len(system["b"])))
    m, g, algorithm = rng.choice([1, 9, 30]), rng.choice([0.5, 2, 8]), rng.choice("ab")
    policy = rng.choice(["none", "chrono", "chrono", "all"])
    times = {"eps_t": rng.choice([0, 0.01, 0.5, 2]), "t_rto": rng.choice([0.2, 7, 50])}
    run, count = simulate(used(system, gap=[[m, g]], **times), alltoall(algorithm, P, m), policy)
    return ("simulate_alltoall",
            dict(system, P=P, m=m, g=g, algorithm=algorithm, rto=policy, **times),
            {"makespan": run.makespan(), "rto_count": count}, count)


ASKS = [ask_ps, ask_rates, ask_gap, ask_alltoall, ask_simulate, ask_simulate_alltoall]
