// SPDX-License-Identifier: Apache-2.0
// What headway measure and its agents on other hosts say to each other: each line is read
// as any of the messages, or refused with a reason.
#include "fuzz_text.hh"
#include "measure/agent_messages.hpp"

namespace headway::fuzz {
namespace {

template <class Value>
void check(const Result<Value>& read) {
    require(read.has_value() || !read.error().message.empty(), "a reason");
}

}  // namespace
}  // namespace headway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const auto answer = read_answer(fuzz::text_of(data, size));
    fuzz::check(answer);
    if (!answer) return 0;
    fuzz::check(read_greeting(*answer));
    fuzz::check(read_peers(*answer));
    fuzz::check(read_program(*answer));
    fuzz::check(read_program_outcome(*answer));
    fuzz::check(read_routes(*answer, 1));
    fuzz::check(read_probe_outcome(*answer));
    return 0;
}
