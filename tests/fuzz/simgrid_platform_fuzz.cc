// SPDX-License-Identifier: Apache-2.0
// SimGrid platforms: what is written from one reads back as the same.
#include "formats/simgrid_platform.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_simgrid_platform(fuzz::text_of(data, size), "f");
    if (!fuzz::is_result(read)) return 0;
    const auto written = write_simgrid_platform(*read);
    fuzz::require(written.has_value(), "writing what was read");
    const auto again = read_simgrid_platform(written->text, "f");
    fuzz::require(again && *again == *read, "the round trip");
  return 0;
}
