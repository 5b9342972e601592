# SPDX-License-Identifier: Apache-2.0
"""Takes the files that are opened for a while out of the host's hands.

A guest has the host's files below a layer in memory.  Every open of such a file asks the
host, and every page does so once.  Whoever waits for that under -icount jumps to the
guest's next timer, which is far away if the processor looks fast.  A file that is in the
layer in memory asks nobody.
"""

import ctypes
import os
import stat
import struct

CLASS_NOTIF, NONBLOCK, UNLIMITED_QUEUE = 0x0, 0x2, 0x10
MARK_ADD, MARK_FILESYSTEM = 0x1, 0x100
OPEN = 0x20
EVENT = struct.Struct("=IBBHQii")   # length, version, reserved, its own length, mask, fd, pid

libc = ctypes.CDLL(None, use_errno=True)


def checked(answer, what):
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return answer


class OpenedFiles:
    """Watches from its making, in all mount namespaces, the file system of `/`."""

    def __init__(self):
        self.fd = checked(libc.fanotify_init(CLASS_NOTIF | UNLIMITED_QUEUE | NONBLOCK,
                                             os.O_RDONLY | os.O_CLOEXEC), "fanotify_init")
        checked(libc.fanotify_mark(self.fd, MARK_ADD | MARK_FILESYSTEM, ctypes.c_uint64(OPEN), -1, b"/"),
                "fanotify_mark")

    def into_memory(self):
        """Ends the watch; how many files are now in the layer in memory."""
        names = self._names()
        os.close(self.fd)
        moved = 0
        for name in names:
            mode = os.stat(name).st_mode if os.path.exists(name) else 0
            if stat.S_ISREG(mode):
                # a change that is none: what is changed goes to that layer first
                os.chmod(name, stat.S_IMODE(mode))
                moved += 1
        return moved

    def _names(self):
        names = set()
        while data := self._read():
            while data:
                length, _, _, _, _, fd, _ = EVENT.unpack_from(data)
                if fd >= 0:
                    names.add(os.readlink(f"/proc/self/fd/{fd}"))
                    os.close(fd)
                data = data[length:]
        return sorted(names)

    def _read(self):
        try:
            return os.read(self.fd, 1 << 12)
        except BlockingIOError:
            return b""
