// SPDX-License-Identifier: Apache-2.0
#include "kernel/tc_traffic_control.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "kernel/tc_batch.hpp"

namespace headway {
namespace {

/// What tc said, on one line.
std::string one_line(std::string_view messages) {
    std::string line;
    for (const char c : messages) {
        if (c != '\n') {
            line += c;
        } else if (!line.empty() && !line.ends_with("; ")) {
            line += "; ";
        }
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == ';')) line.pop_back();
    return line.empty() ? "no message" : line;
}

std::vector<std::size_t> first_indices(std::size_t count) {
    std::vector<std::size_t> indices(count);
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    return indices;
}

}  // namespace

std::optional<std::size_t> failed_tc_line(std::string_view messages) {
    constexpr std::string_view marker = "Command failed -:";
    const auto found = messages.rfind(marker);
    if (found == std::string_view::npos) return std::nullopt;
    const auto digits = messages.substr(found + marker.size());
    std::size_t line = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
    if (error != std::errc{} || end == digits.data() || line == 0) return std::nullopt;
    return line;
}

tl::expected<void, ApplyFailure> TcTrafficControl::apply(std::span<const Change> changes,
                                                         ApplyMode /*mode*/) {
    const std::string batch = tc_batch(options_.device, changes);
    ChildCommand command{{options_.program, "-batch", "-"}, {}, batch, options_.deadline};
    if (options_.plugin_dir) command.environment.emplace_back("TC_LIB_DIR", *options_.plugin_dir);

    const auto outcome = run_child(command);
    // Unknown how far it got: nothing is taken for done.
    if (!outcome) return tl::unexpected(ApplyFailure{outcome.error(), {}});
    if (outcome->exit_status == 0) return {};

    const Error error{fmt::format("{} -batch ended with status {}: {}", options_.program,
                                  outcome->exit_status, one_line(outcome->messages))};
    const auto line = failed_tc_line(outcome->messages);
    if (!line || *line > changes.size()) return tl::unexpected(ApplyFailure{error, {}});
    return tl::unexpected(
        ApplyFailure{error.within(change_to_text(changes[*line - 1])), first_indices(*line - 1)});
}

}  // namespace headway
