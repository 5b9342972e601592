// SPDX-License-Identifier: Apache-2.0
// A socket for the kernel's news that breaks.
#include "daemon/kernel_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "control_service_fixture.hpp"
#include "loop_until.hpp"

namespace headway::test {
namespace {

class KernelWatchTest : public ControlServiceTest {
protected:
    std::size_t complaints() const {
        std::size_t count = 0;
        const std::string text = said_.str();
        for (auto at = text.find("HW-205"); at != text.npos; at = text.find("HW-205", at + 1)) ++count;
        return count;
    }

    EventLoop loop_;
    std::ostringstream said_;
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::ostream_sink_mt>(said_)};
};

TEST_F(KernelWatchTest, ABrokenSocketIsReplacedAndEverythingLookedAt) {
    auto monitor = KernelMonitor::open(1);
    ASSERT_TRUE(monitor);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    close(ends[1]);
    // at its end a pipe is readable, and it is no socket
    ASSERT_EQ(dup2(ends[0], monitor->fd()), monitor->fd());
    close(ends[0]);
    Reconciler reconciler(*control_, clock_, *service_);
    int looks = 0;
    KernelWatch watch(loop_, std::move(*monitor), *control_, *service_, reconciler, log_, [&] { ++looks; });
    loop_until(loop_, [&] { return looks > 0; });
    for (int turn = 0; turn < 20; ++turn) ASSERT_GE(sd_event_run(loop_.get(), 0), 0);
    EXPECT_EQ(complaints(), 1U) << said_.str();
    EXPECT_EQ(looks, 1) << "it is quiet from then on";
}

}  // namespace
}  // namespace headway::test
