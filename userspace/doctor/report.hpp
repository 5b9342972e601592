// SPDX-License-Identifier: Apache-2.0
// What headway doctor has seen, what it means, and the text that says so.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "doctor/verdict.hpp"

namespace headway {

struct DoctorReport {
    Look before, after;
    std::chrono::duration<double> between{};
    std::vector<Finding> findings;
    Verdict verdict;
};

/// The verdict, what was found, and what was looked at but for headwayd.  Documentation/doctor.rst explains each line.
[[nodiscard]] std::string report_text(const DoctorReport& report);

}  // namespace headway
