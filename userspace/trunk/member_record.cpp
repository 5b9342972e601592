// SPDX-License-Identifier: Apache-2.0
#include "trunk/member_record.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "trunk/packet_fields.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

std::optional<Demand> read_demand(const Json& list, HostNumber host) {
    const auto is_number = [](const Json& one) { return one.is_number_unsigned(); };
    if (!list.is_array() || list.size() != 3 || !std::ranges::all_of(list, is_number))
        return std::nullopt;
    const auto job = list[0].get<std::uint64_t>();
    const auto weight = list[1].get<std::uint64_t>();
    if (job > UINT32_MAX || weight < 1 || weight > share_weight_max) return std::nullopt;
    return Demand{host, static_cast<JobNumber>(job), static_cast<std::uint32_t>(weight),
                  {list[2].get<std::uint64_t>()}};
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
        demands.push_back({demand.job, demand.weight, demand.wanted.value});
    return json_text(Json{{"configuration", fmt::format("{:016x}", record.configuration)},
                          {"demands", std::move(demands)}});
}

MemberRecord record_from_text(std::string_view text, HostNumber host) {
    const Json object = parse_json<Json>(text);
    PacketFields fields(object);
    const std::string configuration = fields.word("configuration");
    const Json& demands = fields.list("demands");
    if (!fields.good() || !is_configuration(configuration) || demands.size() > demands_per_host_max)
        return {};
    MemberRecord record{std::stoull(configuration, nullptr, 16), {}};
    for (const Json& one : demands) {
        const auto demand = read_demand(one, host);
        if (!demand) return {};
        record.demands.push_back(*demand);
    }
    return record;
}

JobNumber job_number(std::string_view name) {
    const std::uint64_t digest = text_digest(name);
    return static_cast<JobNumber>(digest ^ digest >> 32U);
}

std::uint64_t configuration_digest(const SharedTrunk& trunk, const LeaseTiming& timing,
                                   std::span<const std::string> hosts) {
    std::string all = fmt::format("1 {} {} {} {}|{} {} {} {}|", trunk.capacity.value,
                                  trunk.fallback.value, trunk.hosts, static_cast<int>(trunk.policy),
                                  timing.lease.count(), timing.expires.count(),
                                  timing.margin.count(), timing.drift_ppm);
    for (const std::string& host : hosts) all += host + "|";
    return std::max<std::uint64_t>(text_digest(all), 1);
}

}  // namespace headway
