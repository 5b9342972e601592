// SPDX-License-Identifier: Apache-2.0
// An earlier document of headway measure, which a new one is compared with: what it has of
// links, or a reason.
#include "fuzz_text.hh"
#include "measure/measured_document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_measured(fuzz::text_of(data, size), "f");
    fuzz::require(read.has_value() || !read.error().message.empty(), "a reason");
    return 0;
}
