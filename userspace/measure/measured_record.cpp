// SPDX-License-Identifier: Apache-2.0
// An earlier document, read for a comparison.
#include <algorithm>
#include <map>

#include "base/json.hpp"
#include "measure/agent_messages.hpp"
#include "measure/measured_document.hpp"

namespace headway {
namespace {

MeasuredRecord record_of(const AgentJson& json) {
    MeasuredRecord record;
    for (const AgentJson& host : json.at("hosts")) record.hosts.push_back(host.at("name").get<std::string>());
    record.resolution_s = json.at("resolution_s").get<double>();
    std::map<HostSide, ComparedLink> links;
    for (const AgentJson& row : json.at("links")) {
        HostSide below;
        for (const AgentJson& name : row.at("hosts")) {
            const auto found = std::find(record.hosts.begin(), record.hosts.end(), name.get<std::string>());
            if (found != record.hosts.end()) below.push_back(static_cast<std::size_t>(found - record.hosts.begin()));
        }
        std::sort(below.begin(), below.end());
        ComparedLink& link = links[below];
        LinkSide& side = row.at("direction") == "up" ? link.out : link.in;
        if (const AgentJson& bps = row.at("bps"); !bps.is_null()) side.bytes_per_s = bps.get<double>() / 8;
        side.is_exact = row.at("exact").get<bool>();
        if (row.at("buffer_exact").get<bool>()) {
            side.buffer_bytes = row.at("buffer_bytes").get<double>();
            side.buffer_error_bytes = row.at("buffer_error_bytes").get<double>();
        }
        if (const AgentJson& delay = row.at("delay_s"); !delay.is_null()) link.delay_s = delay.get<double>();
    }
    for (const auto& [below, link] : links) add_link(record.links, below, record.hosts.size(), link);
    return record;
}

}  // namespace

Result<MeasuredRecord> read_measured(std::string_view text, std::string_view file) {
    const AgentJson json = parse_json<AgentJson>(text);
    // a value of another kind is no text either
    if (!json.is_object() || json.value("format", AgentJson()) != "headway-measure")
        return failure("{} is no document of headway measure", file);
    return reading(file, [&] { return record_of(json); });
}

}  // namespace headway
