// SPDX-License-Identifier: Apache-2.0
#include "trunk/member_record.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "trunk/packet_fields.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

std::optional<Demand> read_demand(const Json& list, HostNumber host) {
    constexpr std::size_t name_at = 2;
    if (!list.is_array() || list.size() != 5) return std::nullopt;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (i == name_at ? !list[i].is_string() : !list[i].is_number_unsigned()) return std::nullopt;
    }
    const auto uid = list[0].get<std::uint64_t>();
    auto name = list[name_at].get<std::string>();
    const auto weight = list[3].get<std::uint64_t>();
    if (uid > std::numeric_limits<uid_t>::max() || name.size() > job_name_max_bytes) return std::nullopt;
    if (weight < 1 || weight > share_weight_max) return std::nullopt;
    return Demand{host,
                  {static_cast<uid_t>(uid), list[1].get<std::uint64_t>(), std::move(name)},
                  static_cast<std::uint32_t>(weight),
                  {list[4].get<std::uint64_t>()}};
}

bool is_configuration(std::string_view text) {
    return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::uint64_t text_digest(std::string_view text) {
    std::uint64_t digest = 0xcbf29ce484222325U;
    for (const unsigned char byte : text) digest = (digest ^ byte) * 0x100000001b3U;
    return digest;
}

std::string record_to_text(const MemberRecord& record) {
    Json demands = Json::array();
    for (const Demand& demand : record.demands)
        demands.push_back({demand.job.uid, demand.job.start, demand.job.name, demand.weight,
                           demand.wanted.value});
    return json_text(Json{{"configuration", configuration_text(record.configuration)},
                          {"fallback", record.fallback.value},
                          {"demands", std::move(demands)}});
}

MemberRecord record_from_text(std::string_view text, HostNumber host) {
    const Json object = parse_json<Json>(text);
    PacketFields fields(object);
    const std::string configuration = fields.word("configuration");
    const auto fallback = static_cast<std::uint64_t>(fields.number("fallback"));
    const Json& demands = fields.list("demands");
    if (!fields.good() || !is_configuration(configuration) || demands.size() > demands_per_host_max)
        return {};
    MemberRecord record{std::stoull(configuration, nullptr, 16), {}, {fallback}};
    for (const Json& one : demands) {
        const auto demand = read_demand(one, host);
        if (!demand) return {};
        record.demands.push_back(*demand);
    }
    return record;
}

std::string configuration_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::uint64_t configuration_digest(const SharedTrunk& trunk, const LeaseTiming& timing,
                                   std::span<const std::string> hosts) {
    std::string all = fmt::format("2 {} {} {} {}|{} {} {} {}|", trunk.capacity.value,
                                  trunk.fallback.value, trunk.hosts, static_cast<int>(trunk.policy),
                                  timing.lease.count(), timing.expires.count(),
                                  timing.margin.count(), timing.drift_ppm);
    for (const std::string& host : hosts) all += host + "|";
    return std::max<std::uint64_t>(text_digest(all), 1);
}

}  // namespace headway
