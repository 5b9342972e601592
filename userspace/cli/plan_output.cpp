// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_output.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/json.hpp"
#include "cli/predicted_points.hpp"
#include "kernel/tc_batch.hpp"
#include "models/predict_models.hpp"

namespace headway {
namespace {

std::string class_rate_text(const ClassRate& rate) {
    return rate ? rate_to_text(rate->bits()) : "unlimited";
}

std::string range_text(const Prediction& prediction) {
    return prediction_range_text(prediction.low_s, prediction.high_s);
}

void print_fact(std::string_view name, std::string_view value) {
    fmt::print("{:<13}  {}\n", name, value);
}

/// Names what says whether an exchange is paced: one of its two times.
std::string decided_by(const Prediction& unpaced) {
    return unpaced.is_known_lossy() ? unpaced.measured->source : "the fluid model";
}

void print_prediction(std::string_view name, const Prediction& prediction) {
    print_fact(name, range_text(prediction) + ": " + prediction.reason);
    if (prediction.timeouts > 0)
        print_fact("", fmt::format("the range is from no time-out to {} of {}", prediction.timeouts,
                                   seconds_text((prediction.high_s - prediction.low_s) / prediction.timeouts)));
    if (prediction.measured)
        print_fact("", fmt::format("{} by {}{}", seconds_text(prediction.measured->time_s), prediction.measured->source,
                                   losses_text(*prediction.measured)));
}

/// Prints the models' times but for those that stand elsewhere: the fluid model's, of each
/// algorithm, and what was measured.
void print_models(const ShownPlan& shown) {
    if (!shown.models) return;
    fmt::print("\n  {:<26}  {:<22}  {}\n", "model", "unpaced", "as");
    for (const ModelTime& time : shown.models->times) {
        if (time.model.starts_with("fluid") || time.model.starts_with("measured")) continue;
        fmt::print("  {:<26}  {:<22}  {}\n", time.model, prediction_range_text(time.low_s, time.high_s), time.reason);
    }
}

void print_predictions(const ShownPlan& shown) {
    if (!shown.unpaced) return;
    print_fact("decided by", decided_by(*shown.unpaced));
    print_prediction("unpaced", *shown.unpaced);
    if (shown.planned) print_prediction("as planned", *shown.planned);
    print_models(shown);
    const AlgorithmTime* const best = best_algorithm(shown.algorithms);
    if (best == nullptr) return;
    fmt::print("\n");
    print_fact("algorithm", algorithm_name(best->algorithm));
    const auto print_row = [&](std::string_view name, const std::string& unpaced, const std::string& planned) {
        shown.paced ? fmt::print("  {:<13}  {:<22}  {}\n", name, unpaced, planned)
                    : fmt::print("  {:<13}  {}\n", name, unpaced);
    };
    fmt::print("\n");
    print_row("algorithm", "unpaced", "as planned");
    for (const AlgorithmTime& time : shown.algorithms)
        print_row(algorithm_name(time.algorithm), range_text(time.unpaced), range_text(time.paced));
}

/// Each reason once, with the classes whose bursts it explains.
void print_burst_reasons(const ShownNode& node) {
    std::vector<std::pair<std::string, std::string>> reasons;
    for (const ClassLayout& target : node.layout.classes) {
        const std::string& reason = node.bursts[target.cluster].reason;
        const auto told = std::ranges::find(reasons, reason, &std::pair<std::string, std::string>::first);
        if (told == reasons.end()) reasons.emplace_back(reason, target.classid.to_string());
        else told->second += ", " + target.classid.to_string();
    }
    for (const auto& [reason, classes] : reasons) print_fact("burst", classes + ": " + reason);
}

void print_node(const ShownNode& node, const Config& config) {
    const auto& clusters = config.topology.clusters();
    fmt::print("\nnode {} of cluster {}, interface {}\n", node.name,
               clusters[node.layout.own_cluster].name, config.node.interface);
    fmt::print("  {:<6}  {:<16}  {:<14}  {}\n", "class", "towards", "wire rate", "burst");
    for (std::size_t i = 0; i < node.layout.classes.size(); ++i) {
        const ClassLayout& target = node.layout.classes[i];
        fmt::print("  {:<6}  {:<16}  {:<14}  {}\n", target.classid.to_string(),
                   clusters[target.cluster].name + (i == 0 ? " (own)" : ""), class_rate_text(node.rates[i]),
                   target.burst_bytes == 0 ? "none" : fmt::format("{} bytes", target.burst_bytes));
    }
    print_burst_reasons(node);
}

Json bursts_json(const ShownNode& node, const Topology& topology) {
    Json list = Json::array();
    for (const ClassLayout& target : node.layout.classes) {
        const ClassBurst& burst = node.bursts[target.cluster];
        list.push_back({{"classid", target.classid.to_string()},
                        {"cluster", topology.clusters()[target.cluster].name},
                        {"bytes", burst.bytes},
                        {"reason", burst.reason}});
    }
    return list;
}

Json algorithms_json(const std::vector<AlgorithmTime>& algorithms) {
    Json list = Json::array();
    for (const AlgorithmTime& time : algorithms) {
        list.push_back({{"name", algorithm_name(time.algorithm)},
                        {"unpaced", prediction_json(time.unpaced)},
                        {"paced", prediction_json(time.paced)}});
    }
    return list;
}

}  // namespace

std::string prediction_range_text(double low_s, double high_s) {
    const std::string low = seconds_text(low_s), high = seconds_text(high_s);
    return high_s <= low_s || low == high ? low : low + " .. " + high;
}

void print_plan_text(const ShownPlan& shown, const Config& config) {
    print_fact("configuration", config.file);
    print_fact("collective", shown.collective);
    print_fact("paced", fmt::format("{}: {}", shown.paced ? "yes" : "no", shown.reason));
    if (shown.runs != glue::Algorithm::native) print_fact("runs as", name_of(shown.runs));
    for (const auto& [name, value] : shown.facts) print_fact(name, value);
    for (const std::string& note : shown.notes) print_fact("note", note);
    print_predictions(shown);
    for (const ShownNode& node : shown.nodes) print_node(node, config);
}

void print_plan_json(const ShownPlan& shown, const Config& config) {
    Json json{{"config", config.file}};
    json.update(shown.json);
    const AlgorithmTime* const best = best_algorithm(shown.algorithms);
    json["algorithm"] = best != nullptr ? Json(algorithm_name(best->algorithm)) : Json(nullptr);
    json["algorithms"] = algorithms_json(shown.algorithms);
    json["decided_by"] = shown.unpaced ? Json(decided_by(*shown.unpaced)) : Json(nullptr);
    json["models"] = shown.models ? model_times_json(*shown.models) : Json::array();
    json["nodes"] = Json::array();
    for (const ShownNode& node : shown.nodes) {
        json["nodes"].push_back(
            {{"node", node.name},
             {"cluster", config.topology.clusters()[node.layout.own_cluster].name},
             {"interface", config.node.interface},
             {"remote_bytes_per_s", shown.paced ? Json(node.remote.value) : Json(nullptr)},
             {"pair_window_bytes", node.window_bytes},
             {"classes", class_rates_json(config.topology, node.layout, node.rates)},
             {"bursts", bursts_json(node, config.topology)}});
    }
    fmt::print("{}\n", json_text(json, 2));
}

void print_plan_tc(const ShownPlan& shown, const Config& config) {
    const ShownNode& node = shown.nodes.front();
    const std::string& device = config.node.interface;
    fmt::print("# node {}: set up by headwayd\n{}", node.name,
               tc_batch(device, node.layout.set_up));
    std::vector<Change> changes;
    for (std::size_t i = 0; i < node.rates.size(); ++i) {
        if (node.rates[i]) {
            changes.emplace_back(ChangeClassRate{node.layout.classes[i].classid, node.rates[i]});
        }
    }
    fmt::print("# while the collective runs: {}\n{}", shown.reason, tc_batch(device, changes));
}

}  // namespace headway
