// SPDX-License-Identifier: Apache-2.0
// What `headway fit --json` writes, read back: parameters or a reason, and never
// both a reason and parameters.
#include "fuzz_text.hh"
#include "study/fitted_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    FittedParameters parameters;
    const auto read = read_fitted(fuzz::text_of(data, size), "f", parameters);
    const int known = parameters.contention.has_value() + parameters.many_to_one.has_value() +
                      parameters.plogpt.has_value();
    if (read) {
        fuzz::require(known == 1, "one model's parameters");
        return 0;
    }
    fuzz::require(known == 0 && !read.error().empty(), "a mistake and no parameters");
    return 0;
}
