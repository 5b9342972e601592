// SPDX-License-Identifier: MIT
// The file of a recording, as headway-formats(5) describes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headway::glue {

/// The messages that one rank sent to one other in one phase.
struct RecordedFlow {
    static constexpr int numbers = 5;  ///< phase, operation, destination, bytes, messages
    int source = 0;
    std::int64_t destination = 0;
    std::int64_t bytes = 0;
    std::int64_t messages = 0;
};

class RecordingFile {
public:
    /// `left_out`: how many sends and collectives are not in it.
    RecordingFile(std::vector<std::string> hosts, std::int64_t left_out)
        : hosts_(std::move(hosts)), left_out_(left_out) {}

    void add(int source, const std::int64_t* numbers);

    [[nodiscard]] std::string text() const;

private:
    std::vector<std::string> hosts_;
    std::int64_t left_out_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<RecordedFlow>> phases_;
};

}  // namespace headway::glue
