// SPDX-License-Identifier: Apache-2.0
// Recordings: every phase's matrix is one of the ranks that have hosts.
#include "formats/recording_json.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto read = read_recording_json(fuzz::text_of(data, size), "f");
    if (!fuzz::is_result(read)) return 0;
    fuzz::require(!read->hosts.empty(), "hosts");
    for (const RecordedPhase& phase : read->phases) {
        fuzz::require(phase.matrix.ranks() == read->hosts.size(), "a matrix of the ranks");
    }
    return 0;
}
