// SPDX-License-Identifier: Apache-2.0
#include "jobs/plan_json.hpp"

#include <nlohmann/json.hpp>

namespace headway {

std::string_view kind_name(LinkKind kind) {
    switch (kind) {
        case LinkKind::trunk_up: return "trunk_up";
        case LinkKind::trunk_down: return "trunk_down";
        case LinkKind::edge_out: return "edge_out";
        case LinkKind::edge_in: break;
    }
    return "edge_in";
}

Json algorithm_json(const NodePlan& plan) {
    return plan.algorithm ? Json(name_of(*plan.algorithm)) : Json(nullptr);
}

Json object_for(std::size_t members) {
    Json object = Json::object();
    object.get_ref<Json::object_t&>().reserve(members);
    return object;
}

Json rate_json(const ClassRate& rate) { return rate ? Json(rate->value) : Json(nullptr); }

Json class_rates_json(const Topology& topology, const KernelLayout& layout,
                      const std::vector<ClassRate>& rates) {
    Json list = Json::array();
    for (std::size_t i = 0; i < layout.classes.size(); ++i) {
        Json& one = list.emplace_back(object_for(3));
        one["classid"] = layout.classes[i].classid.to_string();
        one["cluster"] = topology.clusters()[layout.classes[i].cluster].name;
        one["bytes_per_s"] = rate_json(rates[i]);
    }
    return list;
}

Json link_json(const Topology& topology, const RatedLink& link) {
    Json json{{"kind", kind_name(link.kind)},
              {"cluster", topology.trunk(link.owner).name},
              {"bits_per_s", link.capacity.value}};
    if (link.fill.links > 1)
        json["hashed"] = {{"links", link.fill.links},
                          {"link_bits_per_s", topology.rate_of(link).value},
                          {"flows", link.fill.flows},
                          {"expected_fill", link.fill.expected},
                          {"worst_fill", link.fill.worst}};
    return json;
}

Json prediction_json(const Prediction& prediction) {
    Json json{{"low_s", prediction.low_s},
              {"high_s", prediction.high_s},
              {"timeouts", prediction.timeouts},
              {"reason", prediction.reason},
              {"measured", nullptr}};
    if (const auto& measured = prediction.measured)
        json["measured"] = {{"time_s", measured->time_s}, {"usual_s", measured->usual_s}, {"source", measured->source},
                            {"was_lossy", measured->was_lossy}, {"timeout_part", measured->timeout_part}};
    return json;
}

Json plan_json(const Topology& topology, const PlanPolicy& policy,
               const CollectivePlan& collective) {
    const AllToAllPlan& plan = collective.shares;
    Json json{{"operation", "alltoall"}, {"paced", plan.paced()}, {"reason", plan.reason}};
    json["hosts"] = plan.hosts.total();
    json["hosts_per_cluster"] = Json::object();
    for (std::size_t c = 0; c < topology.clusters().size(); ++c) {
        json["hosts_per_cluster"][topology.clusters()[c].name] = plan.hosts.per_cluster[c];
    }
    json["target_utilisation"] = policy.target_utilisation();
    json["limiting_link"] = nullptr;
    json["pair_bits_per_s"] = nullptr;
    if (plan.paced()) {
        const LinkShare& link = *plan.limit;
        json["limiting_link"] = link_json(topology, link);
        json["limiting_link"]["senders"] = link.senders;
        json["limiting_link"]["divisor"] = static_cast<double>(link.divisor_thousandths) / divisor_one;
        json["pair_bits_per_s"] = plan.pair_rate.value;
    }
    json["message_bytes"] = nullptr;
    json["predicted_unpaced"] = nullptr;
    json["predicted_paced"] = nullptr;
    if (collective.message_bytes) json["message_bytes"] = *collective.message_bytes;
    if (collective.unpaced) json["predicted_unpaced"] = prediction_json(*collective.unpaced);
    if (collective.paced) json["predicted_paced"] = prediction_json(*collective.paced);
    json["notes"] = plan.notes;
    return json;
}

}  // namespace headway
