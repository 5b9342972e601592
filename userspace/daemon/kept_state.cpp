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

}  // namespace headway
