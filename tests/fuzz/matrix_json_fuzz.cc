// SPDX-License-Identifier: Apache-2.0
// Matrices as JSON: what is written from one reads back as the same.
#include "formats/matrix_json.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_matrix_json(fuzz::text_of(data, size), "f");
    if (!fuzz::is_result(read)) return 0;
    const auto again = read_matrix_json(write_matrix_json(*read), "f");
    fuzz::require(again && *again == *read, "the round trip");
  return 0;
}
