// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi_launch.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "cli/elf_needed.hpp"
#include "formats/recording_json.hpp"

namespace headway {
namespace {

using Words = std::vector<std::string>;

const Environment two{{"A", "1"}, {"LD_PRELOAD", "/x.so:/y.so"}};

TEST(MpiLaunch, OpenMpiNeedsTheVariablesForEachProgram) {
    EXPECT_EQ(with_environment({"mpirun", "-n", "2", "a", ":", "b"}, MpiLauncher::open_mpi, two),
              (Words{"mpirun", "-x", "A=1", "-x", "LD_PRELOAD=/x.so:/y.so", "-n", "2", "a", ":",
                     "-x", "A=1", "-x", "LD_PRELOAD=/x.so:/y.so", "b"}));
}

TEST(MpiLaunch, HydraHasThemOnce) {
    EXPECT_EQ(with_environment({"mpirun", "a", ":", "b"}, MpiLauncher::hydra, two),
              (Words{"mpirun", "-genv", "A", "1", "-genv", "LD_PRELOAD", "/x.so:/y.so", "a", ":",
                     "b"}));
}

TEST(MpiLaunch, OtherCommandsStayAsTheyAre) {
    EXPECT_EQ(with_environment({"srun", "a"}, MpiLauncher::other, two), (Words{"srun", "a"}));
    EXPECT_EQ(with_environment({}, MpiLauncher::open_mpi, two), Words{});
}

TEST(MpiLaunch, KnowsNothingOfOtherPrograms) {
    const MpiLaunch launch = inspect_launch({"sh", "-c", "true"});
    EXPECT_EQ(launch.launcher, MpiLauncher::other);
    EXPECT_EQ(launch.library, MpiLibrary::unknown);
    EXPECT_EQ(inspect_launch({}).library, MpiLibrary::unknown);
    EXPECT_EQ(inspect_launch({"/nowhere/at/all"}).launcher, MpiLauncher::other);
}

TEST(MpiLaunch, TellsTheLaunchersApart) {
    EXPECT_EQ(inspect_launch({"mpirun.openmpi", "true"}).launcher, MpiLauncher::open_mpi);
    EXPECT_EQ(inspect_launch({"mpirun.openmpi", "true"}).library, MpiLibrary::open_mpi);
    EXPECT_EQ(inspect_launch({"mpirun.mpich", "true"}).launcher, MpiLauncher::hydra);
    EXPECT_EQ(inspect_launch({"mpirun.mpich", "true"}).library, MpiLibrary::mpich);
    EXPECT_EQ(helper_file_name(MpiLibrary::open_mpi), "libheadway-ompi.so");
    EXPECT_EQ(helper_file_name(MpiLibrary::mpich), "libheadway-mpich.so");
}

TEST(ElfNeeded, ReadsThisProgram) {
    const Words needed = elf_needed("/proc/self/exe");
    EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
}

/// Whatever is cut off or overwritten, it ends and tells names or none.
TEST(ElfNeeded, SurvivesBrokenFiles) {
    std::ifstream self("/bin/true", std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(self), {});
    ASSERT_GT(whole.size(), 4096U);
    const std::string path = testing::TempDir() + "headway-broken-elf";
    for (std::size_t at = 0; at < 1024; at += 7) {
        std::string broken = whole;
        for (std::size_t i = at; i < at + 8; ++i) broken[i] = static_cast<char>(0xff);
        std::ofstream(path, std::ios::binary) << broken;
        EXPECT_LE(elf_needed(path).size(), 100U);
        std::ofstream(path, std::ios::binary) << whole.substr(0, at * 16);
        EXPECT_LE(elf_needed(path).size(), 100U);
    }
    std::remove(path.c_str());
    EXPECT_TRUE(elf_needed("/nowhere/at/all").empty());
    EXPECT_TRUE(elf_needed("/").empty());
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
