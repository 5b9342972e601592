// SPDX-License-Identifier: Apache-2.0
// topology.conf, and drawings of what it describes.
#include "cli/topology_drawing.hpp"
#include "formats/slurm_topology.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const SlurmOptions options{BitsPerSecond{1'000'000}, BitsPerSecond{1'000'000'000}};
    const auto read = read_slurm_topology(fuzz::text_of(data, size), "f", options);
    if (!fuzz::is_result(read)) return 0;
    const auto written = write_slurm_topology(*read, options);
    fuzz::require(written.has_value(), "writing what was read");
    const auto again = read_slurm_topology(written->text, "f", options);
    fuzz::require(again && *again == *read, "the round trip");
    const Drawing drawing = draw_network(*read);
    fuzz::require(!drawing_svg(drawing).empty() && !drawing_dot(drawing).empty(), "the drawing");
  return 0;
}
