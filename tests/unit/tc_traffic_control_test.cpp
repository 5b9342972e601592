// SPDX-License-Identifier: Apache-2.0
// The tc side with a stand-in for tc: a script that keeps what it was given.
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "kernel/tc_batch.hpp"
#include "kernel/tc_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

const std::vector<Change> changes{
    AddRootQdisc{tc_handle(1, 0)},
    AddClass{tc_handle(1, 0x10), std::nullopt},
    AddClass{tc_handle(1, 0x11), std::nullopt},
};

TEST(TcLine, SpeaksOfPhases) {
    AddClass added{tc_handle(1, 0x1001), std::nullopt, tc_handle(1, 0x11)};
    added.table = {{7, BytesPerSecond{125'000}}};
    EXPECT_EQ(tc_line("eth0", added),
              "class add dev eth0 parent 1:11 classid 1:1001 gap rate unlimited phase 7 1mbit");
    EXPECT_EQ(tc_line("eth0", DeleteClass{tc_handle(1, 0x1001)}),
              "class del dev eth0 classid 1:1001");
    EXPECT_EQ(tc_line("eth0", ChangeClassTable{tc_handle(1, 0x1001), {{7, std::nullopt}}}),
              "class change dev eth0 classid 1:1001 gap phase 7 unlimited");
    EXPECT_EQ(tc_line("eth0", AddClassifier{10, {3, 3}, tc_handle(1, 0)}).front(), '#')
        << "tc has no words for a program without a file";
}

TEST(TcLine, SpeaksOfLeases) {
    const ClassLease lease{{125'000}, 2s};
    EXPECT_EQ(tc_line("eth0", AddClass{tc_handle(1, 2), std::nullopt, {}, lease}),
              "class add dev eth0 parent 1: classid 1:2 gap rate unlimited fallback 1mbit expires 2s");
    EXPECT_EQ(tc_line("eth0", RefreshClass{tc_handle(1, 2)}), "class change dev eth0 classid 1:2 gap");
    EXPECT_EQ(tc_line("eth0", ChangeClassLease{tc_handle(1, 2), lease}),
              "class change dev eth0 classid 1:2 gap fallback 1mbit expires 2s");
    EXPECT_EQ(tc_line("eth0", ChangeClassLease{tc_handle(1, 2), lease, true}),
              "class change dev eth0 classid 1:2 gap rate unlimited fallback 1mbit expires 2s");
}

class TcTrafficControlTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/headway-tc-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        kernel_.add_device("eth0", {20 * mbit});
        reader_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }

    /// A program that keeps its arguments, TC_LIB_DIR and input, then `ending`.
    TcTrafficControl with_tc(const std::string& ending,
                             std::chrono::milliseconds deadline = 5000ms) {
        std::ofstream(dir_ / "tc") << "#!/bin/sh\necho \"$@\" >" << dir_
                                   << "/arguments\necho \"$TC_LIB_DIR\" >" << dir_
                                   << "/lib_dir\ncat >" << dir_ << "/input\n"
                                   << ending << "\n";
        chmod((dir_ / "tc").c_str(), 0755);
        return {*reader_, {"eth0", "/opt/plugins", dir_ / "tc", deadline}};
    }

    std::string kept(const char* name) const {
        std::ostringstream text;
        text << std::ifstream(dir_ / name).rdbuf();
        return text.str();
    }

    std::filesystem::path dir_;
    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> reader_;
};

TEST_F(TcTrafficControlTest, PipesTheBatch) {
    auto control = with_tc("exit 0");
    ASSERT_TRUE(control.apply(changes, ApplyMode::in_order));
    EXPECT_EQ(kept("arguments"), "-batch -\n");
    EXPECT_EQ(kept("lib_dir"), "/opt/plugins\n");
    EXPECT_EQ(kept("input"),
              "qdisc add dev eth0 root handle 1: gap\n"
              "class add dev eth0 parent 1: classid 1:10 gap rate unlimited\n"
              "class add dev eth0 parent 1: classid 1:11 gap rate unlimited\n");
    EXPECT_EQ((*control.root_qdisc())->kind, "fq_codel") << "reading goes to the reader";
}

TEST_F(TcTrafficControlTest, KnowsHowFarTcGot) {
    auto control = with_tc("echo 'Error: The class is full.' >&2\n"
                           "echo 'We have an error talking to the kernel' >&2\n"
                           "echo 'Command failed -:3' >&2\nexit 1");
    const auto done = control.apply(changes, ApplyMode::together);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().applied, (std::vector<std::size_t>{0, 1}));
    EXPECT_NE(done.error().error.message.find("adding class 1:11: "), std::string::npos);
    EXPECT_NE(done.error().error.message.find("Error: The class is full.; We have an error"),
              std::string::npos);
}

TEST_F(TcTrafficControlTest, TakesNothingForDoneWithoutAWord) {
    for (const char* ending : {"exit 1", "kill -9 $$", "echo 'Command failed -:99' >&2; exit 2"}) {
        auto control = with_tc(ending);
        const auto done = control.apply(changes, ApplyMode::in_order);
        ASSERT_FALSE(done) << ending;
        EXPECT_TRUE(done.error().applied.empty()) << ending;
    }
}

TEST_F(TcTrafficControlTest, KillsATcThatHangs) {
    auto control = with_tc("exec tail -f /dev/null", 100ms);
    const auto done = control.apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error.error_number, ETIMEDOUT);
}

TEST_F(TcTrafficControlTest, NoTc) {
    TcTrafficControl control(*reader_, {"eth0", std::nullopt, dir_ / "missing", 1000ms});
    const auto done = control.apply(changes, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error.error_number, ENOENT);
}

TEST_F(TcTrafficControlTest, LargeInputAndOutputDoNotBlock) {
    auto control = with_tc("yes 'a line of complaint' | head -c 1000000; exit 3");
    std::vector<Change> many(20'000, changes[1]);
    const auto done = control.apply(many, ApplyMode::in_order);
    ASSERT_FALSE(done);
    EXPECT_LT(done.error().error.message.size(), 70'000U);
    EXPECT_GT(kept("input").size(), 1'000'000U) << "all of it arrived";
}

TEST(FailedTcLine, ReadsTcsWords) {
    EXPECT_EQ(failed_tc_line("x\nCommand failed -:12\n"), 12U);
    EXPECT_EQ(failed_tc_line("Command failed -:1\nCommand failed -:2\n"), 2U);
    EXPECT_FALSE(failed_tc_line("Command failed -:\n"));
    EXPECT_FALSE(failed_tc_line("Command failed -:0\n"));
    EXPECT_FALSE(failed_tc_line(""));
}

}  // namespace
}  // namespace headway::test
