// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_command.hpp"

#include <algorithm>
#include <bit>
#include <fstream>

#include <fmt/format.h>

#include "cli/chosen_hosts.hpp"
#include "cli/svg_chart.hpp"
#include "daemon/config.hpp"
#include "daemon/config_report.hpp"
#include "daemon/protocol.hpp"
#include "model/byte_size.hpp"
#include "model/predict_models.hpp"
#include "model/prediction.hpp"
#include "model/what_if.hpp"

namespace headway {
namespace {

constexpr std::uint64_t message_max_bytes = std::uint64_t{1} << 40;
constexpr std::size_t sizes_max = 200;

ExitStatus usage_error(const Error& error) {
    fmt::print(stderr, "headway predict: {}\n", error.message);
    return ExitStatus::bad_config;
}

Result<std::uint64_t> parse_size(std::string_view text) {
    const bool digits_only = text.find_first_not_of("0123456789") == std::string_view::npos;
    const auto bytes = parse_byte_size(digits_only ? fmt::format("{}B", text) : std::string(text));
    if (!bytes) return tl::unexpected(bytes.error().within("--bytes"));
    if (*bytes == 0 || *bytes > message_max_bytes) {
        return failure("--bytes: {} is not within 1 byte and 1 TiB", text);
    }
    return *bytes;
}

/// "1KiB..1MiB": both ends, and every power of two between.
Result<void> append_range(std::vector<std::uint64_t>& sizes, std::string_view from,
                          std::string_view to) {
    const auto first = parse_size(from);
    if (!first) return tl::unexpected(first.error());
    const auto last = parse_size(to);
    if (!last) return tl::unexpected(last.error());
    if (*first > *last) return failure("--bytes: {}..{} ends before it begins", from, to);
    sizes.push_back(*first);
    for (std::uint64_t size = std::bit_ceil(*first); size < *last; size *= 2) sizes.push_back(size);
    sizes.push_back(*last);
    return {};
}

Result<std::vector<std::uint64_t>> parse_sizes(const std::vector<std::string>& texts) {
    std::vector<std::uint64_t> sizes;
    for (const std::string& text : texts) {
        if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
            const auto range = append_range(sizes, std::string_view(text).substr(0, dots),
                                            std::string_view(text).substr(dots + 2));
            if (!range) return tl::unexpected(range.error());
            continue;
        }
        const auto size = parse_size(text);
        if (!size) return tl::unexpected(size.error());
        sizes.push_back(*size);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.size() > sizes_max) return failure("--bytes: more than {} sizes", sizes_max);
    return sizes;
}

/// What is predicted at one place of the picture's x axis.
struct Point {
    std::uint64_t message_bytes = 0;
    HostCounts hosts;
    ModelTimes models;
};

/// 2, 4, 8, ... hosts of each cluster, and all.
std::vector<HostCounts> host_steps(const HostCounts& all) {
    const std::uint32_t most = *std::max_element(all.per_cluster.begin(), all.per_cluster.end());
    std::vector<HostCounts> steps;
    for (std::uint32_t each = 1; each < most; each *= 2) {
        HostCounts counts = all;
        for (std::uint32_t& hosts : counts.per_cluster) hosts = std::min(hosts, each);
        steps.push_back(counts);
    }
    steps.push_back(all);
    return steps;
}

Result<std::size_t> root_cluster(const Topology& topology, const PredictOptions& options,
                                 const HostCounts& counts) {
    if (options.root.empty()) {
        const auto& used = counts.per_cluster;
        return static_cast<std::size_t>(
            std::find_if(used.begin(), used.end(), [](std::uint32_t n) { return n > 0; }) -
            used.begin());
    }
    const auto host = topology.find_host(options.root);
    if (!host) return failure("--root: host \"{}\" is in no cluster", options.root);
    return topology.cluster_of(*host);
}

Result<std::vector<Point>> predict_points(const Config& config, const PredictOptions& options,
                                          Operation operation, const HostCounts& counts,
                                          const std::vector<std::uint64_t>& sizes) {
    const auto root = root_cluster(config.topology, options, counts);
    if (!root) return tl::unexpected(root.error());
    std::vector<Point> points;
    for (const HostCounts& hosts :
         options.over_hosts ? host_steps(counts) : std::vector{counts}) {
        for (const std::uint64_t bytes : sizes) {
            auto models = predict_models(config.topology, config.policy.plan,
                                         {operation, hosts, *root, options.ranks_per_host}, bytes);
            if (!models) return tl::unexpected(models.error());
            points.push_back({bytes, hosts, std::move(*models)});
        }
    }
    return points;
}

// --------------------------------------------------------------------- output

std::string range_text(const ModelTime& time) {
    if (time.high_s <= time.low_s) return seconds_text(time.low_s);
    return fmt::format("{} .. {}", seconds_text(time.low_s), seconds_text(time.high_s));
}

void print_text(std::string_view operation, const std::vector<Point>& points) {
    for (const Point& point : points) {
        fmt::print("{} of {} hosts, {} per pair of ranks\n", operation, point.hosts.total(),
                   byte_size_to_text(point.message_bytes));
        for (const ModelTime& time : point.models.times) {
            fmt::print("  {:<26}  {:<22}  {}\n", time.model, range_text(time), time.reason);
        }
        for (const std::string& reason : point.models.left_out) {
            fmt::print("  without {}\n", reason);
        }
        fmt::print("\n");
    }
}

void print_json(std::string_view operation, const std::vector<Point>& points) {
    Json list = Json::array();
    for (const Point& point : points) {
        Json models = Json::array();
        for (const ModelTime& time : point.models.times) {
            models.push_back({{"model", time.model},
                              {"low_s", time.low_s},
                              {"high_s", time.high_s},
                              {"reason", time.reason}});
        }
        list.push_back({{"message_bytes", point.message_bytes},
                        {"hosts", point.hosts.total()},
                        {"models", std::move(models)},
                        {"left_out", point.models.left_out}});
    }
    const Json json{{"operation", operation}, {"points", std::move(list)}};
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

Chart make_chart(std::string_view operation, const std::vector<Point>& points, bool over_hosts) {
    using Scale = ChartAxis::Scale;
    Chart chart;
    chart.title = over_hosts ? fmt::format("{} of {} per pair of ranks", operation,
                                           byte_size_to_text(points.front().message_bytes))
                             : fmt::format("{} of {} hosts", operation,
                                           points.front().hosts.total());
    chart.x = over_hosts ? ChartAxis{"hosts", Scale::linear, ChartAxis::Unit::none}
                         : ChartAxis{"message size", Scale::logarithmic, ChartAxis::Unit::bytes};
    chart.y = {"predicted time", Scale::logarithmic, ChartAxis::Unit::seconds};
    for (const Point& point : points) {
        const double x = over_hosts ? point.hosts.total() : static_cast<double>(point.message_bytes);
        for (const ModelTime& time : point.models.times) {
            auto series = std::find_if(chart.series.begin(), chart.series.end(),
                                       [&](const auto& one) { return one.name == time.model; });
            if (series == chart.series.end()) {
                series = chart.series.insert(series, {time.model, {}});
            }
            series->points.push_back({x, time.low_s, time.high_s});
        }
    }
    return chart;
}

bool write_file(const std::string& name, const std::string& content) {
    std::ofstream file(name, std::ios::binary);
    file << content;
    file.close();
    if (file) return true;
    fmt::print(stderr, "headway predict: cannot write {}\n", name);
    return false;
}

}  // namespace

ExitStatus predict_command(const PredictOptions& options) {
    auto config = load_config(options.config);
    if (!config) {
        report_config_errors(config.error());
        return ExitStatus::bad_config;
    }
    const auto operation = parse_operation(options.operation);
    if (!operation) {
        return usage_error({fmt::format("--operation: \"{}\" is unknown; alltoall, allgather, "
                                        "gather, scatter, bcast and reduce are predicted",
                                        options.operation)});
    }
    if (const auto changed = apply_what_if(config->topology, options.what_if); !changed) {
        return usage_error(changed.error());
    }
    const auto hosts = chosen_hosts(config->topology, options.hosts);
    if (!hosts) return usage_error(hosts.error());
    const auto sizes = parse_sizes(options.bytes);
    if (!sizes) return usage_error(sizes.error());
    if (options.over_hosts && sizes->size() > 1) {
        return usage_error({"--over hosts wants one size"});
    }
    const auto points = predict_points(*config, options, *operation,
                                       config->topology.count(*hosts), *sizes);
    if (!points) return usage_error(points.error());
    if (!options.svg.empty() &&
        !write_file(options.svg, chart_svg(make_chart(operation_name(*operation), *points,
                                                      options.over_hosts)))) {
        return ExitStatus::failure;
    }
    if (options.json) {
        print_json(operation_name(*operation), *points);
    } else {
        print_text(operation_name(*operation), *points);
    }
    return ExitStatus::ok;
}

}  // namespace headway
