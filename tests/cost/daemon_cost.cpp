// SPDX-License-Identifier: Apache-2.0
// What one request or one event costs headwayd beside many others: planner, control service,
// sockets and coordinator are the real ones, only the kernel is one in memory.
//
//   daemon_cost OTHERS COUNT...
//
// The daemon has COUNT of OTHERS, which are one of
//   jobs     of one user, each of all hosts, with one process that has asked for a plan
//   users    each with such a job
//   clients  processes of one user's one job
//   joined   processes of one user's one job that switch rates themselves
//   started  jobs of all hosts that an administrator has started
//   pieces   that a client has not fetched yet of a long answer
//
// Another user asks, except for what only administrators may ask.  Each request is made once
// before it is counted, so that what happens once in the daemon's life (a plan that is kept,
// memory from the system) does not count.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include "bench/daemon_node.hpp"
#include "counted.hpp"
#include "daemon/control_server.hpp"
#include "daemon/control_socket.hpp"
#include "fake_clock.hpp"
#include "fake_fd_store.hpp"
#include "trunk/coordinator.hpp"

namespace headway::cost {
namespace {

using namespace headway::test;

// Few enough that 1024 jobs are there within seconds.  What costs time for each job and host is
// therefore cheaper here than in a cluster of thousands.
constexpr int clusters = 4;
constexpr int hosts_per_cluster = 16;

constexpr std::uint64_t cgroup_of_pid_0 = 4'000'000;
constexpr uid_t their_user = 1000;
constexpr uid_t asking_user = 999;
const std::string every_host = R"(["c[0-3]-[0-15]"])";

/// The kernel in memory, whose work is none of the daemon's.
class UncountedKernel final : public NetlinkTransport {
public:
    explicit UncountedKernel(FakeKernel& kernel) : kernel_(kernel) {}
    [[nodiscard]] std::uint32_t port_id() const override { return kernel_.port_id(); }
    [[nodiscard]] Result<void> send(std::span<const std::byte> messages) override {
        const Uncounted uncounted;
        return kernel_.send(messages);
    }
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point deadline) override {
        const Uncounted uncounted;
        return kernel_.receive(deadline);
    }
    [[nodiscard]] Result<void> reopen() override { return kernel_.reopen(); }

private:
    FakeKernel& kernel_;
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "daemon_cost: %s\n", why.c_str());
    std::exit(1);
}

Config node_config() {
    Config config;
    config.file = "cost";
    config.node.name = "c0-0";
    config.topology = bench_topology(clusters, hosts_per_cluster);
    config.coordination = CoordinationConfig{};
    config.coordination->endpoints = {"http://127.0.0.1:2379"};
    return config;
}

class Node {
public:
    using Session = ControlService::SessionId;

    Node() : control_(open_control()), planner_(*NodePlanner::make(node_config(), "")) {
        const PhaseProgram program{17, 17};
        const KernelLayout layout = with_phases(planner_.layout(), program);
        if (!control_.apply(layout.set_up, ApplyMode::together)) give_up("no classes");
        service_.emplace(planner_, bench_link, control_, clock_);
        maps_.emplace(static_cast<std::uint32_t>(layout.classes.size()));
        service_->use_phases(*maps_, program);
        service_->kept().keep_jobs_with([](const std::string&) {});
        service_->phases()->tell_apart_with(
            [](const Peer& peer) -> Result<std::uint64_t> { return cgroup_of_pid_0 + peer.pid; },
            [](const Error&) {});
        coordinator_.emplace(*planner_.shared_trunk(), *planner_.config().coordination, control_,
                             [](const std::string&) {}, clock_, bench_link, hosts_, log_);
    }

    ControlService& service() { return *service_; }
    spdlog::logger& log() { return log_; }

    Session connect(uid_t uid) {
        const Peer peer{.pid = ++last_pid_, .uid = uid, .is_watched = true};
        const auto session = service_->open(peer);
        if (!session) give_up(session.error().message);
        peers_.emplace(*session, peer);
        return *session;
    }
    void close(Session session) {
        service_->close(session);
        (void)service_->settle();
        peers_.erase(session);
    }
    /// The sessions that are connected.
    [[nodiscard]] const std::map<Session, Peer>& peers() const { return peers_; }
    /// The answer; a refusal ends the program, for what it would count is not what it says.
    std::string ask(Session session, const std::string& request) {
        std::string answer = service_->answer(session, request).text;
        (void)service_->settle();
        if (answer.find("\"ok\":true") == std::string::npos) give_up(request + ": " + answer);
        return answer;
    }
    void try_to_ask(Session session, const std::string& request) {
        (void)service_->answer(session, request);
        (void)service_->settle();
    }
    void reload() {
        const auto done = service_->reload(node_config());
        if (!done) give_up(done.error().message);
    }
    /// Does what CoordinationLoop does at a tick.
    void tick() {
        if (jobs_of_ != service_->job_changes()) {
            jobs_of_ = service_->job_changes();
            coordinator_->want(service_->jobs());
        }
        coordinator_->tick();
    }

private:
    NetlinkTrafficControl open_control() {
        kernel_.add_device("eth0", bench_link.bits());
        return *NetlinkTrafficControl::open(uncounted_, "eth0");
    }

    FakeKernel kernel_;
    UncountedKernel uncounted_{kernel_};
    FakeClock clock_;
    spdlog::logger log_{"cost", std::make_shared<spdlog::sinks::null_sink_st>()};
    NetlinkTrafficControl control_;
    NodePlanner planner_;
    std::optional<FakePhaseMaps> maps_;
    std::optional<ControlService> service_;
    HostNumbers hosts_{planner_.shared_trunk()->hosts};
    std::optional<Coordinator> coordinator_;
    std::optional<std::uint64_t> jobs_of_;
    std::map<Session, Peer> peers_;
    pid_t last_pid_ = 1000;
};

// --------------------------------------------------------------------- requests

std::string request(const std::string& op, const std::string& members = "") {
    return fmt::format(R"({{"v":1,"id":1,"op":"{}"{}}})", op, members);
}

std::string hello(const std::string& job) {
    return request("hello", fmt::format(R"(,"job":"{}","rank":0,"pid":1)", job));
}

std::string join(const std::string& job) {
    return request("join", fmt::format(R"(,"job":"{}")", job));
}

std::string collective(const std::string& op) {
    return request(op, fmt::format(R"(,"operation":"alltoall","job_hosts":{0},"comm_hosts":{0},)"
                                   R"("message_bytes":1048576)", every_host));
}

std::string job_start(const std::string& job, uid_t user = 0) {
    return request("job_start", fmt::format(R"(,"job":"{}","uid":{},"hosts":{},"lasting":true)",
                                            job, user, every_host));
}

std::string job_end(const std::string& job, uid_t user = 0) {
    return request("job_end", fmt::format(R"(,"job":"{}","uid":{})", job, user));
}

const std::string more = request("more");

// ------------------------------------------------------------------- the others

/// Adds a process to a job of all hosts, which counts from now on when links are shared, unless too
/// many jobs do.
void add_process(Node& node, uid_t user, const std::string& job) {
    const auto session = node.connect(user);
    node.ask(session, hello(job));
    node.try_to_ask(session, collective("prepare"));
}

void add_jobs(Node& node, int count) {
    for (int i = 0; i < count; ++i) add_process(node, their_user, fmt::format("job-{}", i));
}

/// Adds as many users as have been seen to shut others out, each with many jobs.
void add_crowd(Node& node, int count) {
    constexpr int users = 22;
    for (int i = 0; i < count; ++i) {
        add_process(node, their_user + static_cast<uid_t>(i % users), fmt::format("job-{}", i));
    }
}

void add_users(Node& node, int count) {
    for (int i = 0; i < count; ++i) add_process(node, their_user + static_cast<uid_t>(i), "job");
}

void add_clients(Node& node, int count) {
    for (int i = 0; i < count; ++i) add_process(node, their_user, "job");
}

void add_joined(Node& node, int count) {
    for (int i = 0; i < count; ++i) {
        const auto session = node.connect(their_user);
        node.ask(session, join("job"));
        node.ask(session, collective("phase"));
    }
}

void add_started(Node& node, int count) {
    const auto root = node.connect(0);
    for (int i = 0; i < count; ++i) node.ask(root, job_start(fmt::format("started-{}", i)));
}

// --------------------------------------------------------------------- what counts

/// Counts what it is given as OTHERS/COUNT/REQUEST, or only does it.
class Counted {
public:
    Counted(std::string prefix, bool counts) : prefix_(std::move(prefix)), counts_(counts) {}

    template <class Work>
    void operator()(const char* name, Work work) const {
        if (counts_) {
            count(prefix_ + name, work);
        } else {
            work();
        }
    }

private:
    std::string prefix_;
    bool counts_;
};

/// A process from its connection to its end.
void count_process(Node& node, const Counted& counted) {
    const auto one = node.connect(asking_user);
    const auto ask = [&](const char* name, const std::string& request) {
        std::string answer;
        counted(name, [&] { answer = node.ask(one, request); });
        while (Json::parse(answer).value("left", 0) > 0) answer = node.ask(one, more);
    };
    const std::string hosts = R"(,"hosts":)" + every_host;
    ask("hello", hello("mine"));
    ask("join", join("mine"));
    ask("prepare", collective("prepare"));
    ask("phase", collective("phase"));
    ask("traffic", request("traffic", hosts + R"(,"flows":[[0,16,1],[16,0,1]])"));
    ask("rate", request("rate", R"(,"bytes_per_s":100000000)"));
    ask("plan", request("plan", hosts + R"(,"operation":"alltoall")"));
    ask("ready", request("ready"));
    ask("status", request("status"));
    ask("jobs", request("jobs"));
    counted("close", [&] { node.close(one); });
}

/// Counts an administrator's requests, and what happens without a request.
void count_node(Node& node, const Counted& counted) {
    const auto root = node.connect(0);
    node.ask(root, collective("prepare"));
    const std::string enter = request("enter", R"(,"pattern":1,"message_bytes":1048576)");
    counted("enter", [&] { node.ask(root, enter); });
    counted("leave", [&] { node.ask(root, request("leave")); });
    counted("job_start", [&] { node.ask(root, job_start("another")); });
    counted("job_end", [&] { node.ask(root, job_end("another")); });
    counted("reload", [&] { node.reload(); });
    counted("tick_after_change", [&] { node.tick(); });
    counted("tick", [&] { node.tick(); });
    node.close(root);
}

/// The socket and its event loop, with whoever is connected to `node`.  Descriptors of those who
/// have joined are kept for a restart, as under systemd.
class Server {
public:
    explicit Server(Node& node) : hand_over_(&store_, node.log()) {
        if (mkdtemp(folder_.data()) == nullptr) give_up("no folder for temporary files");
        socket_.emplace(*ControlSocket::bind(path(), std::nullopt));
        if (!socket_->listen()) give_up("no socket in the folder for temporary files");
        server_ = std::make_unique<ControlServer>(loop_, socket_->fd(), node.service(), hand_over_,
                                                  node.log());
        std::vector<HandOver::Client> clients;
        for (const auto& [session, peer] : node.peers()) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
                give_up("too few descriptors: ulimit -n");
            }
            others_.emplace_back(pair[0]);
            clients.push_back({session, Connection{FileDescriptor(pair[1]), peer, FileDescriptor()}});
        }
        if (!server_->take_back(std::move(clients))) give_up("clients cannot be watched");
        run();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
        // the end of each, one after the other, would take longer than all that is counted
        server_->keep_what_clients_hold();
        server_.reset();
        socket_.reset();
        std::filesystem::remove_all(folder_);
    }

    /// Runs until nothing is left to do.
    void run() {
        while (sd_event_run(loop_.get(), 0) > 0) {
        }
    }
    /// The connection that was made first.
    [[nodiscard]] const FileDescriptor& first() const { return others_.front(); }
    [[nodiscard]] FileDescriptor connect() const {
        FileDescriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path().copy(address.sun_path, sizeof(address.sun_path) - 1);
        const auto* const to = reinterpret_cast<const sockaddr*>(&address);
        if (::connect(client.get(), to, sizeof(address)) != 0) give_up("nobody listens");
        return client;
    }

private:
    [[nodiscard]] std::string path() const { return folder_ + "/control.sock"; }

    std::string folder_ = std::filesystem::temp_directory_path() / "headway-cost-XXXXXX";
    EventLoop loop_;
    std::optional<ControlSocket> socket_;
    FakeFdStore store_;
    HandOver hand_over_;
    std::unique_ptr<ControlServer> server_;
    std::vector<FileDescriptor> others_;
};

void tell(const FileDescriptor& client, const std::string& request) {
    if (send(client.get(), request.data(), request.size(), 0) < 0) give_up("a connection is lost");
}

void expect_answer(const FileDescriptor& client) {
    std::array<char, datagram_max_bytes> answer{};
    if (recv(client.get(), answer.data(), answer.size(), 0) <= 0) give_up("there is no answer");
}

void count_connection(Server& server, const Counted& counted) {
    FileDescriptor client = server.connect();
    counted("accept", [&] { server.run(); });
    tell(client, request("ready"));
    counted("serve", [&] { server.run(); });
    expect_answer(client);
    client.close();
    counted("drop", [&] { server.run(); });
}

/// One of them says what has to be kept for a restart.
void count_keeping(Server& server, const Counted& counted) {
    tell(server.first(), hello("job"));
    counted("keep", [&] { server.run(); });
    expect_answer(server.first());
}

/// The next piece, where so many are left and a little more: the answer to "status" brings
/// the first one.
void count_piece(Node& node, int pieces, const Counted& counted) {
    constexpr std::size_t piece_bytes = datagram_max_bytes / 2 - 256;
    const std::string long_text(static_cast<std::size_t>(pieces + 1) * piece_bytes, 'x');
    node.service().status().show_feedback([&] { return Json(long_text); });
    const auto one = node.connect(asking_user);
    node.ask(one, request("status"));
    counted("more", [&] { node.ask(one, more); });
    node.close(one);
    node.service().status().show_feedback(nullptr);
}

void run(const std::string& others, int number) {
    Node node;
    const std::string prefix = fmt::format("{}/{}/", others, number);
    const Counted first(prefix, false), second(prefix, true);
    if (others == "pieces") {
        for (const Counted& counted : {first, second}) count_piece(node, number, counted);
        return;
    }
    if (others == "jobs") {
        add_jobs(node, number);
    } else if (others == "crowd") {
        add_crowd(node, number);
    } else if (others == "users") {
        add_users(node, number);
    } else if (others == "clients") {
        add_clients(node, number);
    } else if (others == "joined") {
        add_joined(node, number);
    } else if (others == "started") {
        add_started(node, number);
    } else {
        give_up("there are no " + others);
    }
    for (const Counted& counted : {first, second}) count_process(node, counted);
    for (const Counted& counted : {first, second}) count_node(node, counted);
    Server server(node);
    for (const Counted& counted : {first, second}) count_connection(server, counted);
    if (others != "joined") return;
    for (const Counted& counted : {first, second}) count_keeping(server, counted);
}

}  // namespace
}  // namespace headway::cost

int main(int argc, char** argv) {
    // 1024 clients take two descriptors each.
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 2; i < argc; ++i) headway::cost::run(argv[1], std::atoi(argv[i]));
    return 0;
}
