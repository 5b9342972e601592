// SPDX-License-Identifier: Apache-2.0
// Host lists: the short form of a list stands for the same hosts.
#include "base/hostlist.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = parse_hostlist(fuzz::text_of(data, size), 10'000);
    if (!read) return 0;
    const auto again = parse_hostlist(format_hostlist(*read), 10'000);
    fuzz::require(again && *again == *read, "the round trip");
  return 0;
}
