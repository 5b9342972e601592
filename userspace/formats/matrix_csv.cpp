// SPDX-License-Identifier: Apache-2.0
#include "formats/matrix_csv.hpp"

#include <fmt/core.h>

#include "base/text_lines.hpp"
#include "formats/file_mistakes.hpp"

namespace headway {
namespace {

constexpr const char* csv_advice = "write as many numbers of bytes in every line as there are "
                                    "lines";

/// One line as flows of `source`; returns how many columns it has.
std::uint32_t read_row(std::uint32_t line, std::string_view text, std::uint32_t source,
                       std::vector<TrafficFlow>& flows, FileMistakes& mistakes) {
    std::uint32_t column = 0;
    while (true) {
        const auto comma = text.find(',');
        const std::string_view field = trimmed(text.substr(0, comma));
        const auto bytes = to_number<std::uint64_t>(field);
        if (!bytes) {
            mistakes.add(line, fmt::format("column {}", column + 1),
                         in_quotes(field) + " is no whole number of bytes", csv_advice);
        } else if (*bytes > 0) {
            flows.push_back({source, column, *bytes, 0});
        }
        ++column;
        if (comma == std::string_view::npos || column > dense_ranks_max) return column;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

FileResult<TrafficMatrix> read_matrix_csv(std::string_view text, std::string_view file) {
    FileMistakes mistakes(file);
    std::vector<TrafficFlow> flows;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    TextLines lines(text);
    while (lines.next() && !mistakes.full()) {
        const std::string_view line = trimmed(lines.line().substr(0, lines.line().find('#')));
        if (line.empty()) continue;
        if (rows == dense_ranks_max) {
            mistakes.add(lines.number(), "", fmt::format("more than {} ranks", dense_ranks_max),
                         "measure fewer ranks");
            return mistakes.take();
        }
        const std::uint32_t found = read_row(lines.number(), line, rows, flows, mistakes);
        if (rows == 0) columns = found;
        if (found != columns) {
            mistakes.add(lines.number(), "", fmt::format("{} columns, but the first line has {}",
                                                         found, columns), csv_advice);
        }
        ++rows;
    }
    if (rows != columns && mistakes.empty()) {
        mistakes.add(0, "", fmt::format("{} lines, but {} columns", rows, columns), csv_advice);
    }
    if (rows == 0 && mistakes.empty()) mistakes.add(0, "", "it is empty", csv_advice);
    if (!mistakes.empty()) return mistakes.take();
    auto matrix = TrafficMatrix::make(rows, std::move(flows));
    if (matrix) return std::move(*matrix);
    mistakes.add(0, "", matrix.error().message, csv_advice);
    return mistakes.take();
}

}  // namespace headway
