// SPDX-License-Identifier: Apache-2.0
// The started jobs as a daemon finds them in its file: within the bounds, and written
// again as they were read; or a reason.
#include "base/limits.hpp"
#include "fuzz_text.hh"
#include "jobs/job_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    JobTable table;
    const auto read = table.restore(fuzz::text_of(data, size));
    fuzz::require(table.jobs().size() <= started_jobs_max, "bounded jobs");
    if (!read) {
        fuzz::require(!read.error().message.empty(), "a reason");
        return 0;
    }
    JobTable again;
    const auto written = again.restore(table.to_text());
    fuzz::require(written.has_value(), "what is written is read");
    fuzz::require(again.to_text() == table.to_text(), "the same jobs");
    return 0;
}
