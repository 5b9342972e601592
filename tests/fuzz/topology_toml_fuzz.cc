// SPDX-License-Identifier: Apache-2.0
// headway.toml's network: what is written from it reads back as the same.
#include "config/network_file.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = parse_topology_toml(fuzz::text_of(data, size), "f");
    if (!fuzz::is_result(read)) return 0;
    const auto tree = NetworkTree::make(read->network);
    const auto again = parse_topology_toml(write_topology_toml(*tree), "f");
    fuzz::require(again && *NetworkTree::make(again->network) == *tree, "the round trip");
  return 0;
}
