// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi_launch.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "formats/recording_json.hpp"

namespace headway {
namespace {

using Words = std::vector<std::string>;

TEST(MpiLaunch, OpenMpiNeedsTheVariablesForEachProgram) {
    EXPECT_EQ(handing_on({"mpirun", "-n", "2", "a", ":", "b"}, {"A", "LD_PRELOAD"}),
              (Words{"mpirun", "-x", "A", "-x", "LD_PRELOAD", "-n", "2", "a", ":", "-x", "A", "-x",
                     "LD_PRELOAD", "b"}));
    EXPECT_EQ(handing_on({}, {"A"}), Words{});
}

TEST(MpiLaunch, KnowsOpenMpisLauncher) {
    EXPECT_TRUE(is_open_mpi_launcher("mpirun.openmpi"));
    EXPECT_FALSE(is_open_mpi_launcher("mpirun.mpich"));
    EXPECT_FALSE(is_open_mpi_launcher("mpiexec.hydra"));
    EXPECT_FALSE(is_open_mpi_launcher("sh"));
    EXPECT_FALSE(is_open_mpi_launcher("/nowhere/at/all"));
    EXPECT_FALSE(is_open_mpi_launcher(""));
}

TEST(MpiLaunch, KnowsWhatStartsRanksFromAScript) {
    for (const char* launcher : {"mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra", "/nowhere/srun"})
        EXPECT_TRUE(is_launcher(launcher)) << launcher;
    for (const char* other : {"sh", "", "./mpirun.sh", "/nowhere/at/all"})
        EXPECT_FALSE(is_launcher(other)) << other;
}

/// Its mpirun is no link.
TEST(MpiLaunch, KnowsTheLauncherOfOpenMpi5) {
    const std::string folder = testing::TempDir() + "headway-open-mpi-5";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/mpirun") << "program";
    EXPECT_FALSE(is_open_mpi_launcher(folder + "/mpirun"));
    std::ofstream(folder + "/ompi_info") << "program";
    EXPECT_TRUE(is_open_mpi_launcher(folder + "/mpirun"));
    EXPECT_FALSE(is_open_mpi_launcher(folder + "/ompi_info"));
    for (const char* name : {"mpirun.openmpi", "prte"}) std::ofstream(folder + "/" + name) << "program";
    std::filesystem::create_symlink("prte", folder + "/prterun");
    std::filesystem::create_symlink("mpirun.openmpi", folder + "/mpiexec.openmpi");
    for (const char* name : {"/mpirun.openmpi", "/mpiexec.openmpi", "/prterun"})
        EXPECT_TRUE(is_open_mpi_launcher(folder + name)) << name;
    std::filesystem::remove_all(folder);
}

TEST(Recording, IsRead) {
    const auto recording = read_recording_json(
        R"({"headway_recording": 1, "ranks": 2, "hosts": ["a0", "b0"], "phases": [
            {"phase": 3, "operation": "point_to_point", "flows": [
                {"source": 0, "destination": 1, "bytes": 1000, "messages": 2}]}]})",
        "file");
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->hosts, (Words{"a0", "b0"}));
    ASSERT_EQ(recording->phases.size(), 1U);
    EXPECT_EQ(recording->phases[0].phase, 3);
    EXPECT_EQ(recording->phases[0].operation, "point_to_point");
    ASSERT_EQ(recording->phases[0].matrix.flows().size(), 1U);
    EXPECT_EQ(recording->phases[0].matrix.flows()[0].bytes, 1000U);
}

TEST(Recording, MistakesAreTold) {
    for (const char* text :
         {"", "[]", "{}", R"({"headway_recording": 2})", R"({"headway_recording": 1})",
          R"({"headway_recording": 1, "ranks": 3, "hosts": ["a"], "phases": []})",
          R"({"headway_recording": 1, "ranks": 1, "hosts": [7], "phases": []})",
          R"({"headway_recording": 1, "ranks": 1, "hosts": ["a"], "phases": {}})",
          R"({"headway_recording": 1, "ranks": 1, "hosts": ["a"], "phases": [{}]})",
          R"({"headway_recording": 1, "ranks": 1, "hosts": ["a"], "phases": [
              {"phase": 0, "operation": "x", "flows": [{"source": 1, "destination": 0,
               "bytes": 1}]}]})"}) {
        const auto recording = read_recording_json(text, "file");
        ASSERT_FALSE(recording) << text;
        EXPECT_FALSE(recording.error().empty()) << text;
    }
}

}  // namespace
}  // namespace headway
