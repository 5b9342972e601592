// SPDX-License-Identifier: Apache-2.0
#include "formats/measurement_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "base/text_lines.hpp"

namespace headway {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const auto comma = line.find(',');
        fields.push_back(trimmed(line.substr(0, comma)));
        if (comma == std::string_view::npos) return fields;
        line.remove_prefix(comma + 1);
    }
}

bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Goes through the lines that say something.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}

    bool next() {
        while (!rest_.empty()) {
            const auto end = rest_.find('\n');
            const std::string_view whole = rest_.substr(0, end);
            rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
            ++number;
            line = trimmed(whole.substr(0, whole.find('#')));
            if (!line.empty()) return true;
        }
        return false;
    }

    std::string_view line;
    std::size_t number = 0;

private:
    std::string_view rest_;
};

Result<void> check_columns(const Measurements& table, std::string_view file, std::size_t line,
                           const std::vector<std::string>& required,
                           const std::vector<std::string>& known) {
    for (const std::string& name : table.columns) {
        if (has(known, name)) continue;
        return failure("{}:{}: column \"{}\" is unknown; the first line names the columns, which may "
                       "be {}", file, line, name.substr(0, 32), fmt::join(known, ", "));
    }
    for (const std::string& name : required) {
        const auto times = std::count(table.columns.begin(), table.columns.end(), name);
        if (times != 1) {
            return failure("{}:{}: column \"{}\" {}; the first line must name it once", file, line,
                           name, times == 0 ? "is missing" : "is there twice");
        }
    }
    return {};
}

Result<std::vector<double>> read_row(std::string_view line, std::string_view file,
                                     std::size_t number, std::size_t columns) {
    const auto fields = fields_of(line);
    if (fields.size() != columns) {
        return failure("{}:{}: {} values, but {} columns", file, number, fields.size(), columns);
    }
    std::vector<double> row;
    for (const std::string_view field : fields) {
        double value = 0;
        const auto [end, error] =
            std::from_chars(field.data(), field.data() + field.size(), value);
        if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value)) {
            return failure("{}:{}: \"{}\" is no number", file, number, field.substr(0, 32));
        }
        row.push_back(value);
    }
    return row;
}

}  // namespace

std::optional<std::size_t> Measurements::column(std::string_view name) const {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

Result<Measurements> parse_measurements(std::string_view text, std::string_view file,
                                        const std::vector<std::string>& required,
                                        const std::vector<std::string>& known) {
    Measurements table;
    Lines lines(text);
    if (!lines.next()) return failure("{}: it is empty", file);
    for (const std::string_view name : fields_of(lines.line)) table.columns.emplace_back(name);
    const auto checked = check_columns(table, file, lines.number, required, known);
    if (!checked) return tl::unexpected(checked.error());
    while (lines.next()) {
        if (table.rows.size() == measurements_max) {
            return failure("{}:{}: more than {} measurements", file, lines.number,
                           measurements_max);
        }
        auto row = read_row(lines.line, file, lines.number, table.columns.size());
        if (!row) return tl::unexpected(row.error());
        table.rows.push_back(std::move(*row));
    }
    return table;
}

}  // namespace headway
