// SPDX-License-Identifier: Apache-2.0
#include "config/config_tables.hpp"

#include <limits>
#include <string_view>

#include <fmt/core.h>

#include "config/toml_reader.hpp"
#include "plan/alltoall_plan.hpp"
#include "trunk/shares.hpp"

namespace headway {
namespace {

// ------------------------------------------------------------- [coordination]

bool is_endpoint(std::string_view text) {
    for (const std::string_view scheme : {"http://", "https://", "unix:"}) {
        if (text.starts_with(scheme) && text.size() > scheme.size()) return true;
    }
    return false;
}

void read_endpoints(TomlReader& reader, CoordinationConfig& config) {
    for (const auto& endpoint : reader.strings("endpoints")) {
        config.endpoints.push_back(endpoint.value);
        if (is_endpoint(endpoint.value)) continue;
        reader.error(endpoint.line, "endpoints",
                     fmt::format("\"{}\" is no endpoint of etcd", endpoint.value),
                     "write \"http://HOST:PORT\", \"https://HOST:PORT\" or \"unix:PATH\"");
    }
}

void read_prefix(TomlReader& reader, CoordinationConfig& config) {
    const auto prefix = reader.text(
        "prefix", {[](std::string_view text) { return text.ends_with('/'); },
                   "it does not end with '/'", "write a text such as \"/headway/\" (default)"});
    if (prefix) config.prefix = *prefix;
}

std::string read_path(TomlReader& reader, std::string_view key) {
    const auto path = reader.text(
        key, {[](std::string_view text) { return text.starts_with('/'); },
              "\"{}\" is no absolute path", "write the file's path, starting with '/'"});
    return path.value_or("");
}

void read_who(TomlReader& reader, CoordinationConfig& config) {
    config.ca_file = read_path(reader, "ca_file");
    config.cert_file = read_path(reader, "cert_file");
    config.key_file = read_path(reader, "key_file");
    config.password_file = read_path(reader, "password_file");
    if (const auto user = reader.string("user")) config.user = user->value;
    if (config.cert_file.empty() != config.key_file.empty()) {
        reader.error(reader.line(), "cert_file", "a certificate and its key belong together",
                     "set both cert_file and key_file, or neither");
    }
    if (config.user.empty() != config.password_file.empty()) {
        reader.error(reader.line(), "user", "a user and a password belong together",
                     "set both user and password_file, or neither");
    }
}

void read_weights(TomlReader& reader, CoordinationConfig& config) {
    const toml::node* node = reader.find("weights");
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    const auto refuse = [&](const toml::node& what) {
        reader.error(what.source().begin.line, "weights", "it is no table of jobs' weights",
                     fmt::format("write weights = {{ \"name of a job\" = 2 }}, numbers 1 .. {}",
                                 share_weight_max));
    };
    if (table == nullptr) return refuse(*node);
    for (const auto& [name, value] : *table) {
        const auto weight = value.value_exact<std::int64_t>();
        if (!weight || *weight < 1 || *weight > share_weight_max) return refuse(value);
        config.weights.emplace(name.str(), static_cast<std::uint32_t>(*weight));
    }
}

void read_policy(TomlReader& reader, CoordinationConfig& config) {
    config.policy = read_share(reader);
    if (const auto policy = reader.string("policy")) {
        reader.error(policy->line, "policy", "it is called share, as in [policy]",
                     fmt::format("write share = \"{}\"",
                                 policy->value == "equal-per-host" ? "host" : "job"));
    }
    config.fallback = reader.parsed("fallback", parse_rate, "write a rate such as \"30mbit\"");
    read_weights(reader, config);
}

/// Reads a time in such units, a day at most.
void read_time(TomlReader& reader, const char* key, std::int64_t unit_ns, LeaseTiming::Time& time) {
    constexpr std::int64_t day_ns = 86'400'000'000'000;
    const auto number = reader.integer(key, {{1, day_ns / unit_ns}, "{} is out of range",
                                             "write a whole number from 1 to a day's"});
    if (number) time = LeaseTiming::Time(*number * unit_ns);
}

void read_timing(TomlReader& reader, LeaseTiming& timing) {
    read_time(reader, "lease_s", 1'000'000'000, timing.lease);
    read_time(reader, "expires_ms", 1'000'000, timing.expires);
    read_time(reader, "margin_ms", 1'000'000, timing.margin);
    timing.refresh_every = timing.expires / 4;
    timing.keep_alive_every = timing.lease * 3 / 20;
    if (const auto fits = check_timing(timing); !fits) {
        reader.error(reader.line(), "lease_s", fits.error().message,
                     "leave lease_s, expires_ms and margin_ms out (10, 2000 and 1000)");
    }
}

// ----------------------------------------------------------------- [feedback]

constexpr std::int64_t quiet_max_s = 86'400;

bool read_enabled(TomlReader& reader) {
    const toml::node* node = reader.find("enabled");
    if (node == nullptr) return false;
    if (const auto* flag = node->as_boolean()) return flag->get();
    reader.error(node->source().begin.line, "enabled", "it is neither true nor false",
                 "write enabled = true, or false (default), without quotes");
    return false;
}

}  // namespace

SharePolicy read_share(TomlReader& reader) {
    return reader.choice("share", {"job", "host"}) == 0 ? SharePolicy::per_job
                                                        : SharePolicy::per_host;
}

std::optional<CoordinationConfig> read_coordination(TomlReader& reader) {
    const bool is_on = reader.choice("via", {"none", "etcd"}) == 1;
    const std::size_t errors_before = reader.error_count();
    CoordinationConfig config;
    read_endpoints(reader, config);
    read_prefix(reader, config);
    read_who(reader, config);
    read_policy(reader, config);
    read_timing(reader, config.timing);
    if (is_on && config.endpoints.empty() && reader.error_count() == errors_before) {
        reader.error(reader.find("via")->source().begin.line, "endpoints",
                     "etcd has to be somewhere", "write endpoints = [\"https://HOST:2379\"]");
    }
    reader.finish();
    return is_on ? std::optional(std::move(config)) : std::nullopt;
}

std::optional<FeedbackBounds> read_feedback(TomlReader& reader) {
    FeedbackBounds bounds;
    const bool is_enabled = read_enabled(reader);
    constexpr std::uint32_t largest = divisor_factor_max / divisor_one;
    const auto factor = reader.parts(
        "divisor_factor_max", divisor_one,
        {{1, largest}, "it is how many times more each link may be divided",
         fmt::format("write a number 1 .. {} without quotes (default 1.5)", largest)});
    if (factor) bounds.divisor_factor_max_thousandths = *factor;
    const auto part = reader.number(
        "retransmitted_max",
        {{std::numeric_limits<double>::min(), 1},
         "it is the part of the segments that may be sent again",
         "write a number above 0 and up to 1, without quotes (default 0.01)"});
    if (part) bounds.retransmitted_max = *part;
    const auto quiet =
        reader.integer("quiet_s", {{1, quiet_max_s}, "{} is out of range",
                                   fmt::format("write 1 .. {} (default 60)", quiet_max_s)});
    if (quiet) bounds.quiet = std::chrono::seconds(*quiet);
    reader.finish();
    return is_enabled ? std::optional(bounds) : std::nullopt;
}

}  // namespace headway
