// SPDX-License-Identifier: Apache-2.0
// headway-etcd as a child, with stand-ins for it in Python.
#include "daemon/etcd_process.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "loop_until.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* head =
    "import os, socket\n"
    "link = socket.socket(fileno=0)\n"
    "def tell(text): link.send(b'{\"is\":\"condition\",\"watched\":true,\"text\":\"%s\"}' % text)\n";

class EtcdProcessTest : public testing::Test {
protected:
    void start(const std::string& program) {
        process_.emplace(
            loop_, std::vector<std::string>{"/usr/bin/python3", "-c", head + program},
            hosts_,
            EtcdProcess::Handler{[this](const StoreReport& report) -> Result<void> {
                 texts_.push_back(std::get<StoreCondition>(report).text);
                 if (texts_.back() == "refused") return failure("a test");
                 return {};
             },
             [this] { ++gone_; }},
            log_);
        const auto started = process_->start();
        ASSERT_TRUE(started) << started.error().message;
    }

    template <class Holds>
    void run_until(Holds holds) {
        loop_until(loop_, holds);
    }

    EventLoop loop_;
    HostNumbers hosts_{std::vector<std::string>{}};
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
    std::vector<std::string> texts_;
    int gone_ = 0;
    std::optional<EtcdProcess> process_;
};

TEST_F(EtcdProcessTest, HearsAndIsHeard) {
    start("tell(b'hello')\n"
          "tell(b'settle' if b'\"settle\"' in link.recv(1000) else b'?')\n"
          "link.recv(1000)\n");
    run_until([&] { return texts_.size() == 1; });
    process_->send(to_packet(Action{1, PutSettled{7}}));
    run_until([&] { return texts_.size() == 2; });
    EXPECT_EQ(texts_, (std::vector<std::string>{"hello", "settle"}));
    EXPECT_EQ(gone_, 0);
}

TEST_F(EtcdProcessTest, OneThatEndsIsStartedAgain) {
    start("tell(b'%d' % os.getpid())\n");
    run_until([&] { return texts_.size() == 2; });
    EXPECT_NE(texts_[0], texts_[1]);
    EXPECT_GE(gone_, 1);
}

TEST_F(EtcdProcessTest, NonsenseEndsIt) {
    start("link.send(b'nonsense')\nlink.recv(1000)\n");
    run_until([&] { return gone_ == 1; });
}

TEST_F(EtcdProcessTest, APacketThatIsTooLongEndsIt) {
    start("link.send(b' ' * (128 * 1024 + 1))\nlink.recv(1000)\n");
    run_until([&] { return gone_ == 1; });
}

TEST_F(EtcdProcessTest, ReportThatIsOutOfPlaceEndsIt) {
    start("tell(b'refused')\nlink.recv(1000)\n");
    run_until([&] { return gone_ == 1; });
}

TEST_F(EtcdProcessTest, OneThatDoesNotReadIsEnded) {
    start("tell(b'hello')\nos.kill(os.getpid(), 19)\n");
    run_until([&] { return texts_.size() == 1; });
    for (int i = 0; i < 10'000; ++i) process_->send(to_packet(Action{1, PutSettled{7}}));
    run_until([&] { return gone_ == 1; });
}

TEST_F(EtcdProcessTest, FinishLetsItDoWhatItWasAsked) {
    // The other end of a pipe is told how it ended.
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    start(fmt::format("tell(b'hello')\nwhile link.recv(1000): tell(b'done')\nos.write({}, b'by itself')\n", ends[1]));
    run_until([&] { return texts_.size() == 1; });
    process_->send(to_packet(Action{1, PutSettled{7}}));
    process_->finish(hang_limit);
    close(ends[1]);
    std::array<char, 20> how{};
    EXPECT_EQ(read(ends[0], how.data(), how.size()), 9);
    EXPECT_STREQ(how.data(), "by itself");
    close(ends[0]);
    EXPECT_EQ(gone_, 0);
}

TEST_F(EtcdProcessTest, FinishDoesNotWaitForEver) {
    start("tell(b'%d' % os.getpid())\nos.kill(os.getpid(), 19)\n");
    run_until([&] { return texts_.size() == 1; });
    process_->finish(10ms);
    EXPECT_EQ(kill(std::stoi(texts_[0]), 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST_F(EtcdProcessTest, HasNoNewPrivileges) {
    start("tell(open('/proc/self/status').read().split('NoNewPrivs:')[1].split()[0].encode())\n"
          "link.recv(1)\n");
    run_until([&] { return !texts_.empty(); });
    EXPECT_EQ(texts_, std::vector<std::string>{"1"});
}

// The end of a process is not told to its parent while another that traces it has not looked:
// to the parent it is one that the kernel holds up.
TEST_F(EtcdProcessTest, OneThatDoesNotEndIsLeftBehind) {
    const std::string fifo = testing::TempDir() + "/etcd-process-test." + std::to_string(getpid());
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    start("import ctypes, signal\n"
          "libc = ctypes.CDLL(None)\n"
          "libc.prctl(0x59616d61, -1)\n"  // PR_SET_PTRACER
          "told, tells = os.pipe()\n"
          "if os.fork() == 0:\n"
          "    seized = libc.ptrace(0x4206, os.getppid(), 0, 0)\n"  // PTRACE_SEIZE
          "    os.write(tells, b'traced' if seized == 0 else b'?')\n"
          "    open('" + fifo + "').read()\n"
          "    os._exit(0)\n"
          "tell(os.read(told, 10))\n"
          "signal.pause()\n");
    run_until([&] { return !texts_.empty(); });
    EXPECT_EQ(texts_, std::vector<std::string>{"traced"});
    process_.reset();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), 0) << "it is there";
    close(open(fifo.c_str(), O_WRONLY));
    EXPECT_GT(waitpid(-1, nullptr, 0), 0);
    unlink(fifo.c_str());
}

TEST_F(EtcdProcessTest, ProgramThatIsNotThereIsTriedAgain) {
    process_.emplace(
        loop_, std::vector<std::string>{"/nonexistent/headway-etcd"},
        hosts_,
        EtcdProcess::Handler{[](const StoreReport&) -> Result<void> { return {}; },
                             [this] { ++gone_; }},
        log_);
    ASSERT_TRUE(process_->start());
    run_until([&] { return gone_ == 2; });
}

}  // namespace
}  // namespace headway::test
