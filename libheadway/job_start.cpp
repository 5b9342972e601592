// SPDX-License-Identifier: MIT
#include "job_start.hpp"

#include <sys/random.h>

namespace headway::glue {

std::uint64_t read_job_start(Complaints& complaints) {
    std::uint64_t start = 0;
    read_number(job_start_variable, std::uint64_t{1}, job_start_max, start, complaints);
    return start;
}

std::uint64_t draw_job_start() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) return 0;
    return number & job_start_max;
}

}  // namespace headway::glue
