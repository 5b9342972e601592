// SPDX-License-Identifier: Apache-2.0
#include "trunk/member_record.hpp"

#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

/// FNV-1a: all members have to compute the same, whatever they are compiled with.
class Digest {
public:
    void add(std::string_view bytes) {
        for (const unsigned char byte : bytes) value_ = (value_ ^ byte) * 0x100000001b3U;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::optional<Demand> read_demand(const Json& list, HostNumber host) {
    if (!list.is_array() || list.size() != 3) return std::nullopt;
    for (const Json& number : list) {
        if (!number.is_number_unsigned()) return std::nullopt;
    }
    const auto job = list[0].get<std::uint64_t>();
    const auto weight = list[1].get<std::uint64_t>();
    if (job > UINT32_MAX || weight < 1 || weight > share_weight_max) return std::nullopt;
    return Demand{host, static_cast<JobNumber>(job), static_cast<std::uint32_t>(weight),
                  {list[2].get<std::uint64_t>()}};
}

std::optional<std::uint64_t> read_configuration(const Json& object) {
    const auto found = object.find("configuration");
    if (found == object.end() || !found->is_string()) return std::nullopt;
    const auto& text = found->get_ref<const std::string&>();
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
        return std::nullopt;
    return std::stoull(text, nullptr, 16);
}

}  // namespace

std::string record_to_text(const MemberRecord& record) {
    Json demands = Json::array();
    for (const Demand& demand : record.demands)
        demands.push_back({demand.job, demand.weight, demand.wanted.value});
    return json_text(Json{{"configuration", fmt::format("{:016x}", record.configuration)},
                          {"demands", std::move(demands)}});
}

MemberRecord record_from_text(std::string_view text, HostNumber host) {
    const Json object = parse_json<Json>(text);
    if (!object.is_object()) return {};
    const auto configuration = read_configuration(object);
    const auto demands = object.find("demands");
    if (!configuration || demands == object.end() || !demands->is_array() ||
        demands->size() > demands_per_host_max)
        return {};
    MemberRecord record{*configuration, {}};
    for (const Json& one : *demands) {
        const auto demand = read_demand(one, host);
        if (!demand) return {};
        record.demands.push_back(*demand);
    }
    return record;
}

JobNumber job_number(std::string_view name) {
    Digest digest;
    digest.add(name);
    return static_cast<JobNumber>(digest.value() ^ digest.value() >> 32U);
}

std::uint64_t configuration_digest(const SharedTrunk& trunk, const LeaseTiming& timing,
                                   std::span<const std::string> hosts) {
    Digest digest;
    digest.add(fmt::format("1 {} {} {} {}|", trunk.capacity.value, trunk.fallback.value, trunk.hosts,
                           static_cast<int>(trunk.policy)));
    digest.add(fmt::format("{} {} {} {}|", timing.lease.count(), timing.expires.count(),
                           timing.margin.count(), timing.drift_ppm));
    for (const std::string& host : hosts) digest.add(host + "|");
    return digest.value() == 0 ? 1 : digest.value();
}

}  // namespace headway
