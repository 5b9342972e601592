// SPDX-License-Identifier: Apache-2.0
// Matrices as CSV: a matrix whose flows make the same one again, or a reason.
#include "formats/matrix_csv.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_matrix_csv(fuzz::text_of(data, size), "f");
    if (!fuzz::is_result(read)) return 0;
    const auto flows = read->flows();
    const auto again = TrafficMatrix::make(read->ranks(), {flows.begin(), flows.end()});
    fuzz::require(again && *again == *read, "the flows of the matrix");
    return 0;
}
