// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "daemon/kernel_setup.hpp"
#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

class KernelSetUp : public testing::Test {
protected:
    KernelSetUp() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
    }

    Result<SetUpReport> set_up(std::uint64_t host_mbit = 20) {
        return set_up_kernel(*control_, layout_, {host_mbit * mbit});
    }
    FakeDevice& device() { return kernel_.device("eth0"); }

    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> control_;
    KernelLayout layout_ = make_kernel_layout(demo_topology(), 0);
};

TEST_F(KernelSetUp, AndDown) {
    const auto report = set_up();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->is_adopted);
    EXPECT_EQ(report->link_rate.bits().value, 20 * mbit);
    EXPECT_EQ(device().root.classes.size(), 2U);
    EXPECT_EQ(device().root.filters.size(), 2U);
    ASSERT_TRUE(tear_down_kernel(*control_, layout_));
    EXPECT_TRUE(device().has_default());
    EXPECT_TRUE(tear_down_kernel(*control_, layout_)) << "nothing left is no error";
}

TEST_F(KernelSetUp, TakesAnInterfaceThatReportsNoSpeedForWhatTheFileSays) {
    device().has_speed = false;
    const auto report = set_up(30);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->has_speed);
    EXPECT_EQ(report->link_rate.bits().value, 30 * mbit);
    EXPECT_EQ(device().root.classes.size(), 2U);
}

/// Rows of the table of limits.rst that says what paces: backend, module, BPF qdiscs, TX queues, link, buffers, paces.
std::vector<std::vector<std::string>> rows_of_limits() {
    std::ifstream page(HEADWAY_SOURCE_DIR "/Documentation/limits.rst");
    std::vector<std::vector<std::string>> rows;
    bool is_table = false;
    for (std::string line; std::getline(page, line);) {
        if (line.find("TX queues") != std::string::npos && line.find("paces") != std::string::npos) is_table = true;
        if (!is_table || line.starts_with("=")) continue;
        if (line.empty()) break;
        std::istringstream words(line);
        rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
    }
    if (!rows.empty()) rows.erase(rows.begin());
    return rows;
}

TEST(WhatPaces, IsAsTheTableOfLimitsSays) {
    const std::map<std::string, PacingQdisc> names{
        {"auto", PacingQdisc::automatic}, {"gap", PacingQdisc::gap}, {"bpf", PacingQdisc::bpf}, {"fq", PacingQdisc::fq}};
    const auto rows = rows_of_limits();
    const auto paces = [&](const std::vector<std::string>& node) -> std::string {
        const BitsPerSecond link{(node[4] == "above" ? 25'000 : 10'000) * mbit};
        for (const PacingQdisc one : qdiscs_for(names.at(node[0]), {node[3] == "one" ? 1U : 4U, link, node[5] == "known"})) {
            if (one == PacingQdisc::fq) return "fq";
            if (one == PacingQdisc::gap && node[1] == "loaded") return "gap";
            if (one == PacingQdisc::bpf && node[2] == "taken") return "bpf";
        }
        return "nothing";
    };
    for (const char* backend : {"auto", "gap", "bpf", "fq"}) {
        for (unsigned i = 0; i < 32; ++i) {
            const std::vector<std::string> node{backend, (i & 1) != 0 ? "loaded" : "missing",
                                                (i & 16) != 0 ? "taken" : "refused", (i & 2) != 0 ? "one" : "several", (i & 4) != 0 ? "above" : "to-10G",
                                                (i & 8) != 0 ? "known" : "unknown"};
            const auto tells_of = [&](const std::vector<std::string>& row) {
                return row.size() == 7 && std::equal(node.begin(), node.end(), row.begin(), [](auto& one, auto& told) {
                           return told == "any" || told == one;
                       });
            };
            const std::string what = fmt::format("{}", fmt::join(node, " "));
            ASSERT_EQ(std::ranges::count_if(rows, tells_of), 1) << what;
            EXPECT_EQ(std::ranges::find_if(rows, tells_of)->back(), paces(node)) << what;
        }
    }
}

TEST_F(KernelSetUp, TakesAnEarlierRunOver) {
    FakeClass paced;
    paced.rate = BytesPerSecond{1'000'000};
    device().root = {"gap", root_handle.value, {{0x10011, paced}, {0x1ffff, FakeClass{}}}, {}};
    const auto report = set_up();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->is_adopted);
    EXPECT_EQ(report->found.size(), 2U);
    EXPECT_FALSE(device().root.classes.contains(0x1ffff));
    EXPECT_EQ(device().root.classes.at(0x10011), paced) << "its rate stays";
    EXPECT_EQ(device().root.classes.at(0x10010), FakeClass{});
    EXPECT_EQ(device().root.filters.size(), 2U);
}

TEST_F(KernelSetUp, LeavesSomebodyElsesQdiscAlone) {
    for (const FakeQdisc& foreign : {FakeQdisc{"htb", 0x10000, {}, {}},
                                     FakeQdisc{"fq_codel", 0x80010000, {}, {}},
                                     FakeQdisc{"gap", 0x70000, {}, {}}}) {
        device().root = foreign;
        const auto report = set_up();
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().error_number, EEXIST);
        EXPECT_NE(report.error().message.find(foreign.kind), std::string::npos);
        EXPECT_EQ(device().root, foreign);
        // Nor is it removed at the end.
        EXPECT_TRUE(tear_down_kernel(*control_, layout_));
        EXPECT_EQ(device().root, foreign);
    }
}

TEST_F(KernelSetUp, SaysThatTheModuleIsMissing) {
    kernel_.gap_module = false;
    const auto report = set_up();
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("sch_gap"), std::string::npos);
    EXPECT_TRUE(device().has_default());
}

TEST_F(KernelSetUp, SaysWhatToDoAboutARefusal) {
    const std::vector<std::pair<FakeKernel::Refusal, std::string>> refusals{
        {{EPERM, ""}, "CAP_NET_ADMIN"},
        {{EINVAL, "Unknown attribute type"}, "rmmod sch_gap, modprobe sch_gap"}};
    for (const auto& [refusal, advice] : refusals) {
        kernel_.refuse = [&answer = refusal](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            if (request.nlmsg_type != RTM_NEWQDISC) return std::nullopt;
            return answer;
        };
        const auto report = set_up();
        ASSERT_FALSE(report);
        EXPECT_NE(report.error().message.find(advice), std::string::npos) << report.error().message;
        EXPECT_TRUE(device().has_default());
    }
}

// Whatever step the kernel refuses, the interface ends as it began.
TEST_F(KernelSetUp, UndoesABeginning) {
    for (std::size_t refused = 0; refused < layout_.set_up.size(); ++refused) {
        std::size_t step = 0;
        kernel_.refuse = [&](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
            if (request.nlmsg_type == RTM_DELQDISC || step++ != refused) return std::nullopt;
            return FakeKernel::Refusal{ENOMEM, "no memory for a test"};
        };
        const auto report = set_up();
        ASSERT_FALSE(report) << refused;
        EXPECT_NE(report.error().message.find("no memory for a test"), std::string::npos);
        EXPECT_NE(report.error().message.find(change_to_text(layout_.set_up[refused])),
                  std::string::npos);
        EXPECT_TRUE(device().has_default()) << refused;
    }
}

TEST_F(KernelSetUp, UndoesItAlsoWhenAnAnswerGetsLost) {
    kernel_.lost_acknowledgements = 1;  // of adding the qdisc, which is then there
    EXPECT_FALSE(set_up());
    EXPECT_TRUE(device().has_default());
}

TEST_F(KernelSetUp, TellsWhenUndoingFailsToo) {
    kernel_.refuse = [&](const nlmsghdr& request) -> std::optional<FakeKernel::Refusal> {
        if (request.nlmsg_type == RTM_DELQDISC) return FakeKernel::Refusal{EPERM, "second"};
        if (request.nlmsg_type == RTM_NEWTFILTER) return FakeKernel::Refusal{ENOMEM, "first"};
        return std::nullopt;
    };
    const auto report = set_up();
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("first"), std::string::npos);
    EXPECT_NE(report.error().message.find("second"), std::string::npos);
}

TEST_F(KernelSetUp, RefusesALinkSlowerThanPlannedFor) {
    const auto report = set_up(21);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("host_rate is 21 Mbit/s"), std::string::npos);
    EXPECT_TRUE(device().has_default());
    EXPECT_TRUE(set_up(19)) << "a faster link is no harm";
}

}  // namespace
}  // namespace headway::test
