// SPDX-License-Identifier: MIT
#include "record/recording_file.hpp"

#include "object_text.hpp"
#include "operation.hpp"

namespace headway::glue {
namespace {

const char* operation_name(std::int64_t operation) {
    return operation < 0 ? "point_to_point" : name_of(static_cast<Operation>(operation));
}

}  // namespace

void RecordingFile::add(int source, const std::int64_t* numbers) {
    phases_[{numbers[0], numbers[1]}].push_back({source, numbers[2], numbers[3], numbers[4]});
}

std::string RecordingFile::text() const {
    std::string phases;
    for (const auto& [key, flows] : phases_) {
        std::string listed;
        for (const RecordedFlow& flow : flows) {
            ObjectText of_flow;
            of_flow.number("source", flow.source).number("destination", flow.destination);
            of_flow.number("bytes", flow.bytes).number("messages", flow.messages);
            listed += (listed.empty() ? "\n    " : ",\n    ") + of_flow.object();
        }
        ObjectText phase;
        phase.number("phase", key.first).text("operation", operation_name(key.second)).json("flows", "[" + listed + "]");
        phases += (phases.empty() ? "\n  " : ",\n  ") + phase.object();
    }
    ObjectText recording;
    recording.number("headway_recording", 1).number("ranks", hosts_.size()).texts("hosts", hosts_);
    recording.number("left_out", left_out_).json("phases", "[" + phases + "]");
    return recording.object() + "\n";
}

}  // namespace headway::glue
