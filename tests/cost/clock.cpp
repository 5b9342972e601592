// SPDX-License-Identifier: Apache-2.0
// Time that stands still while instructions are counted.  The helper looks once a second whether its
// daemon is still there: whether a counted call was the one that looks depended on how busy the machine
// was, and made it 99 instructions more, one time in forty.
#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

timespec read_clock(clockid_t id) {
    timespec time{};
    syscall(SYS_clock_gettime, id, &time);
    return time;
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
    static const timespec beginning = read_clock(CLOCK_MONOTONIC);
    *time = id == CLOCK_MONOTONIC ? beginning : read_clock(id);
    return 0;
}
