# SPDX-License-Identifier: MIT
"""libheadway for Python: pacing for programs that exchange data over TCP.

    import headway

    with headway.Session(["a0", "a1", "b0", "b1"]) as session:
        alltoall = session.exchange("alltoall")
        for step in range(steps):
            with alltoall(message_bytes):
                exchange_data()

While a process is inside `with alltoall(...)`, its node sends towards the job's hosts at the rate that
headwayd's plan gives to it.  Nothing here makes a program fail: without the library, without headwayd, or with
HEADWAY=off the program runs unpaced, and Session.reason tells why in a sentence.  libheadway(3) has the rest.
"""
import contextlib
import ctypes
import typing

LIBRARY = "libheadway.so.0"


class _Options(ctypes.Structure):
    """struct headway_options."""
    _fields_ = [("size", ctypes.c_size_t), ("job", ctypes.c_char_p), ("rank", ctypes.c_int),
                ("socket_path", ctypes.c_char_p), ("timeout_ms", ctypes.c_int), ("job_start", ctypes.c_uint64),
                ("paces_itself", ctypes.c_int)]


class _Plan(ctypes.Structure):
    """struct headway_plan."""
    _fields_ = [("size", ctypes.c_size_t), ("paced", ctypes.c_int), ("pair_bits_per_s", ctypes.c_double),
                ("paced_s", ctypes.c_double), ("unpaced_low_s", ctypes.c_double),
                ("unpaced_high_s", ctypes.c_double)]


class Plan(typing.NamedTuple):
    """What headwayd plans for an exchange; durations in seconds, 0: not known."""
    is_paced: bool
    pair_bits_per_s: float  # 0: nothing limits it
    paced_s: float
    unpaced_low_s: float
    unpaced_high_s: float  # with the time-outs of TCP that may occur
    reason: str


def _functions(library):
    """Returns the functions of headway.h by name, with their types."""
    pointer, text, texts = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)
    types = {"open": (pointer, [ctypes.POINTER(_Options)]), "close": (None, [pointer]),
             "connected": (ctypes.c_int, [pointer]), "node": (text, [pointer]), "cluster": (text, [pointer]),
             "reason": (text, [pointer]),
             "set_hosts": (ctypes.c_int, [pointer, texts, ctypes.c_size_t, ctypes.c_uint]),
             "exchange_among": (pointer, [pointer, text, text, texts, ctypes.c_size_t]),
             "plan_of": (ctypes.c_int, [pointer, pointer, ctypes.c_uint64, ctypes.POINTER(_Plan)]),
             "enter": (ctypes.c_uint64, [pointer, pointer, ctypes.c_uint64]),
             "leave": (None, [pointer, ctypes.c_uint64]),
             "traffic": (ctypes.c_int, [pointer, ctypes.POINTER(ctypes.c_uint64)])}
    found = {}
    for name, (result, arguments) in types.items():
        found[name] = getattr(library, f"headway_{name}")
        found[name].restype, found[name].argtypes = result, arguments
    return found


def _bytes(text):
    return None if text is None else text.encode()


class Exchange:
    """A way in which the job's processes exchange data; Session.exchange() makes it."""

    def __init__(self, session, handle):
        self._session = session
        self._handle = handle

    @contextlib.contextmanager
    def __call__(self, message_bytes):
        """The exchange goes on as long as the context; its value says whether it is paced.  `message_bytes`:
        from this process to one other, of a ring in one step."""
        entry = self._session._call("enter", 0, self._handle, message_bytes)
        try:
            yield entry != 0
        finally:
            self._session._call("leave", None, entry)

    def plan(self, message_bytes):
        """Returns a Plan, or None without one (Session.reason tells why)."""
        plan = _Plan(size=ctypes.sizeof(_Plan))
        if self._session._call("plan_of", -1, self._handle, message_bytes, ctypes.byref(plan)) != 0:
            return None
        return Plan(bool(plan.paced), plan.pair_bits_per_s, plan.paced_s, plan.unpaced_low_s, plan.unpaced_high_s,
                    self._session.reason)


class Session:
    """A process's session with headwayd.

    hosts: those of the job, as headway.toml names them, each once.  processes_per_host: the most of the job on
    any host; 0: WORLD_SIZE divided by the hosts.  The others are as in struct headway_options."""

    def __init__(self, hosts, *, processes_per_host=1, job=None, rank=0, socket_path=None, timeout_ms=0, job_start=0,
                 library=LIBRARY):
        self._hosts = list(hosts)
        self._handle = None
        self._why_no_library = ""
        try:
            self._functions = _functions(ctypes.CDLL(library))
        except (OSError, AttributeError) as error:
            self._functions, self._why_no_library = {}, str(error)
            return
        options = _Options(ctypes.sizeof(_Options), _bytes(job), rank, _bytes(socket_path), timeout_ms, job_start, 0)
        self._handle = self._functions["open"](ctypes.byref(options))
        if self.reason == "":
            self._call("set_hosts", -1, self._names(self._hosts), len(self._hosts), processes_per_host)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the session and whatever was entered; it paces nothing from then on."""
        self._call("close", None)
        self._handle = None

    def exchange(self, operation="alltoall", *, root=None, hosts=None):
        """Returns an Exchange among `hosts`, all of the job where none are given: alltoall, gather, scatter (with
        a root), or a ring, which goes by the order of the hosts.  One that makes no sense paces nothing."""
        names = self._hosts if hosts is None else list(hosts)
        return Exchange(self, self._call("exchange_among", None, operation.encode(), _bytes(root), self._names(names),
                                         len(names)))

    def traffic(self, matrix):
        """Paces by traffic that is not an operation until the next call: a row for each host, of what it sends
        to each; only proportions matter.  None: no such traffic any more.  Returns whether it is paced."""
        if matrix is None:
            return self._call("traffic", -1, None) == 0
        numbers = [number for row in matrix for number in row]
        if len(numbers) != len(self._hosts) ** 2:
            raise ValueError(f"traffic of {len(self._hosts)} hosts has {len(self._hosts)} rows of as many numbers")
        return self._call("traffic", -1, (ctypes.c_uint64 * len(numbers))(*numbers)) == 0

    @property
    def connected(self):
        """Whether headwayd was there when it was last talked to."""
        return self._call("connected", 0) == 1

    @property
    def node(self):
        """The name under which headway.toml knows this node."""
        return self._call("node", b"").decode()

    @property
    def cluster(self):
        """The node's cluster; "" if headwayd did not tell."""
        return self._call("cluster", b"").decode()

    @property
    def reason(self):
        """Why this thread's last call did nothing, or less than it was asked for; "" if there is nothing to
        say."""
        return self._why_no_library or self._call("reason", b"the session is closed").decode()

    def _call(self, name, otherwise, *arguments):
        return self._functions[name](self._handle, *arguments) if self._handle else otherwise

    @staticmethod
    def _names(hosts):
        return (ctypes.c_char_p * len(hosts))(*(host.encode() for host in hosts))
