// SPDX-License-Identifier: Apache-2.0
// What a run of the daemon hands to the next: whatever the text, a state that is
// written again as it was read, or a reason.
#include "daemon/handed_state.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto state = parse_handed_state(fuzz::text_of(data, size));
    if (!state) {
        fuzz::require(!state.error().message.empty(), "a reason");
        return 0;
    }
    std::string written = handed_jobs_text(*state);
    if (written.empty()) return 0;  // more than fits
    const auto again = parse_handed_state(written.append(handed_text_end));
    fuzz::require(again.has_value(), "what is written is read");
    fuzz::require(again->set_up == state->set_up && again->jobs.size() == state->jobs.size() &&
                      again->hosts == state->hosts && again->is_incomplete == state->is_incomplete,
                  "the same state");
    return 0;
}
