// SPDX-License-Identifier: Apache-2.0
// What `headway record` writes: who sent how much to whom, in each phase of a
// job and by each kind of communication.
//
//   {"headway_recording": 1, "ranks": 2, "hosts": ["a0", "b0"],
//    "phases": [{"phase": 0, "operation": "point_to_point",
//                "flows": [{"source": 0, "destination": 1, "bytes": 1000, "messages": 2}]}]}
//
// `hosts` are those of the ranks, in their order.  The flows are as in
// matrix_json.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_error.hpp"
#include "formats/traffic_matrix.hpp"

namespace headway {

struct RecordedPhase {
    std::int64_t phase = 0;  ///< the level that the program gave MPI_Pcontrol
    std::string operation;   ///< point_to_point, or the collective's name
    TrafficMatrix matrix;
};

struct Recording {
    std::vector<std::string> hosts;
    std::vector<RecordedPhase> phases;
};

[[nodiscard]] FileResult<Recording> read_recording_json(std::string_view text,
                                                        std::string_view file);

}  // namespace headway
