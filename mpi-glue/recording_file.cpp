// SPDX-License-Identifier: MIT
#include "recording_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>

#include "operation.hpp"

namespace headway::glue {
namespace {

const char* operation_name(std::int64_t operation) {
    return operation < 0 ? "point_to_point" : name_of(static_cast<Operation>(operation));
}

/// Everything, or why not.
std::string write_all(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int write_error = errno;
    if (std::fclose(file) != 0) return std::strerror(errno);
    return written ? "" : std::strerror(write_error);
}

}  // namespace

void RecordingFile::add(int source, const std::int64_t* numbers) {
    phases_[{numbers[0], numbers[1]}].push_back({source, numbers[2], numbers[3], numbers[4]});
}

std::string RecordingFile::text() const {
    using Json = nlohmann::ordered_json;
    Json phases = Json::array();
    for (const auto& [key, flows] : phases_) {
        Json listed = Json::array();
        for (const RecordedFlow& flow : flows)
            listed.push_back({{"source", flow.source},
                              {"destination", flow.destination},
                              {"bytes", flow.bytes},
                              {"messages", flow.messages}});
        phases.push_back({{"phase", key.first},
                          {"operation", operation_name(key.second)},
                          {"flows", std::move(listed)}});
    }
    const Json recording{{"headway_recording", 1},
                         {"ranks", hosts_.size()},
                         {"hosts", hosts_},
                         {"phases", std::move(phases)}};
    return recording.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RecordingFile::write(const std::string& path) const {
    const std::string unfinished = path + ".new";
    std::string trouble = write_all(unfinished, text());
    if (trouble.empty() && std::rename(unfinished.c_str(), path.c_str()) != 0)
        trouble = std::strerror(errno);
    if (!trouble.empty()) std::remove(unfinished.c_str());
    return trouble;
}

}  // namespace headway::glue
