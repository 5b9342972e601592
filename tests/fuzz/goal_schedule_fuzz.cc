// SPDX-License-Identifier: Apache-2.0
// GOAL schedules: a result is a program that PlogPT takes.
#include "formats/goal_schedule.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_goal_schedule(fuzz::text_of(data, size), "f", {256, 100'000});
    if (!fuzz::is_result(read)) return 0;
    fuzz::require(PlogptListedPrograms::make(read->programs).has_value(), "the programs");
  return 0;
}
