// SPDX-License-Identifier: Apache-2.0
// The cgroup of a process, as folders that stand for the kernel's say it.
#include "jobs/process_cgroup.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file_descriptor.hpp"

namespace headway::test {
namespace {

class ProcessCgroup : public testing::Test {
protected:
    ProcessCgroup() {
        std::string name = std::filesystem::temp_directory_path() / "cgroup-XXXXXX";
        folder_ = mkdtemp(name.data());
        folders_ = {folder_ / "proc", folder_ / "cgroup", false};
        std::filesystem::create_directories(folder_ / "cgroup/jobs/one");
        self_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    }
    ~ProcessCgroup() override { std::filesystem::remove_all(folder_); }

    void says(const std::string& text, pid_t pid = 7) {
        const auto place = folder_ / "proc" / std::to_string(pid);
        std::filesystem::create_directories(place);
        std::ofstream(place / "cgroup") << text;
    }
    [[nodiscard]] std::uint64_t inode(const std::string& path) const {
        struct stat found {};
        EXPECT_EQ(stat((folder_ / path).c_str(), &found), 0);
        return found.st_ino;
    }
    [[nodiscard]] Result<std::uint64_t> look() const { return cgroup_of(7, self_.get(), folders_); }

    std::filesystem::path folder_;
    CgroupFolders folders_;
    FileDescriptor self_;
};

TEST_F(ProcessCgroup, IsTheInodeOfItsFolder) {
    says("0::/jobs/one\n");
    EXPECT_EQ(look().value(), inode("cgroup/jobs/one"));
    says("0::/\n");
    EXPECT_EQ(look().value(), inode("cgroup"));
}

TEST_F(ProcessCgroup, IsOfVersion2BesideOthers) {
    std::filesystem::create_directories(folder_ / "cgroup/unified/only/there");
    says("5:cpu,cpuacct:/jobs\n1:name=systemd:/x\n0::/only/there\n");
    EXPECT_EQ(look().value(), inode("cgroup/unified/only/there"));
    says("5:cpu,cpuacct:/jobs/one\n");
    EXPECT_FALSE(look()) << "there is no version 2";
}

TEST_F(ProcessCgroup, MustBeSeenFromHere) {
    for (const char* text : {"0::/../jobs/one\n", "0::/..\n", "0::/jobs/one (deleted)\n", "0::/jobs/two\n",
                             "", "garbage\n"}) {
        says(text);
        const auto found = look();
        ASSERT_FALSE(found) << text;
        EXPECT_FALSE(found.error().message.empty());
    }
    EXPECT_FALSE(cgroup_of(8, self_.get(), folders_)) << "no such process";
    says("0::/jobs/one\n");
    folders_.must_be_cgroup2 = true;
    EXPECT_FALSE(look()) << "not the kernel's folders";
}

// Its number may be another's by now.
TEST_F(ProcessCgroup, OfAProcessThatHasEndedIsNotBelieved) {
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    says("0::/jobs/one\n", child);
    EXPECT_TRUE(cgroup_of(child, process.get(), folders_));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(cgroup_of(child, process.get(), folders_));
    EXPECT_FALSE(cgroup_of(child, -1, folders_)) << "nobody watches it";
}

}  // namespace
}  // namespace headway::test
