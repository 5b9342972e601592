// SPDX-License-Identifier: Apache-2.0
// Real sockets and a real event loop over the fake kernel.  The loop runs in
// steps of the test, so that nothing depends on time.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "daemon/control_server.hpp"
#include "daemon/control_socket.hpp"
#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "loop_until.hpp"
#include "protocol/control_client.hpp"
#include "raw_client.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using namespace std::chrono_literals;

class SocketDir : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/headway-sock-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        path_ = dir_ / "run/control.sock";
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }

    /// A client that does not wait: the server answers in run_loop().
    FileDescriptor connect_raw() const { return connect_to(path_); }

    std::filesystem::path dir_;
    std::filesystem::path path_;
};

using ControlSocketTest = SocketDir;

TEST_F(ControlSocketTest, MakesItsFolderAndCleansUp) {
    {
        const auto socket = ControlSocket::bind(path_, std::nullopt);
        ASSERT_TRUE(socket) << socket.error().message;
        struct stat found {};
        ASSERT_EQ(lstat(path_.c_str(), &found), 0);
        EXPECT_TRUE(S_ISSOCK(found.st_mode));
        EXPECT_EQ(found.st_mode & 0777U, 0666U);
    }
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ControlSocketTest, ASecondDaemonIsRefused) {
    const auto first = ControlSocket::bind(path_, std::nullopt);
    ASSERT_TRUE(first);
    const auto second = ControlSocket::bind(path_, std::nullopt);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another headwayd runs already"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "the first one's socket is gone";
}

TEST_F(ControlSocketTest, ReplacesADeadDaemonsSocket) {
    std::filesystem::create_directory(path_.parent_path());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    {
        const FileDescriptor dead(socket(AF_UNIX, SOCK_SEQPACKET, 0));
        ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
                  0);
    }
    EXPECT_TRUE(ControlSocket::bind(path_, std::nullopt));
}

// The socket is another program's, which holds no lock of ours, but listens.
TEST_F(ControlSocketTest, LeavesALivingSocketAlone) {
    std::filesystem::create_directory(path_.parent_path());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    for (const int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
        const FileDescriptor living(socket(AF_UNIX, type, 0));
        ASSERT_EQ(bind(living.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
                  0);
        ASSERT_EQ(listen(living.get(), 1), 0);
        const auto socket = ControlSocket::bind(path_, std::nullopt);
        ASSERT_FALSE(socket);
        EXPECT_NE(socket.error().message.find("belongs to another program"), std::string::npos);
        EXPECT_TRUE(std::filesystem::exists(path_));
        std::filesystem::remove(path_);
    }
}

TEST_F(ControlSocketTest, LeavesOtherThingsAlone) {
    std::filesystem::create_directory(path_.parent_path());
    std::ofstream(path_) << "precious";
    const auto socket = ControlSocket::bind(path_, std::nullopt);
    ASSERT_FALSE(socket);
    EXPECT_NE(socket.error().message.find("is no socket"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(ControlSocketTest, UnknownGroup) {
    const auto socket = ControlSocket::bind(path_, "no-such-group");
    ASSERT_FALSE(socket);
    EXPECT_NE(socket.error().message.find("no-such-group"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path_)) << "half-made socket";
}

TEST_F(ControlSocketTest, NobodyConnectsBeforeListening) {
    const auto socket = ControlSocket::bind(path_, std::nullopt);
    const auto client = ControlClient::connect(path_);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().error_number, ECONNREFUSED);
}

class ControlServerTest : public SocketDir {
protected:
    void SetUp() override {
        SocketDir::SetUp();
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        Config config;
        config.node.name = "a0";
        config.topology = demo_topology();
        auto planner = NodePlanner::make(std::move(config), "");
        ASSERT_TRUE(control_->apply(planner->layout().set_up, ApplyMode::in_order));
        service_.emplace(planner_.emplace(std::move(*planner)), BytesPerSecond{20 * mbit / 8}, *control_, clock_);

        socket_.emplace(*ControlSocket::bind(path_, std::nullopt));
        ASSERT_TRUE(socket_->listen());
        server_ =
            std::make_unique<ControlServer>(loop_, socket_->fd(), *service_, hand_over_, log_);
        ASSERT_TRUE(loop_.check());
    }
    void TearDown() override {
        server_.reset();
        SocketDir::TearDown();
    }

    /// Until nothing is left to do.
    void run_loop() {
        while (sd_event_run(loop_.get(), 0) > 0) {
        }
    }

    Json ask(const FileDescriptor& client, const std::string& datagram) {
        tell(client, datagram);
        run_loop();
        return Json::parse(fetch(client), nullptr, false);
    }
    FakeClass& remote() { return kernel_.device("eth0").root.classes.at(0x10011); }

    static constexpr const char* enter =
        R"({"v":1,"id":1,"op":"enter","operation":"alltoall","job_hosts":["a[0-3]","b[0-3]"],)"
        R"("comm_hosts":["a[0-3]","b[0-3]"]})";

    FakeKernel kernel_;
    FakeClock clock_;
    std::ostringstream logged_;
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::ostream_sink_st>(logged_)};
    std::optional<NetlinkTrafficControl> control_;
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
    EventLoop loop_;
    std::optional<ControlSocket> socket_;
    HandOver hand_over_{nullptr, log_};
    std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, AnswersAndSetsRates) {
    const FileDescriptor client = connect_raw();
    EXPECT_EQ(ask(client, enter)["ok"], true);
    EXPECT_EQ(remote().rate, ClassRate(BytesPerSecond{773'437}));
}

TEST_F(ControlServerTest, ADeadClientsRatesGo) {
    {
        const FileDescriptor client = connect_raw();
        EXPECT_EQ(ask(client, enter)["ok"], true);
    }
    run_loop();
    EXPECT_EQ(remote(), FakeClass{});
    EXPECT_EQ(service_->clients(), 0U);
}

TEST_F(ControlServerTest, KnowsThePeerFromTheKernel) {
    const FileDescriptor client = connect_raw();
    const Json status = ask(client, R"({"v":1,"id":1,"op":"status"})");
    EXPECT_EQ(status["clients"][0]["pid"], getpid());
    EXPECT_EQ(status["clients"][0]["uid"], getuid());
}

TEST_F(ControlServerTest, ATooLongRequestIsRefusedAndTheClientStays) {
    const FileDescriptor client = connect_raw();
    const Json answer = ask(client, std::string(datagram_max_bytes + 1, ' '));
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(ask(client, enter)["ok"], true);
}

// A client that never fetches its answers is cut off once its socket is full;
// others are served meanwhile and after.
TEST_F(ControlServerTest, ASlowClientHurtsNobody) {
    const FileDescriptor slow = connect_raw();
    const FileDescriptor good = connect_raw();
    EXPECT_EQ(ask(slow, enter)["ok"], true);
    for (int i = 0; i < 10'000 && service_->clients() == 2; ++i) {
        const std::string status = R"({"v":1,"id":1,"op":"status"})";
        if (send(slow.get(), status.data(), status.size(), MSG_NOSIGNAL) < 0) break;
        run_loop();
    }
    EXPECT_EQ(service_->clients(), 1U);
    EXPECT_EQ(remote(), FakeClass{}) << "its collective was undone";
    EXPECT_EQ(ask(good, enter)["ok"], true);
}

// Many requests at once: each turn of the loop serves one of each client.
TEST_F(ControlServerTest, ABusyClientDelaysOthersByOneRequest) {
    const FileDescriptor busy = connect_raw();
    const FileDescriptor good = connect_raw();
    run_loop();
    int queued = 0;
    const std::string request = R"({"v":1,"id":1,"op":"leave"})";
    while (queued < 100 &&
           send(busy.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0) {
        ++queued;
    }
    ASSERT_GE(queued, 5) << "no queue to speak of";
    tell(good, enter);
    std::string answer;
    int turns = 0;
    for (; turns < queued && answer.empty(); ++turns) {
        sd_event_run(loop_.get(), 0);
        answer = fetch(good);
    }
    EXPECT_FALSE(answer.empty());
    EXPECT_LE(turns, 4);
    run_loop();
}

// However few descriptors there are, one user does not take them all, nor fill the log.
TEST_F(ControlServerTest, OneUsersClientsLeaveDescriptorsForOthers) {
    if (geteuid() != 0) GTEST_SKIP() << "is of two users";
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    rlimit few = files;
    few.rlim_cur = descriptors_for(administrators_clients + 2 * 10);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    server_.reset();
    server_ = std::make_unique<ControlServer>(loop_, socket_->fd(), *service_, hand_over_, log_);
    std::filesystem::permissions(dir_, std::filesystem::perms::all);
    ASSERT_EQ(seteuid(1000), 0);
    std::vector<FileDescriptor> clients;
    for (int i = 0; i < 13; ++i) {
        clients.push_back(connect_raw());
        run_loop();
    }
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_EQ(service_->clients(), 10U);
    EXPECT_NE(fetch(clients.back()).find("user 1000 has 10 clients"), std::string::npos);
    const std::string logged = logged_.str();
    EXPECT_NE(logged.find("HW-304"), std::string::npos);
    EXPECT_EQ(logged.find("HW-304"), logged.rfind("HW-304")) << "once for all three: " << logged;
    EXPECT_EQ(ask(connect_raw(), enter)["ok"], true) << "root's";
    clients.erase(clients.begin());
    run_loop();
    EXPECT_EQ(service_->clients(), 9U);
    setrlimit(RLIMIT_NOFILE, &files);
}

// The server divides what is left once for all of them, not for each.
TEST_F(ControlServerTest, ManyEndsAtOnceAreOneDivision) {
    // by a clock that stands still, all of them are few enough for one turn
    const FakeClock still;
    server_.reset();
    server_ = std::make_unique<ControlServer>(loop_, socket_->fd(), *service_, hand_over_, log_, still);
    const auto ask_as = [&](const FileDescriptor& client, const std::string& job, const char* op) {
        ask(client, fmt::format(R"({{"v":1,"id":1,"op":"hello","job":"{}"}})", job));
        return ask(client, fmt::format(R"({{"v":1,"id":1,"op":"{}","operation":"alltoall",)"
                                       R"("job_hosts":["a[0-3]","b[0-3]"],"comm_hosts":["a[0-3]","b[0-3]"]}})", op));
    };
    const FileDescriptor lasting = connect_raw();
    ASSERT_EQ(ask_as(lasting, "lasting", "enter")["ok"], true);
    const auto alone = remote().rate;
    std::vector<FileDescriptor> others;
    for (int i = 0; i < 20; ++i) {
        others.push_back(connect_raw());
        ASSERT_EQ(ask_as(others.back(), std::to_string(i), "prepare")["ok"], true);
    }
    EXPECT_EQ(remote().rate->value, alone->value / 21);
    const auto before = kernel_.requests();
    others.clear();
    run_loop();
    EXPECT_EQ(remote().rate, alone);
    EXPECT_LE(kernel_.requests() - before, 4U) << "the lasting job's new rate, and the end of its old one";
    server_.reset();  // before its clock
}

// Whoever asks meanwhile waits for a few of them, and not for all.
TEST_F(ControlServerTest, ManyEndsAtOnceAreUndoneSomeAtATime) {
    const FileDescriptor asking = connect_raw();
    std::vector<FileDescriptor> others;
    for (int i = 0; i < 200; ++i) {
        others.push_back(connect_raw());
        run_loop();
    }
    others.clear();
    tell(asking, enter);
    std::string answer;
    while (answer.empty()) {
        ASSERT_GT(sd_event_run(loop_.get(), 0), 0) << "an answer";
        answer = fetch(asking);
    }
    EXPECT_GE(service_->clients(), 100U) << "most of them are still to be undone";
    run_loop();
    EXPECT_EQ(service_->clients(), 1U);
}

TEST(RefusalLog, TellsAUserOnceAMinute) {
    RefusalLog log;
    EXPECT_EQ(log.tell(1, 0min), std::optional<std::size_t>(0));
    EXPECT_EQ(log.tell(1, 0min), std::nullopt);
    EXPECT_EQ(log.tell(2, 0min), std::optional<std::size_t>(0)) << "another user's";
    EXPECT_EQ(log.tell(1, 59s), std::nullopt);
    EXPECT_EQ(log.tell(1, 60s), std::optional<std::size_t>(2));
    EXPECT_EQ(log.tell(1, 61s), std::nullopt);
}

// Out of descriptors, a waiting client must not make the loop spin, and is
// served once there is room again.
TEST_F(ControlServerTest, PausesAcceptingWithoutDescriptors) {
    const FileDescriptor first = connect_raw();
    EXPECT_EQ(ask(first, enter)["ok"], true);
    const FileDescriptor waiting = connect_raw();
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    rlimit none = files;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    constexpr int many = 10'000;
    int turns = 0;
    while (turns < many && sd_event_run(loop_.get(), 0) > 0) ++turns;
    setrlimit(RLIMIT_NOFILE, &files);
    EXPECT_LT(turns, many) << "the loop finds nothing to do";
    EXPECT_NE(logged_.str().find("Too many open files; pausing"), std::string::npos)
        << logged_.str();
    tell(waiting, enter);
    loop_until(loop_, [&] { return service_->clients() == 2; });  // the pause ends
    run_loop();
    EXPECT_NE(fetch(waiting).find(R"("ok":true)"), std::string::npos);
}

TEST_F(ControlServerTest, TellsOnceWhatItCannotUndoAndRetries) {
    const FileDescriptor client = connect_raw();
    EXPECT_EQ(ask(client, enter)["ok"], true);
    kernel_.refuse = [](const nlmsghdr&) { return FakeKernel::Refusal{ENOMEM, "no memory"}; };
    EXPECT_EQ(ask(client, R"({"v":1,"id":1,"op":"leave"})")["ok"], true);
    EXPECT_NE(logged_.str().find("no memory"), std::string::npos);
    const auto once = logged_.str().size();
    for (int i = 0; i < 3; ++i) {
        clock_.advance(1min);
        service_->pacer().retry();
        ask(client, R"({"v":1,"id":1,"op":"status"})");
    }
    EXPECT_EQ(logged_.str().size(), once) << "told again: " << logged_.str();

    kernel_.refuse = nullptr;
    clock_.advance(1min);
    service_->pacer().retry();
    ask(client, R"({"v":1,"id":1,"op":"status"})");
    EXPECT_NE(logged_.str().find("holds the wanted rates again"), std::string::npos);
    EXPECT_EQ(remote(), FakeClass{});
}

TEST_F(ControlServerTest, AJoinBringsTheJobsMemory) {
    FakePhaseMaps maps(2);
    service_->use_phases(maps, {17, 17});
    const FileDescriptor client = connect_raw();
    tell(client, R"({"v":1,"id":1,"op":"join","job":"12.0"})");
    run_loop();
    FileDescriptor memory;
    fetch(client, &memory);
    ASSERT_TRUE(memory);
    auto* slots = static_cast<headway_phase_slots*>(mmap(
        nullptr, sizeof(headway_phase_slots), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
    ASSERT_NE(slots, MAP_FAILED);
    slots->phase[0] = 5;
    EXPECT_EQ(phase_in_slot(maps, {0, 0}), 5U);
    EXPECT_EQ(slots->generation, maps.slots(0).generation);
    munmap(slots, sizeof(headway_phase_slots));
    tell(client, R"({"v":1,"id":1,"op":"status"})");
    run_loop();
    FileDescriptor none;
    EXPECT_FALSE(fetch(client, &none).empty());
    EXPECT_FALSE(none) << "nothing else brings a descriptor";
    server_.reset();
    service_.reset();
}

// The connection is held by a child; what counts is the process that made it.
TEST_F(ControlServerTest, AProcessThatEndsIsGoneThoughItsChildHoldsTheSocket) {
    std::array<int, 2> hold{};
    ASSERT_EQ(pipe(hold.data()), 0);
    const pid_t parent = fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
        const FileDescriptor socket = connect_raw();
        (void)send(socket.get(), enter, std::strlen(enter), 0);
        close(hold[1]);
        fork();
        char byte = 0;
        (void)!read(hold[0], &byte, 1);  // both, until the test is over
        _exit(0);
    }
    loop_until(loop_, [&] { return service_->pacer().active() == 1; });
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    loop_until(loop_, [&] { return service_->clients() == 0; });
    EXPECT_EQ(service_->pacer().active(), 0U);
    close(hold[1]);
    close(hold[0]);
}

TEST_F(ControlServerTest, StoppingUndoesWhatClientsEntered) {
    const FileDescriptor client = connect_raw();
    EXPECT_EQ(ask(client, enter)["ok"], true);
    server_.reset();
    EXPECT_EQ(remote(), FakeClass{});
}

}  // namespace
}  // namespace headway::test
