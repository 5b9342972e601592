// SPDX-License-Identifier: Apache-2.0
#include "study/fitted_file.hpp"

#include <cmath>

#include "base/json_text.hpp"
#include "study/eval_interface.hpp"

namespace headway {
namespace {

constexpr std::size_t list_max = 100'000;
constexpr std::size_t heights_max = 20;

using Failure = tl::expected<void, std::string>;

Failure read_plogpt(JsonReader& in, FittedParameters& parameters) {
    const double latency_s = in["L"].number(Sign::not_negative);
    std::vector<GapPoint> points;
    const JsonValue gap = in["gap"];
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

/// Keeps what was read, or gives the mistake on.
template <class Model>
Failure keep(tl::expected<Model, std::string> read, std::optional<Model>& model) {
    if (!read) return tl::unexpected(std::move(read.error()));
    model = std::move(*read);
    return {};
}

Failure read_model(const EvalJson& json, FittedParameters& parameters) {
    JsonReader in(json);
    const std::size_t model = in["model"].choice({"contention", "manytoone", "plogpt"});
    if (in.has("remarks")) static_cast<void>(in["remarks"]);
    if (in.has_failed()) return tl::unexpected(*in.finish());
    if (model == 0) return keep(read_contention(in), parameters.contention);
    return model == 1 ? keep(read_many_to_one(in), parameters.many_to_one) : read_plogpt(in, parameters);
}

/// The models that headway measure has fitted.
Failure read_measured_models(const EvalJson& json, FittedParameters& parameters) {
    const auto models = json.find("models");
    if (models == json.end() || !models->is_array() || models->empty())
        return eval_failure("it has no models: headway measure --network-only fits none");
    for (const EvalJson& model : *models) {
        if (!model.is_object()) return eval_failure("one of its models is no object");
        if (const auto read = read_model(model, parameters); !read) return read;
    }
    return {};
}

Failure read_document(std::string_view text, FittedParameters& parameters) {
    const EvalJson json = parse_json<EvalJson>(text);
    if (json.is_discarded()) return eval_failure("it is no JSON");
    if (!json.is_object()) return eval_failure("it is no object");
    if (json.value("format", EvalJson()) == "headway-measure") return read_measured_models(json, parameters);
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

FileResult<FittedParameters> load_fitted(const std::vector<std::string>& files) {
    FittedParameters parameters;
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
