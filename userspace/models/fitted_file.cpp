// SPDX-License-Identifier: Apache-2.0
#include "models/fitted_file.hpp"

#include <cmath>

#include "base/json.hpp"
#include "models/eval_input.hpp"
#include "network/measured_document.hpp"

namespace headway {
namespace {

constexpr std::size_t list_max = 100'000;
constexpr std::size_t heights_max = 20;
constexpr std::uint64_t processes_max = std::uint64_t{1} << 32;

using Failure = tl::expected<void, std::string>;

/// Reads nothing of these members, which are no mistakes.
void ignore(EvalInput& in, std::initializer_list<std::string_view> members) {
    for (const std::string_view member : members) {
        if (in.has(member)) static_cast<void>(in[member]);
    }
}

Failure read_contention(EvalInput& in, FittedParameters& parameters) {
    FittedContention fitted;
    fitted.processes = in["n"].count(2, processes_max);
    fitted.cost.startup_s = in["alpha"].number(Sign::not_negative);
    fitted.cost.per_byte_s = in["beta"].number(Sign::positive);
    fitted.signature.ratio = in["gamma"].number(Sign::positive);
    fitted.signature.startup_s = in["delta_s"].number();
    fitted.signature.threshold_bytes = in["M_bytes"].number_or_infinite(Sign::not_negative);
    ignore(in, {"gamma_standard_error", "delta_standard_error_s", "error_pct", "good",
                "saturation", "worst_error_pct"});
    if (auto error = in.finish()) return tl::unexpected(*error);
    parameters.contention = fitted;
    return {};
}

Failure read_many_to_one(EvalInput& in, FittedParameters& parameters) {
    FittedManyToOne fitted;
    const EvalValue sources = in["sources"];
    fitted.sources.resize(sources.size(1, list_max));
    for (std::size_t i = 0; i < fitted.sources.size(); ++i) {
        const EvalValue host = sources[i];
        if (!host.is_object_of({"C", "t"})) break;
        fitted.sources[i].host.fixed_s = host.member("C").number(Sign::not_negative);
        fitted.sources[i].host.per_byte_s = host.member("t").number(Sign::not_negative);
    }
    const auto rates =
        in["rates"].numbers(fitted.sources.size(), fitted.sources.size(), Sign::positive);
    for (std::size_t i = 0; i < rates.size(); ++i) fitted.sources[i].rate_bytes_per_s = rates[i];
    fitted.regions.small_bytes = in["M1_bytes"].number(Sign::not_negative);
    fitted.regions.large_bytes = in["M2_bytes"].number(Sign::not_negative);
    fitted.regions.congested_s = in["C_s"].number(Sign::not_negative);
    fitted.regions.small_factor = in["delta1"].number(Sign::not_negative);
    fitted.regions.large_factor = in["delta2"].number(Sign::not_negative);
    if (in.has("S_bytes")) fitted.buffered_bytes = in["S_bytes"].number_or_infinite(Sign::not_negative);
    ignore(in, {"congested", "error_pct"});
    if (auto error = in.finish()) return tl::unexpected(*error);
    parameters.many_to_one = std::move(fitted);
    return {};
}

Failure read_plogpt(EvalInput& in, FittedParameters& parameters) {
    const double latency_s = in["L"].number(Sign::not_negative);
    std::vector<GapPoint> points;
    const EvalValue gap = in["gap"];
    for (std::size_t i = 0, n = gap.size(1, list_max); i < n; ++i) {
        const auto pair = gap[i].numbers(2, 2, Sign::not_negative);
        if (pair.size() == 2) points.push_back({pair[0], pair[1]});
    }
    PlogptLinks links;
    links.bandwidth_bytes_per_s = in["b"].numbers(1, heights_max, Sign::positive);
    links.buffer_delay_s = in["d"].numbers(1, heights_max, Sign::not_negative);
    if (auto error = in.finish()) return tl::unexpected(*error);
    auto table = GapTable::make(std::move(points));
    if (!table) return eval_failure("gap: {}", table.error().message);
    auto tree = PlogptTree::make(std::move(links), plogpt_default_eps_s, PlogptTree::Clamp::yes);
    if (!tree) return tl::unexpected(tree.error().message);
    parameters.plogpt.emplace(FittedPlogpt{std::move(*tree), std::move(*table), latency_s});
    return {};
}

Failure read_model(const EvalJson& json, FittedParameters& parameters) {
    EvalInput in(json);
    const std::size_t model = in["model"].choice({"contention", "manytoone", "plogpt"});
    ignore(in, {"remarks"});
    if (in.has_failed()) return tl::unexpected(*in.mistake());
    if (model == 0) return read_contention(in, parameters);
    return model == 1 ? read_many_to_one(in, parameters) : read_plogpt(in, parameters);
}

/// The models that headway measure has fitted.
Failure read_measured_models(const EvalJson& json, FittedParameters& parameters) {
    const auto document = read_measured_document(json);
    if (!document) return tl::unexpected(document.error());
    if (document->models.empty())
        return eval_failure("it has no models: headway measure --network-only fits none");
    for (const auto& model : document->models)
        if (const auto read = read_model(EvalJson(model), parameters); !read) return read;
    return {};
}

Failure read_document(std::string_view text, FittedParameters& parameters) {
    const EvalJson json = parse_json<EvalJson>(text);
    if (json.is_discarded()) return eval_failure("it is no JSON");
    if (!json.is_object()) return eval_failure("it is no object");
    if (is_measured_document(json)) return read_measured_models(json, parameters);
    return read_model(json, parameters);
}

}  // namespace

FileResult<void> read_fitted(std::string_view text, std::string_view file,
                             FittedParameters& parameters) {
    FittedParameters known = parameters;
    if (const auto read = read_document(text, known); !read) {
        return tl::unexpected(std::vector<FileError>{
            {std::string(file), 0, "", read.error(), "write it with headway fit --json"}});
    }
    parameters = std::move(known);
    return {};
}

FileResult<FittedParameters> load_fitted(const std::vector<std::string>& files,
                                         FittedParameters parameters) {
    for (const std::string& name : files) {
        const auto text = read_text_file(name, config_file_max_bytes);
        if (!text) return tl::unexpected(text.error());
        if (auto read = read_fitted(*text, name, parameters); !read) {
            return tl::unexpected(std::move(read.error()));
        }
    }
    return parameters;
}

}  // namespace headway
