// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

namespace headway {
namespace {

/// Number of letters to insert, delete or replace to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

/// The only one that begins so.
std::optional<std::string> completed(std::string_view word, const std::vector<std::string>& known) {
    const auto begins = [&](const std::string& name) { return name.starts_with(word); };
    if (word.empty() || std::ranges::count_if(known, begins) != 1) return std::nullopt;
    return *std::ranges::find_if(known, begins);
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
    constexpr std::size_t told_up_to = 3;  // letters; beyond, a hint would puzzle
    if (const auto whole = completed(word, known)) return whole;
    const auto distance_to = [&](std::string_view name) { return edit_distance(word, name); };
    const auto best = std::ranges::min_element(known, {}, distance_to);
    if (best == known.end()) return std::nullopt;
    const std::size_t distance = distance_to(*best);
    if (distance > told_up_to || 2 * distance > word.size()) return std::nullopt;
    return *best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    if (const auto meant = nearest(word, known)) return fmt::format("did you mean {}?", *meant);
    return fmt::format("known here: {}", fmt::join(known, ", "));
}

}  // namespace headway
