// SPDX-License-Identifier: Apache-2.0
// SimGrid traces: a result is a program that PlogPT takes.
#include "formats/simgrid_trace.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const NamedText file{"f", fuzz::text_of(data, size)};
    const auto read = read_simgrid_trace(std::span(&file, 1), {256, 100'000});
    if (!fuzz::is_result(read)) return 0;
    fuzz::require(PlogptListedPrograms::make(read->programs).has_value(), "the programs");
  return 0;
}
