// SPDX-License-Identifier: Apache-2.0
#include "formats/recording_json.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "formats/file_mistakes.hpp"
#include "formats/matrix_json.hpp"

namespace headway {
namespace {

using Json = nlohmann::json;

constexpr const char* record_advice = "record it anew with headway record";

class RecordingReader {
public:
    explicit RecordingReader(std::string_view file) : file_(file), mistakes_(file) {}

    FileResult<Recording> read(std::string_view text) {
        const Json json = parse_json<Json>(text);
        if (!json.is_object() || !json.contains("headway_recording")) {
            mistake("", "it is no recording");
        } else if (json["headway_recording"] != 1) {
            mistake("headway_recording", "it is of another version than 1");
        } else {
            read_hosts(json);
            read_phases(json);
        }
        if (!mistakes_.empty()) return mistakes_.take();
        return std::move(recording_);
    }

private:
    void mistake(std::string_view key, std::string reason) {
        mistakes_.add(0, key, std::move(reason), record_advice);
    }

    void read_hosts(const Json& json) {
        const auto hosts = json.find("hosts");
        if (hosts == json.end() || !hosts->is_array() || hosts->empty() ||
            hosts->size() > TrafficMatrix::ranks_max || json.value("ranks", Json()) != hosts->size()) {
            mistake("hosts", "it is no array of a host for each of the ranks");
            return;
        }
        for (const Json& host : *hosts) {
            if (!host.is_string()) {
                mistake("hosts", "one of them is no name");
                return;
            }
            recording_.hosts.push_back(host.get<std::string>());
        }
    }

    void read_phases(const Json& json) {
        const auto phases = json.find("phases");
        if (phases == json.end() || !phases->is_array()) {
            mistake("phases", "it is no array");
            return;
        }
        for (std::size_t i = 0; i < phases->size() && mistakes_.empty(); ++i)
            read_phase((*phases)[i], fmt::format("phases[{}]", i));
    }

    void read_phase(const Json& phase, const std::string& path) {
        if (!phase.is_object() || !phase.contains("flows") || !phase.contains("phase") ||
            !phase["phase"].is_number_integer() || !phase.contains("operation") ||
            !phase["operation"].is_string()) {
            mistake(path, "it lacks a number phase, a name operation or flows");
            return;
        }
        // the flows of a phase are a matrix like any other
        const Json matrix{{"ranks", recording_.hosts.size()}, {"flows", phase["flows"]}};
        auto read = read_matrix_json(json_text(matrix), file_);
        if (read) {
            recording_.phases.push_back({phase["phase"].get<std::int64_t>(),
                                         phase["operation"].get<std::string>(), std::move(*read)});
            return;
        }
        for (const FileError& error : read.error())
            mistake(fmt::format("{}.{}", path, error.key), error.reason);
    }

    std::string file_;
    FileMistakes mistakes_;
    Recording recording_;
};

}  // namespace

FileResult<Recording> read_recording_json(std::string_view text, std::string_view file) {
    return RecordingReader(file).read(text);
}

}  // namespace headway
