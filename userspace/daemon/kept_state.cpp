// SPDX-License-Identifier: Apache-2.0
#include "daemon/kept_state.hpp"

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace headway {

Json off_json(const PacingOff& off) {
    return {{"since_unix_s", off.since_unix_s}, {"uid", off.uid}};
}

PacingOff parse_off(std::string_view text) {
    const Json json = parse_json<Json>(text);
    const auto number = [&](const char* key) -> std::uint64_t {
        const bool is_there = json.is_object() && json.contains(key) && json[key].is_number_unsigned();
        return is_there ? json[key].get<std::uint64_t>() : 0;
    };
    return {number("since_unix_s"), static_cast<uid_t>(number("uid"))};
}

void KeptState::keep_jobs(const JobTable& jobs) {
    if (!keep_jobs_ || jobs.started_changes() == kept_changes_) return;
    kept_changes_ = jobs.started_changes();
    keep_jobs_(jobs.to_text());
}

Result<void> KeptState::keep_off() const { return keep_off_ ? keep_off_(off_) : Result<void>(); }

}  // namespace headway
