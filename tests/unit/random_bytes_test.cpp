// SPDX-License-Identifier: Apache-2.0
// A million random bytes into every reader of a file: an error or a result.  The
// sanitisers watch.  Two kinds of bytes: any, and such as these files have.
#include <random>

#include "base/hostlist.hpp"
#include "config/network_file.hpp"
#include "formats/goal_schedule.hpp"
#include "formats/matrix_csv.hpp"
#include "formats/matrix_json.hpp"
#include "formats/open_mpi_monitoring.hpp"
#include "formats/simgrid_platform.hpp"
#include "formats/simgrid_trace.hpp"
#include "formats/slurm_topology.hpp"
#include "formats_golden.hpp"

namespace headway {
namespace {

constexpr std::size_t bytes = 1'000'000;

std::string any_bytes() {
    std::mt19937 random(1);
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

/// Pieces of `sample` in any order.
std::string shuffled(const std::string& sample) {
    std::mt19937 random(2);
    std::string text;
    while (text.size() < bytes) {
        text += sample.substr(random() % sample.size(), 1 + random() % 12);
    }
    return text;
}

template <class Read>
void try_both(Read read, const std::string& sample) {
    for (const std::string& text : {any_bytes(), shuffled(test::golden(sample))}) {
        const auto result = read(text);
        if (!result) {
            EXPECT_FALSE(result.error().empty());
            EXPECT_LE(result.error().size(), 1'000'000U);
        }
    }
}

TEST(RandomBytes, EveryReaderSurvivesThem) {
    const SlurmOptions slurm{BitsPerSecond{1'000'000}, BitsPerSecond{1'000'000}};
    try_both([](auto& text) { return parse_topology_toml(text, "f"); }, "topology_toml/tree.toml");
    try_both([&](auto& text) { return read_slurm_topology(text, "f", slurm); },
             "slurm_topology/tree.conf");
    try_both([](auto& text) { return read_simgrid_platform(text, "f"); },
             "simgrid_platform/clusters.xml");
    try_both([](auto& text) { return read_goal_schedule(text, "f"); }, "goal_schedule/ring.goal");
    try_both([](auto& text) { return read_matrix_csv(text, "f"); }, "matrix_csv/three.csv");
    try_both([](auto& text) { return read_matrix_json(text, "f"); }, "matrix_json/sparse.json");
    try_both(
        [](auto& text) {
            const NamedText file{"f", text};
            return read_open_mpi_monitoring(std::span(&file, 1));
        },
        "open_mpi_monitoring/p.0.prof");
    try_both(
        [](auto& text) {
            const NamedText file{"f", text};
            return read_simgrid_trace(std::span(&file, 1));
        },
        "simgrid_trace/three.txt");
    EXPECT_FALSE(parse_hostlist(any_bytes()));
    EXPECT_FALSE(parse_hostlist(shuffled(test::golden("hostlist/nested"))));
}

}  // namespace
}  // namespace headway
