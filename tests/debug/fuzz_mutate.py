# SPDX-License-Identifier: Apache-2.0
"""Makes requests that no user would send: each has something wrong in it."""

import struct

import rtnetlink as nl
from fuzz_grammar import BOUNDARIES

TC_TYPES = (*range(nl.RTM_NEWQDISC, nl.RTM_GETQDISC + 1), *range(nl.RTM_NEWTCLASS, nl.RTM_GETTCLASS + 1),
            *range(nl.RTM_NEWTFILTER, nl.RTM_GETTFILTER + 1))
LINK_TYPES = (nl.RTM_SETLINK,)
KINDS = (b"", b"gap", b"gap\0", b"gap_leaf\0", b"fq\0", b"noqueue\0", b"mq\0", b"clsact\0", b"ingress\0",
         b"x" * 15, b"x" * 64 + b"\0", b"%s%n\0")
NEST_DEPTHS = (1, 2, 10, 100)


def nests(attributes):
    """All lists of attributes in a tree, itself included."""
    yield attributes
    for _, payload in attributes:
        if isinstance(payload, list):
            yield from nests(payload)


class Mutator:
    def __init__(self, random):
        self.random = random
        self.tree_changes = (self.drop, self.repeat, self.shuffle, self.retype, self.resize, self.revalue,
                             self.deepen, self.lift, self.flatten, self.rename, self.readdress, self.reflag,
                             self.requeue, self.grow)
        self.byte_changes = (self.flip, self.cut, self.lengthen, self.overlap, self.lie_about_length)

    def change_tree(self, request):
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self.random.choice(self.tree_changes)(request)

    def change_bytes(self, data):
        """Some bytes changed; the header's type stays one of traffic control."""
        data = bytearray(data)
        kind = data[4:6]
        self.random.choice(self.byte_changes)(data)
        data[4:6] = kind
        return bytes(data)

    # ----------------------------------------------------- in the tree

    def pick(self, request):
        """An attribute: the list it is in and its place, or None."""
        filled = [nest for nest in nests(request.attributes) if nest]
        if not filled:
            return None, 0
        nest = self.random.choice(filled)
        return nest, self.random.randrange(len(nest))

    def drop(self, request):
        nest, at = self.pick(request)
        if nest:
            del nest[at]

    def repeat(self, request):
        nest, at = self.pick(request)
        if nest:
            nest[at:at] = [nest[at]] * self.random.choice((1, 2, 50))

    def shuffle(self, request):
        self.random.shuffle(self.random.choice(list(nests(request.attributes))))

    def retype(self, request):
        nest, at = self.pick(request)
        if nest:
            number = self.random.choice((0, 1, nest[at][0] ^ 1, self.random.randrange(32), 0x3FFF))
            flags = self.random.choice((0, 0, nl.NLA_F_NESTED, nl.NLA_F_NET_BYTEORDER))
            nest[at] = (number | flags, nest[at][1])

    def resize(self, request):
        nest, at = self.pick(request)
        if nest and isinstance(nest[at][1], bytes):
            number, payload = nest[at]
            size = self.random.choice((0, 1, 2, 4, 7, 8, 9, len(payload) - 1, len(payload) + 1, 4096))
            nest[at] = (number, payload[:max(size, 0)].ljust(max(size, 0), b"\xff"))

    def revalue(self, request):
        nest, at = self.pick(request)
        if nest and isinstance(nest[at][1], bytes):
            number, payload = nest[at]
            value = struct.pack("=Q", self.random.choice(BOUNDARIES) if self.random.random() < 0.7
                                else self.random.getrandbits(64))
            nest[at] = (number, (value * (len(payload) // 8 + 1))[:len(payload)])

    def deepen(self, request):
        nest, at = self.pick(request)
        if nest:
            for _ in range(self.random.choice(NEST_DEPTHS)):
                nest[at] = (nest[at][0], [nest[at]])

    def lift(self, request):
        nest, at = self.pick(request)
        if nest and isinstance(nest[at][1], list):
            nest[at:at + 1] = nest[at][1]

    def flatten(self, request):
        """A nest without the flag that says so."""
        nest, at = self.pick(request)
        if nest and isinstance(nest[at][1], list):
            nest[at] = (nest[at][0], nl.encode(nest[at][1]))

    def rename(self, request):
        for at, (number, _) in enumerate(request.attributes):
            if number == nl.TCA_KIND:
                request.attributes[at] = (number, self.random.choice(KINDS))

    def readdress(self, request):
        value = self.random.choice((0, 1, 0xFFFF, 0xFFFF0000, 0xFFFFFFF1, 0xFFFFFFFF, request.parent,
                                    request.handle, request.handle ^ 1, self.random.getrandbits(32)))
        setattr(request, self.random.choice(("handle", "parent", "info")), value)

    def reflag(self, request):
        request.flags ^= 1 << self.random.randrange(2, 12)

    def requeue(self, request):
        """Moves the attributes into a request of another type."""
        if request.kind in TC_TYPES:
            request.kind = self.random.choice(TC_TYPES)
        request.family = self.random.choice((0, 0, 1, 255))

    def grow(self, request):
        nest = self.random.choice(list(nests(request.attributes)))
        nest.append((self.random.randrange(64), self.random.randbytes(self.random.randrange(40))))

    # -------------------------------------------------- in the bytes

    def place(self, data):
        """Somewhere behind the header's length and type."""
        return self.random.randrange(6, len(data))

    def flip(self, data):
        for _ in range(self.random.choice((1, 2, 8))):
            data[self.place(data)] ^= 1 << self.random.randrange(8)

    def cut(self, data):
        del data[self.random.randrange(nl.HEADER.size, len(data)):]
        struct.pack_into("=I", data, 0, len(data))

    def lengthen(self, data):
        data += self.random.randbytes(self.random.choice((1, 3, 4, 100, 5000)))
        struct.pack_into("=I", data, 0, len(data))

    def overlap(self, data):
        """A length somewhere in the attributes that fits nothing."""
        if len(data) >= 40:
            at = self.random.randrange(36, len(data) - 2) & ~3
            struct.pack_into("=H", data, at, self.random.choice((0, 1, 3, 5, 8, 0x7FFF, 0xFFFF)))

    def lie_about_length(self, data):
        struct.pack_into("=I", data, 0, self.random.choice((0, 15, 16, 17, len(data) - 1, len(data) + 1, 2**31)))
