// SPDX-License-Identifier: Apache-2.0
// The heterogeneous hosts of models/many_to_one.hpp.
#include "eval_interface.hpp"
#include "models/many_to_one.hpp"

namespace headway {
namespace {

constexpr std::size_t hosts_max = 1'000'000;

/// {"C": s, "t": s/byte}
ProcessingDelay read_delay(const EvalValue& node) {
    if (!node.is_object_of({"C", "t"})) return {};
    return {node.member("C").number(Sign::not_negative),
            node.member("t").number(Sign::not_negative)};
}

/// Two parallel lists.
std::vector<DelayedPath> read_paths(const EvalValue& hosts, const EvalValue& rates) {
    std::vector<DelayedPath> paths(hosts.size(1, hosts_max));
    if (rates.size(paths.size(), paths.size()) != paths.size()) return {};
    for (std::size_t i = 0; i < paths.size(); ++i) {
        paths[i] = {read_delay(hosts[i]), rates[i].number_or_infinite(Sign::positive)};
    }
    return paths;
}

double read_size(EvalInput& in) { return in["M"].number(Sign::not_negative); }

EvalResult time_result(const Result<double>& time_s) {
    if (!time_s) return tl::unexpected(time_s.error().message);
    return EvalJson{{"time", *time_s}};
}

EvalResult p2p(const EvalJson& input) {
    EvalInput in(input);
    const IndependentPair pair{read_delay(in["src"]), read_delay(in["dst"]),
                               in["rate"].number_or_infinite(Sign::positive)};
    const double size = read_size(in);
    if (auto error = in.finish()) return tl::unexpected(*error);
    return time_result(point_to_point_s(pair, size));
}

EvalResult one_to_many(const EvalJson& input) {
    EvalInput in(input);
    const ProcessingDelay root = read_delay(in["root"]);
    const auto destinations = read_paths(in["dests"], in["rates"]);
    const double size = read_size(in);
    const double buffered = in["S"].number_or_infinite(Sign::not_negative);
    if (auto error = in.finish()) return tl::unexpected(*error);
    return time_result(one_to_many_s(root, destinations, size, buffered));
}

EvalResult multi_p2p(const EvalJson& input) {
    EvalInput in(input);
    const EvalValue list = in["pairs"];
    std::vector<IndependentPair> pairs(list.size(1, hosts_max));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (list[i].size(3, 3) == 0) break;
        pairs[i] = {read_delay(list[i][0]), read_delay(list[i][1]),
                    list[i][2].number_or_infinite(Sign::positive)};
    }
    const double size = read_size(in);
    if (auto error = in.finish()) return tl::unexpected(*error);
    return time_result(independent_pairs_s(pairs, size));
}

EvalResult many_to_one(const EvalJson& input) {
    EvalInput in(input);
    const auto sources = read_paths(in["sources"], in["rates"]);
    const double size = read_size(in);
    const auto idle = in["idle"].boolean() ? ReceiverIdle::counted : ReceiverIdle::ignored;
    ManyToOneRegions regions;
    regions.small_bytes = in["M1"].number_or_infinite(Sign::not_negative);
    regions.large_bytes = in["M2"].number_or_infinite(Sign::not_negative);
    regions.congested_s = in["C"].number(Sign::not_negative);
    regions.small_factor = in["delta1"].number(Sign::not_negative);
    regions.large_factor = in["delta2"].number(Sign::not_negative);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto time = headway::many_to_one(sources, size, regions, idle);
    if (!time) return tl::unexpected(time.error().message);
    return EvalJson{
        {"time", time->time_s}, {"bracket", time->linear_s}, {"t_idle", time->idle_s}};
}

constexpr EvalOperation operations[] = {
    {"manytoone", "p2p", p2p},
    {"manytoone", "one_to_many", one_to_many},
    {"manytoone", "multi_p2p", multi_p2p},
    {"manytoone", "many_to_one", many_to_one},
};

}  // namespace

std::span<const EvalOperation> eval_manytoone_operations() { return operations; }

}  // namespace headway
