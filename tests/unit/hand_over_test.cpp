// SPDX-License-Identifier: Apache-2.0
// The daemon's end and its next run: real sockets, processes and memory, with a
// fake of the kernel and of the service manager's store.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "daemon/control_server.hpp"
#include "daemon/handed_state.hpp"
#include "fake_clock.hpp"
#include "fake_fd_store.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "loop_until.hpp"
#include "raw_client.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

constexpr const char* join_text = R"({"v":1,"id":1,"op":"join","job":"12.0"})";
constexpr const char* everybody = R"("job_hosts":["a[0-3]","b[0-3]"],"comm_hosts":["a[0-3]","b[0-3]"])";

/// Its connection, its process, the array, the text, and what sockets have sent.
constexpr std::size_t one_joined_descriptors = 5;

/// A connection, and what it has mapped.
struct Client {
    FileDescriptor socket;
    FileDescriptor memory;
    headway_phase_slots* slots = nullptr;
    std::uint32_t slot = 0;

    Client() = default;
    Client(Client&& other) noexcept
        : socket(std::move(other.socket)),
          memory(std::move(other.memory)),
          slots(std::exchange(other.slots, nullptr)),
          slot(other.slot) {}
    ~Client() {
        if (slots != nullptr) munmap(slots, sizeof(*slots));
    }
    void store(std::uint32_t phase) const {
        __atomic_store_n(&slots->phase[slot], phase, __ATOMIC_RELEASE);
    }
};

/// Each process that a run looks up is in a cgroup of its own, as far as it hears.
std::uint64_t cgroups_read = 0;

/// One run of the daemon, as far as it serves clients.
class DaemonRun {
public:
    DaemonRun(Config config, TrafficControl& kernel, const std::filesystem::path& path, FakeFdStore& store,
        spdlog::logger& log)
        : hand_over(&store, log) {
        auto& planner = planner_.emplace(*NodePlanner::make(std::move(config), ""));
        service.emplace(planner, BytesPerSecond{20 * mbit / 8}, kernel, clock_);
        service->use_phases(maps, {17, 17});
        service->phases()->tell_apart_with([](const Peer&) { return ++cgroups_read; }, [](const Error&) {});
        service->adopt(*kernel.classes(), 16);
        leave_resting_packets(maps, true);  // as the daemon begins
        auto taken = hand_over.take_up(*service, store.received());
        is_complete = taken.is_complete;
        if (is_complete) service->earlier_run_is_back();
        socket_.emplace(ControlSocket::bind(path, std::nullopt).value());
        EXPECT_TRUE(socket_->listen());
        server = std::make_unique<ControlServer>(loop_, socket_->fd(), *service, hand_over, log);
        EXPECT_TRUE(server->take_back(std::move(taken.clients)));
    }
    /// As kill -9 does.
    ~DaemonRun() {
        server->keep_what_clients_hold();
        server.reset();
    }
    template <class Holds>
    void loop_until(Holds holds) {
        test::loop_until(loop_, holds);
    }
    void any_event() {
        const auto nothing = [](sd_event_source*, void*) { return 0; };
        sd_event_add_defer(loop_.get(), nullptr, nothing, nullptr);
        loop();
    }
    void loop() {
        while (sd_event_run(loop_.get(), 0) > 0) {
        }
    }

private:
    FakeClock clock_;
    EventLoop loop_;
    std::optional<ControlSocket> socket_;
    std::optional<NodePlanner> planner_;

public:
    FakePhaseMaps maps{2};
    HandOver hand_over;
    std::optional<ControlService> service;
    std::unique_ptr<ControlServer> server;
    bool is_complete = false;
};

class HandOverTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/headway-sock-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        config_.node.name = "a0";
        config_.topology = demo_topology();
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        const auto planner = NodePlanner::make(config_, "");
        const KernelLayout layout = with_phases(planner->layout(), {17, 17});
        ASSERT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        start();
        run_->service->release_adopted();  // nobody of a run before is left
    }
    void TearDown() override {
        run_.reset();
        std::filesystem::remove_all(dir_);
    }
    void start() { run_.emplace(config_, *control_, dir_ / "control.sock", store_, log_); }
    /// The end at any moment between two turns of the loop, and the next run.
    void restart() {
        run_.reset();
        start();
    }

    FileDescriptor connect_raw() const { return connect_to(dir_ / "control.sock"); }
    /// null if there is none.
    static Json fetch_json(const FileDescriptor& client, FileDescriptor* file = nullptr) {
        const std::string datagram = fetch(client, file);
        return datagram.empty() ? Json() : Json::parse(datagram, nullptr, false);
    }
    Json ask(const FileDescriptor& client, const std::string& datagram) {
        tell(client, datagram);
        run_->loop();
        return fetch_json(client);
    }
    static bool is_hung_up(const FileDescriptor& client) {
        char byte = 0;
        return recv(client.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
    }
    Client join(const std::string& text = join_text) {
        Client client;
        client.socket = connect_raw();
        tell(client.socket, text);
        run_->loop();
        const Json answer = fetch_json(client.socket, &client.memory);
        EXPECT_EQ(answer["ok"], true) << answer.dump();
        void* memory = mmap(nullptr, sizeof(headway_phase_slots), PROT_READ | PROT_WRITE, MAP_SHARED,
                            client.memory.get(), 0);
        EXPECT_NE(memory, MAP_FAILED);
        client.slots = static_cast<headway_phase_slots*>(memory);
        client.slot = answer["slot"];
        return client;
    }
    std::uint32_t phase(const Client& client) {
        const Json answer = ask(client.socket, std::string(R"({"v":1,"id":2,"op":"phase","operation":"alltoall",)") + everybody + "}");
        EXPECT_EQ(answer["paced"], true) << answer.dump();
        return answer["phase"];
    }
    std::uint32_t rate_phase(const Client& client, std::uint64_t bytes_per_s) {
        return ask(client.socket, fmt::format(R"({{"v":1,"id":2,"op":"rate","bytes_per_s":{}}})", bytes_per_s))["phase"];
    }
    using Choice = FakePhaseMaps::Choice;
    /// That the next packet to the other cluster is sent at.
    ClassRate rate_of_next() {
        const Choice choice = run_->maps.classify(1);
        return rate_in(kernel_.device("eth0").root, choice.minor, choice.entry);
    }

    const ClassRate planned_ = BytesPerSecond{773'437};
    std::filesystem::path dir_;
    Config config_;
    FakeKernel kernel_;
    std::optional<NetlinkTrafficControl> control_;
    FakeFdStore store_;
    std::ostringstream logged_;
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::ostream_sink_st>(logged_)};
    std::optional<DaemonRun> run_;
};

TEST_F(HandOverTest, AMappedSlotGoesOn) {
    const Client client = join();
    const std::uint32_t number = phase(client);
    client.store(number);
    const std::uint32_t generation = client.slots->generation;
    restart();
    EXPECT_TRUE(run_->is_complete);
    EXPECT_EQ(rate_of_next(), planned_) << "it is in the phase still";
    client.store(0);
    EXPECT_EQ(run_->maps.classify(1), (Choice{0x111, 0}));
    client.store(number);
    EXPECT_EQ(rate_of_next(), planned_);
    EXPECT_NE(client.slots->generation, generation) << "another run may plan otherwise";
    EXPECT_EQ(phase(client), number) << "on the same connection";
    EXPECT_EQ(run_->service->clients(), 1U);
    EXPECT_EQ(logged_.str().find("HW-"), std::string::npos) << logged_.str();
}

TEST_F(HandOverTest, AllProcessesKeepTheirSlots) {
    const Client first = join(), second = join(), other = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    const std::uint32_t loose = rate_phase(first, 1'000'000), strict = rate_phase(second, 100'000);
    const std::uint32_t others = rate_phase(other, 50'000);
    first.store(loose);
    second.store(strict);
    for (int i = 0; i < 3; ++i) {
        restart();
        EXPECT_EQ(rate_of_next(), ClassRate(BytesPerSecond{200'000}));
        other.store(others);
        EXPECT_EQ(rate_of_next(), ClassRate(BytesPerSecond{50'000}));
        other.store(0);
    }
    const Client third = join();
    EXPECT_EQ(third.slot, 2U);
    EXPECT_EQ(run_->service->handed_jobs().jobs.size(), 2U);
}

TEST_F(HandOverTest, ARequestThatWaitsIsAnsweredByTheNextRun) {
    const Client client = join();
    tell(client.socket, R"({"v":1,"id":77,"op":"rate","bytes_per_s":100000})");
    restart();
    run_->loop();
    EXPECT_EQ(fetch_json(client.socket)["id"], 77);
}

TEST_F(HandOverTest, WhoWasBeingServedIsDisconnected) {
    const Client served = join(), other = join();
    const std::uint32_t number = rate_phase(other, 100'000);
    served.store(number);
    other.store(rate_phase(other, 1'000'000));
    run_->hand_over.begin_request(PhaseSeat{0, served.slot});
    restart();
    EXPECT_TRUE(is_hung_up(served.socket));
    EXPECT_FALSE(is_hung_up(other.socket));
    EXPECT_FALSE(run_->is_complete) << "the earlier run's classifier still knows its phase";
    EXPECT_EQ(rate_of_next(), ClassRate(BytesPerSecond{2'000'000}));
    run_->loop();
    restart();
    EXPECT_FALSE(run_->is_complete) << "it had no time to join again";
    run_->service->release_adopted();
    run_->any_event();
    restart();
    EXPECT_TRUE(run_->is_complete);
}

TEST_F(HandOverTest, WhoIsMissingIsNotForgottenByARunThatEndsAtOnce) {
    const Client served = join();
    served.store(rate_phase(served, 100'000));
    run_->hand_over.begin_request(PhaseSeat{0, served.slot});
    run_.reset();
    store_.is_stuck = true;  // so the next run writes who is there, but ends before it removes who is not
    start();
    EXPECT_FALSE(run_->is_complete);
    restart();
    EXPECT_FALSE(run_->is_complete) << "the run before still waited for it";
}

TEST_F(HandOverTest, WhoDiedMeanwhileIsGone) {
    std::array<int, 2> hold{};
    ASSERT_EQ(pipe(hold.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const FileDescriptor socket = connect_raw();
        for (int fd = 3; fd < 256; ++fd) {  // among them the lock of the run that ends
            if (fd != hold[0] && fd != socket.get()) close(fd);
        }
        tell(socket, join_text);
        fork();  // so that somebody holds the connection when the child is dead
        char byte = 0;
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    run_->loop_until([&] { return store_.size() == one_joined_descriptors; });
    run_.reset();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    start();
    EXPECT_EQ(run_->service->clients(), 0U);
    EXPECT_TRUE(run_->service->handed_jobs().jobs.empty());
    EXPECT_TRUE(run_->is_complete) << "nobody who lives is missing";
    EXPECT_EQ(store_.size(), 0U);
    close(hold[1]);
    close(hold[0]);
}

TEST_F(HandOverTest, WhoClosedMeanwhileIsGone) {
    {
        const Client client = join();
        client.store(phase(client));
        run_.reset();
    }
    start();
    run_->loop();
    EXPECT_EQ(run_->service->clients(), 0U);
    EXPECT_EQ(store_.size(), 0U);
}

TEST_F(HandOverTest, NothingPilesUp) {
    for (int i = 0; i < 100; ++i) {
        const Client client = join(fmt::format(R"({{"v":1,"id":1,"op":"join","job":"{}"}})", i));
        client.store(rate_phase(client, 100'000));
        if (i % 10 == 0) restart();
    }
    run_->loop();
    EXPECT_EQ(store_.size(), 0U);
    std::vector<Client> clients;
    for (int i = 0; i < HEADWAY_PHASE_PROCESSES; ++i) {
        clients.push_back(join(fmt::format(R"({{"v":1,"id":1,"op":"join","job":"{}"}})",
                                           i % HEADWAY_PHASE_JOBS)));
    }
    constexpr std::size_t most = 2 + 2 * HEADWAY_PHASE_PROCESSES + HEADWAY_PHASE_JOBS;
    EXPECT_EQ(store_.size(), most) << "as Documentation says";
    restart();
    EXPECT_EQ(run_->service->clients(), std::size_t{HEADWAY_PHASE_PROCESSES});
    EXPECT_EQ(store_.size(), most);
}

TEST_F(HandOverTest, AnEndLeavesNothing) {
    const Client client = join();
    store_.is_stuck = true;
    run_->hand_over.forget_all();
    store_.is_stuck = false;
    restart();
    EXPECT_EQ(run_->service->clients(), 0U);
    EXPECT_EQ(store_.size(), 0U);
    EXPECT_EQ(logged_.str().find("HW-305"), std::string::npos);
}

TEST_F(HandOverTest, AnEndLeavesNothingInABusyStore) {
    const Client client = join();
    store_.refused_name = "headway-job-0";
    run_->hand_over.forget_all();
    EXPECT_NE(store_.fd_of("headway-job-0"), -1);
    store_.refused_name.clear();
    restart();
    EXPECT_EQ(run_->service->clients(), 0U);
    EXPECT_EQ(store_.size(), 0U);
    EXPECT_EQ(logged_.str().find("HW-305"), std::string::npos) << logged_.str();
}

TEST_F(HandOverTest, AnotherSetUpMeansJoiningAgain) {
    const Client client = join();
    client.store(phase(client));
    run_.reset();
    config_.node.interface = "eth0";
    auto clusters = config_.topology.clusters();
    clusters[1].name = "elsewhere";
    config_.topology = *Topology::make(clusters);
    start();
    EXPECT_NE(logged_.str().find("HW-305"), std::string::npos);
    EXPECT_FALSE(run_->is_complete);
    EXPECT_TRUE(is_hung_up(client.socket));
    EXPECT_EQ(run_->service->clients(), 0U);
    EXPECT_EQ(store_.size(), 0U);
    const Client again = join();
    EXPECT_EQ(store_.size(), one_joined_descriptors);
    restart();
    EXPECT_EQ(run_->service->clients(), 1U) << "what is kept now is the new run's";
}

TEST_F(HandOverTest, AnotherVersionMeansJoiningAgain) {
    const Client client = join();
    auto memory = StateMemory::open(FileDescriptor(dup(store_.fd_of("headway-state"))));
    ASSERT_TRUE(memory);
    run_.reset();
    ASSERT_TRUE(memory->write(R"({"version":2})"));
    start();
    EXPECT_NE(logged_.str().find("HW-305 cannot take up processes that had joined, which join "
                                 "again: it is of another version"), std::string::npos)
        << logged_.str();
    EXPECT_EQ(store_.size(), 0U);
}

TEST_F(HandOverTest, WhatCannotBeIsNotTakenUp) {
    const Client client = join();
    auto memory = StateMemory::open(FileDescriptor(dup(store_.fd_of("headway-state"))));
    ASSERT_TRUE(memory);
    const std::string text(memory->text());
    for (const auto& [from, to] : {std::pair(R"("slot":0)", R"("slot":64)"), std::pair(R"("number":0)", R"("number":64)"),
                                   std::pair(R"("phases":[])", R"("phases":[[1]])"),
                                   std::pair(R"("uid":)", R"("uid":1)")}) {
        run_.reset();
        std::string changed = text;
        ASSERT_NE(changed.find(from), std::string::npos) << from << text;
        changed.replace(changed.find(from), std::strlen(from), to);
        auto again = StateMemory::make();
        ASSERT_TRUE(again->write(changed));
        store_.lose("headway-state");
        ASSERT_TRUE(store_.put("headway-state", std::array{again->fd()}));
        start();
        EXPECT_EQ(run_->service->clients(), 0U) << to;
        EXPECT_FALSE(run_->is_complete) << to;
    }
}

TEST_F(HandOverTest, AnArrayThatIsLostCostsItsJobOnly) {
    const Client client = join(), other = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    store_.lose("headway-job-0");
    restart();
    EXPECT_TRUE(is_hung_up(client.socket));
    EXPECT_FALSE(is_hung_up(other.socket));
    EXPECT_FALSE(run_->is_complete);
    EXPECT_EQ(store_.size(), one_joined_descriptors);
}

TEST_F(HandOverTest, AStoreThatIsStuckIsToldOnceAndTriedAgain) {
    store_.is_stuck = true;
    const Client client = join(), other = join();
    const auto told = logged_.str().find("HW-306");
    ASSERT_NE(told, std::string::npos);
    EXPECT_EQ(logged_.str().find("HW-306", told + 1), std::string::npos) << "once";
    store_.is_stuck = false;
    run_->loop_until([&] { return store_.size() == one_joined_descriptors + 2; });
    restart();
    EXPECT_EQ(run_->service->clients(), 2U);
}

TEST_F(HandOverTest, WithoutTheStoreAllIsAsBefore) {
    store_.is_stuck = true;
    const Client client = join();
    client.store(phase(client));
    restart();
    EXPECT_TRUE(is_hung_up(client.socket));
    EXPECT_EQ(run_->maps.classify(1), (Choice{0, 0})) << "left to the classifier of the earlier run";
}

TEST_F(HandOverTest, ATextThatEndsRunsIsGivenUp) {
    const Client client = join();
    auto memory = StateMemory::open(FileDescriptor(dup(store_.fd_of("headway-state"))));
    ASSERT_TRUE(memory);
    restart();
    EXPECT_EQ(memory->begun(), 0U) << "it served";
    run_.reset();
    memory->set_begun(3);
    start();
    EXPECT_NE(logged_.str().find("HW-305"), std::string::npos);
    EXPECT_EQ(store_.size(), 0U);
}

TEST_F(HandOverTest, WhatAJoinedProcessEnteredByRequestStays) {
    const Client client = join();
    EXPECT_EQ(ask(client.socket, std::string(R"({"v":1,"id":3,"op":"enter","operation":"alltoall",)") + everybody + "}")["ok"], true);
    restart();
    run_->service->release_adopted();  // the five seconds are over
    EXPECT_EQ(kernel_.device("eth0").root.classes.at(0x10011).rate, planned_);
    EXPECT_EQ(ask(client.socket, R"({"v":1,"id":4,"op":"leave"})")["ok"], true);
    EXPECT_EQ(kernel_.device("eth0").root.classes.at(0x10011).rate, ClassRate());
}

/// Only what has changed is written anew: no process's part may be an older one.
TEST_F(HandOverTest, EachProcessIsAsItWasLast) {
    const Client one = join(), other = join();
    const std::string enter = std::string(R"({"v":1,"id":3,"op":"enter","operation":"alltoall",)") + everybody + "}";
    const std::string leave = R"({"v":1,"id":4,"op":"leave"})";
    const auto rate = [&] { return kernel_.device("eth0").root.classes.at(0x10011).rate; };
    for (const Client* client : {&one, &other}) EXPECT_EQ(ask(client->socket, enter)["ok"], true);
    EXPECT_EQ(ask(one.socket, leave)["ok"], true);
    restart();
    run_->service->release_adopted();
    EXPECT_EQ(rate(), planned_);
    EXPECT_EQ(ask(other.socket, leave)["ok"], true);
    EXPECT_EQ(rate(), ClassRate());
    restart();
    run_->service->release_adopted();
    EXPECT_EQ(rate(), ClassRate());
    EXPECT_EQ(ask(one.socket, enter)["ok"], true);
    EXPECT_EQ(rate(), planned_);
}

TEST(HandedState, WordsOfAllKindsAreWhatTheyWere) {
    const std::string words = "a \"job\", \\ \u00fc\n";
    ControlSession joined;
    joined.seat = PhaseSeat{3, 7};
    joined.hello = HelloRequest{words, 1, 2, 3};
    joined.enters = {{std::nullopt, words, {BytesPerSecond{5}, std::nullopt}}, {std::nullopt, "", {}}};
    joined.enters.back().number = 9;
    const auto state = parse_handed_state(handed_jobs_text({}) + handed_client_text(joined, 11) +
                                          std::string(handed_text_end));
    ASSERT_TRUE(state) << state.error().message;
    const HandedClient& client = state->clients.at({3, 7});
    EXPECT_EQ(client.hello->job, words);
    EXPECT_EQ(client.hello->start, 3U);
    EXPECT_EQ(client.cgroup, 11U);
    ASSERT_EQ(client.enters.size(), 2U);
    EXPECT_EQ(client.enters[0].reason, words);
    EXPECT_EQ(client.enters[0].rates, (std::vector<ClassRate>{BytesPerSecond{5}, std::nullopt}));
    EXPECT_EQ(client.enters[1].number, 9U);
}

TEST_F(HandOverTest, InTheClusterAJobIsTheSameAsBefore) {
    const Client client = join(R"({"v":1,"id":1,"op":"join","job":"solver"})");
    ask(client.socket, R"({"v":1,"id":1,"op":"hello","job":"solver","start":5})");
    (void)phase(client);
    const auto before = run_->service->jobs();
    ASSERT_EQ(before, (std::vector<JobHere>{{"solver", 1, false, getuid(), 5}}));
    restart();
    EXPECT_EQ(run_->service->jobs(), before);
}

TEST_F(HandOverTest, SharesOfLinksAreAsBefore) {
    const Client one = join(), other = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    one.store(phase(one));
    (void)phase(other);
    EXPECT_EQ(rate_of_next(), ClassRate(BytesPerSecond{773'437 / 2}));
    restart();
    EXPECT_EQ(rate_of_next(), ClassRate(BytesPerSecond{773'437 / 2}));
}

TEST_F(HandOverTest, JobsAreToldApartAsBefore) {
    const Client one = join(), other = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    one.store(phase(one));
    other.store(phase(other));
    const auto cgroups = run_->maps.cgroups();
    ASSERT_EQ(cgroups.size(), 2U);
    const auto are_apart = [&] {
        const auto [first, second] = std::pair(*cgroups.begin(), *cgroups.rbegin());
        return run_->maps.cgroups() == cgroups && run_->maps.config().is_apart == 1 &&
               run_->maps.classify(1, first.first) != run_->maps.classify(1, second.first);
    };
    EXPECT_TRUE(are_apart());
    const std::uint64_t read = cgroups_read;
    restart();
    EXPECT_TRUE(are_apart());
    EXPECT_EQ(cgroups_read, read) << "sockets do not follow who moves";
}

// Else it would send at twice its rate while packets wait in the one and in the other.
TEST_F(HandOverTest, AJobKeepsTheClassThatItHad) {
    auto first = std::make_unique<Client>(join());
    const Client one = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    const Client other = join(R"({"v":1,"id":1,"op":"join","job":"14.0"})");
    for (const Client* client : std::vector<const Client*>{first.get(), &one, &other}) {
        client->store(phase(*client));
    }
    first.reset();
    run_->loop();
    const auto classes_of_jobs = [&] {
        std::vector<std::uint64_t> classes;
        for (const std::uint32_t job : {1U, 2U}) classes.push_back(run_->maps.own_classes(job)[1]);
        return classes;
    };
    const auto before = classes_of_jobs();
    ASSERT_FALSE(std::count(before.begin(), before.end(), 0U));
    restart();
    EXPECT_EQ(classes_of_jobs(), before);
}

// An older run did not keep them.
TEST_F(HandOverTest, CgroupsThatWereNotKeptAreLookedUp) {
    const Client one = join(), other = join(R"({"v":1,"id":1,"op":"join","job":"13.0"})");
    run_.reset();
    auto memory = StateMemory::open(FileDescriptor(dup(store_.fd_of("headway-state"))));
    ASSERT_TRUE(memory);
    Json state = Json::parse(memory->text());
    for (Json& client : state["clients"]) EXPECT_EQ(client.erase("cgroup"), 1U) << client;
    ASSERT_TRUE(memory->write(state.dump()));
    const std::uint64_t read = cgroups_read;
    start();
    EXPECT_EQ(cgroups_read, read + 2);
    EXPECT_EQ(run_->maps.cgroups().size(), 2U);
    EXPECT_EQ(run_->maps.config().is_apart, 1U);
}

TEST_F(HandOverTest, AReuseOfANumberIsAsCarefulAsBefore) {
    const Client client = join();
    for (std::uint32_t i = 1; i < HEADWAY_PHASES; ++i) EXPECT_EQ(rate_phase(client, 100'000 + i), i);
    restart();
    EXPECT_EQ(ask(client.socket, R"({"v":1,"id":2,"op":"rate","bytes_per_s":200000})")["ok"], false)
        << "it may have looked at the generation just before the restart";
}

}  // namespace
}  // namespace headway::test
