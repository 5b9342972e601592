// SPDX-License-Identifier: Apache-2.0
#include "record/recording_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/whole_file.hpp"

namespace headway::glue::test {
namespace {

namespace fs = std::filesystem;

class RecordingFiles : public testing::Test {
protected:
    RecordingFiles() {
        std::string name = fs::temp_directory_path() / "headway-recording-XXXXXX";
        directory_ = mkdtemp(name.data());
        recording_.add(0, std::array<std::int64_t, RecordedFlow::numbers>{3, -1, 1, 1000, 2}.data());
    }
    ~RecordingFiles() override { fs::remove_all(directory_); }

    [[nodiscard]] std::string path() const { return directory_ / "recording.json"; }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }

    fs::path directory_;
    RecordingFile recording_{{"a0", "b0"}, 4};
};

TEST_F(RecordingFiles, AreWrittenWhole) {
    EXPECT_EQ(write_whole(path(), recording_.text()), "");
    std::ifstream file(path());
    const auto json = nlohmann::json::parse(file);
    EXPECT_EQ(json["ranks"], 2);
    EXPECT_EQ(json["left_out"], 4);
    EXPECT_EQ(json["phases"][0]["phase"], 3);
    EXPECT_EQ(json["phases"][0]["operation"], "point_to_point");
    EXPECT_EQ(json["phases"][0]["flows"][0]["bytes"], 1000);
    EXPECT_EQ(files(), 1U);
}

TEST_F(RecordingFiles, ThatAreTooLargeLeaveNothingAndEndNobody) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{16, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string trouble = write_whole(path(), recording_.text());
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(trouble, "File too large");
    EXPECT_EQ(files(), 0U);
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST_F(RecordingFiles, LeaveWhatAnotherProcessHasBegunAlone) {
    const std::string others = path() + "." + std::to_string(getppid());
    std::ofstream(others) << "half";
    EXPECT_EQ(write_whole(path(), recording_.text()), "");
    EXPECT_EQ(fs::file_size(others), 4U);
    EXPECT_EQ(files(), 2U);
}

TEST_F(RecordingFiles, OnAFullDiskLeaveNothing) {
    fs::create_symlink("/dev/full", path() + "." + std::to_string(getpid()));
    EXPECT_EQ(write_whole(path(), recording_.text()), "No space left on device");
    EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace headway::glue::test
