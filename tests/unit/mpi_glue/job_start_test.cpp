// SPDX-License-Identifier: Apache-2.0
#include "job_start.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace headway::glue {
namespace {

TEST(JobStart, IsReadFromTheEnvironment) {
    const auto read = [](const std::string& value) {
        ::setenv(job_start_variable, value.c_str(), 1);
        Complaints complaints;
        const std::uint64_t start = read_job_start(complaints);
        ::unsetenv(job_start_variable);
        return std::pair(start, complaints);
    };
    EXPECT_EQ(read("1700000000").first, 1'700'000'000U);
    EXPECT_EQ(read("9007199254740991").first, job_start_max);
    EXPECT_EQ(read("").second.size(), 0U);
    for (const char* wrong : {"0", "-1", "1.5", "9007199254740992", "18446744073709551616", "5x", " 5", "now"}) {
        const auto [start, complaints] = read(wrong);
        EXPECT_EQ(start, 0U) << wrong;
        ASSERT_EQ(complaints.size(), 1U) << wrong;
        EXPECT_EQ(complaints[0], "HEADWAY_JOB_START=" + std::string(wrong) +
                                     " is not understood, expected 1 to 9007199254740991");
    }
}

TEST(JobStart, IsDrawnAnotherEachTime) {
    std::set<std::uint64_t> drawn;
    for (int i = 0; i < 1000; ++i) drawn.insert(draw_job_start());
    EXPECT_EQ(drawn.size(), 1000U);
    EXPECT_LE(*drawn.rbegin(), job_start_max);
    EXPECT_GT(*drawn.rbegin(), job_start_max / 2) << "all of the numbers";
}

}  // namespace
}  // namespace headway::glue
