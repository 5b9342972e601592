// SPDX-License-Identifier: Apache-2.0
// A document of headway measure, read back: what is written of it is read as the same, and a new
// one can be compared with its links; or a reason.
#include "fuzz_text.hh"
#include "measure/network_difference.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = parse_measured_document(fuzz::text_of(data, size), "f");
    fuzz::require(read.has_value() || !read.error().front().reason.empty(), "a reason");
    if (!read) return 0;
    const std::string text = write_measured_document(*read);
    const auto again = parse_measured_document(text, "f");
    fuzz::require(again && write_measured_document(*again) == text, "the same document");
    static_cast<void>(links_of(*read));
    return 0;
}
