// SPDX-License-Identifier: Apache-2.0
#include "formats/matrix_json.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "formats/file_mistakes.hpp"
#include "formats/matrix_csv.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

constexpr const char* members_advice = "see headway-formats(5) for the members";

class MatrixReader {
public:
    explicit MatrixReader(std::string_view file) : mistakes_(file) {}

    FileResult<TrafficMatrix> read(std::string_view text) {
        const Json json = parse(text);
        if (mistakes_.empty()) read_root(json);
        if (!mistakes_.empty()) return mistakes_.take();
        auto matrix = TrafficMatrix::make(ranks_, std::move(flows_));
        if (matrix) return std::move(*matrix);
        mistakes_.add(0, "", matrix.error().message, members_advice);
        return mistakes_.take();
    }

private:
    void mistake(std::string_view key, std::string reason) {
        mistakes_.add(0, key, std::move(reason), members_advice);
    }

    Json parse(std::string_view text) {
        try {
            return Json::parse(text);
        } catch (const Json::parse_error& error) {
            const std::size_t end = std::min(error.byte, text.size());
            const auto line = std::count(text.begin(), text.begin() + static_cast<long>(end), '\n');
            mistakes_.add(static_cast<std::uint32_t>(line) + 1, "syntax", "it is no JSON",
                          fmt::format("look before byte {}", error.byte));
        } catch (const Json::exception&) {  // a number that no double holds
            mistakes_.add(0, "syntax", "a number is out of range", members_advice);
        }
        return {};
    }

    void check_members(const Json& object, const std::string& path,
                       std::initializer_list<std::string_view> known) {
        for (const auto& [key, value] : object.items()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            mistake(path, "it has an unknown member");
            return;
        }
    }

    void read_root(const Json& json) {
        if (!json.is_object()) {
            mistake("", "it is no JSON object");
        } else if (json.contains("bytes")) {
            check_members(json, "", {"bytes"});
            read_rows(json["bytes"]);
        } else if (json.contains("flows") && json.contains("ranks")) {
            check_members(json, "", {"ranks", "flows"});
            read_flows(json);
        } else {
            mistake("", "it has neither bytes nor ranks and flows");
        }
    }

    void read_rows(const Json& rows) {
        if (!rows.is_array() || rows.empty() || rows.size() > dense_ranks_max) {
            mistake("bytes", fmt::format("it is no array of 1 to {} rows", dense_ranks_max));
            return;
        }
        ranks_ = static_cast<std::uint32_t>(rows.size());
        for (std::uint32_t row = 0; row < ranks_ && !mistakes_.full(); ++row) {
            const std::string path = fmt::format("bytes[{}]", row);
            if (!rows[row].is_array() || rows[row].size() != ranks_) {
                mistake(path, fmt::format("it is no array of {} numbers", ranks_));
                continue;
            }
            for (std::uint32_t column = 0; column < ranks_; ++column) {
                const auto bytes = number(rows[row][column], fmt::format("{}[{}]", path, column));
                if (bytes > 0) flows_.push_back({row, column, bytes, 0});
            }
        }
    }

    void read_flows(const Json& json) {
        const std::uint64_t ranks = number(json["ranks"], "ranks");
        const Json& flows = json["flows"];
        if (ranks == 0 || ranks > TrafficMatrix::ranks_max) {
            mistake("ranks", fmt::format("it is not 1 to {}", TrafficMatrix::ranks_max));
        } else if (!flows.is_array() || flows.size() > TrafficMatrix::flows_max) {
            mistake("flows", fmt::format("it is no array of up to {} flows",
                                         TrafficMatrix::flows_max));
        } else {
            ranks_ = static_cast<std::uint32_t>(ranks);
            for (std::size_t i = 0; i < flows.size() && !mistakes_.full(); ++i) {
                read_flow(flows[i], fmt::format("flows[{}]", i));
            }
        }
    }

    void read_flow(const Json& flow, const std::string& path) {
        if (!flow.is_object()) {
            mistake(path, "it is no object");
            return;
        }
        check_members(flow, path, {"source", "destination", "bytes", "messages"});
        const auto member = [&](const char* key) -> std::uint64_t {
            if (flow.contains(key)) return number(flow[key], path + "." + key);
            mistake(path, fmt::format("its member {} is missing", key));
            return 0;
        };
        const std::uint64_t source = member("source");
        const std::uint64_t destination = member("destination");
        const std::uint64_t bytes = member("bytes");
        const std::uint64_t messages = flow.contains("messages") ? member("messages") : 0;
        if (source >= ranks_ || destination >= ranks_) {
            mistake(path, fmt::format("a rank is not less than {}", ranks_));
            return;
        }
        flows_.push_back({static_cast<std::uint32_t>(source),
                          static_cast<std::uint32_t>(destination), bytes, messages});
    }

    std::uint64_t number(const Json& value, const std::string& path) {
        if (value.is_number_unsigned()) return value.get<std::uint64_t>();
        mistake(path, "it is no whole number");
        return 0;
    }

    FileMistakes mistakes_;
    std::uint32_t ranks_ = 0;
    std::vector<TrafficFlow> flows_;
};

}  // namespace

FileResult<TrafficMatrix> read_matrix_json(std::string_view text, std::string_view file) {
    return MatrixReader(file).read(text);
}

}  // namespace headway
