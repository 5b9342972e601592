// SPDX-License-Identifier: Apache-2.0
// `headway plan` against headwayd: over random networks, hosts, operations and sizes the plan
// that the command shows is what a process gets that asks its node's daemon as the MPI helper
// does.  It asks by libheadway's own session, over the daemon's socket; what it gets are the
// rates at which its packets leave then.
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "able_algorithm.hpp"
#include "cli/shown_plan.hpp"
#include "hang_limit.hpp"
#include "node_daemon.hpp"
#include "session.hpp"
#include "topologies.hpp"

namespace headway::test {
namespace {

using glue::Algorithm;

class Random {
public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}

    int between(int least, int most) { return std::uniform_int_distribution(least, most)(engine_); }
    bool one_in(int cases) { return between(1, cases) == 1; }
    template <class Value>
    Value one_of(const std::vector<Value>& values) {
        return values[static_cast<std::size_t>(between(0, static_cast<int>(values.size()) - 1))];
    }
    void shuffle(auto& values) { std::shuffle(values.begin(), values.end(), engine_); }

private:
    std::mt19937 engine_;
};

// ------------------------------------------------------------------ networks and calls

using Buffer = std::optional<std::uint64_t>;
const std::vector<Buffer> buffers{std::nullopt, 16 << 10, 256 << 10, 16 << 20};

/// Clusters below the centre, below switches that may be below each other, or below another
/// cluster: trees of two to four levels.
Topology random_topology(Random& random) {
    std::vector<std::string> parents{""};
    std::vector<TrunkSwitch> switches;
    const auto host_mbit = static_cast<std::uint64_t>(random.one_of<int>({100, 1000, 10'000}));
    for (int i = random.between(0, 2); i > 0; --i) {
        const BitsPerSecond rate{host_mbit * mbit * static_cast<std::uint64_t>(random.between(1, 8))};
        switches.push_back({"s" + std::to_string(i), random.one_of(parents), rate, rate,
                            std::chrono::microseconds(random.between(0, 500)), random.one_of(buffers)});
        parents.push_back(switches.back().name);
    }
    std::vector<Cluster> clusters;
    for (int c = 0, count = random.between(2, 5); c < count; ++c) {
        const int hosts = random.between(1, 5);
        const auto trunk_mbit = host_mbit * static_cast<std::uint64_t>(hosts * random.between(2, 12)) / 8;
        Cluster cluster = make_cluster(c, hosts, host_mbit, trunk_mbit);
        if (random.one_in(4)) cluster.trunk_down_rate.value *= 2;
        cluster.parent = random.one_of(parents);
        cluster.trunk_delay = std::chrono::microseconds(random.between(0, 500));
        cluster.trunk_buffer_bytes = random.one_of(buffers);
        cluster.host_buffer_bytes = random.one_of(buffers);
        if (random.one_in(4)) parents.push_back(cluster.name);
        clusters.push_back(std::move(cluster));
    }
    auto topology = Topology::make(std::move(clusters), std::move(switches));
    EXPECT_TRUE(topology) << topology.error().message;
    return std::move(*topology);
}

Config random_config(Random& random) {
    Config config;
    config.file = "headway.toml";
    config.topology = random_topology(random);
    config.policy.min_message_bytes = static_cast<std::uint64_t>(random.one_of<int>({1, 256, 2048, 20'000}));
    if (random.one_in(3)) config.policy.plan.target_utilisation_millionths = 900'000;
    if (random.one_in(5)) {
        config.policy.plan.trunk_divisor_thousandths =
            static_cast<std::uint32_t>(random.between(1, 6)) * divisor_one;
    }
    return config;
}

/// A job of some hosts, in any order.
ChosenPattern random_job(Random& random) {
    ChosenPattern pattern{};
    pattern.config = random_config(random);
    pattern.planned = find_operation("alltoall");
    const Topology& topology = pattern.config.topology;
    for (std::size_t host = 0; host < topology.host_count(); ++host) pattern.hosts.push_back(host);
    random.shuffle(pattern.hosts);
    const auto all = static_cast<int>(pattern.hosts.size());
    pattern.hosts.resize(static_cast<std::size_t>(random.between(std::min(2, all), all)));
    pattern.counts.per_cluster.resize(topology.clusters().size());
    for (const std::size_t host : pattern.hosts) ++pattern.counts.per_cluster[topology.cluster_of(host)];
    return pattern;
}

std::vector<std::string> names_of(const ChosenPattern& pattern) {
    std::vector<std::string> names;
    for (const std::size_t host : pattern.hosts) names.push_back(pattern.host_name(host));
    return names;
}

struct Call {
    std::uint64_t bytes = 0;
    int root = glue::no_root;  ///< a place among the hosts
};

Call random_call(Random& random, ChosenPattern& pattern) {
    constexpr auto operations = static_cast<int>(glue::operation_count);
    const auto operation = static_cast<glue::Operation>(random.between(0, operations - 1));
    pattern.planned = find_operation(glue::name_of(operation));
    pattern.root.reset();
    Call call;
    call.bytes = static_cast<std::uint64_t>(
        random.one_of<int>({64, 300, 1024, 2047, 4096, 5000, 65'536, 1 << 20, random.between(1, 100'000)}));
    if (pattern.planned->has_root) {
        call.root = random.between(0, static_cast<int>(pattern.hosts.size()) - 1);
        pattern.root = pattern.hosts[static_cast<std::size_t>(call.root)];
    }
    return call;
}

// -------------------------------------------------------------------------- the daemons

/// The daemons of some nodes, which serve until the end.
class Daemons {
public:
    Daemons(const Config& config, const std::vector<std::string>& nodes) {
        std::string name = std::filesystem::temp_directory_path() / "headway-plan-XXXXXX";
        folder_ = mkdtemp(name.data());
        for (const std::string& node : nodes) {
            daemons_.push_back(std::make_unique<NodeDaemon>(config, node, folder_, loop_, log_));
        }
        EXPECT_TRUE(loop_.check());
        thread_ = std::thread([this] { EXPECT_TRUE(loop_.run()); });
    }
    Daemons(const Daemons&) = delete;
    Daemons& operator=(const Daemons&) = delete;
    ~Daemons() {
        const std::uint64_t one = 1;
        EXPECT_EQ(write(end_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
        thread_.join();
        daemons_.clear();
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] const NodeDaemon& of(std::size_t node) const { return *daemons_[node]; }

private:
    std::string folder_;
    FileDescriptor end_{eventfd(0, EFD_CLOEXEC)};
    EventLoop loop_;
    EventSource ends_ =
        loop_.readable(end_.get(), "the end", [this] { sd_event_exit(loop_.get(), 0); });
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::null_sink_st>()};
    std::vector<std::unique_ptr<NodeDaemon>> daemons_;
    std::thread thread_;
};

// --------------------------------------------------------------------------- the helper

/// The result of a call.
struct Outcome {
    Algorithm algorithm = Algorithm::native;
    std::vector<ClassRate> rates;

    friend bool operator==(const Outcome&, const Outcome&) = default;
    friend void PrintTo(const Outcome& outcome, std::ostream* out) {
        *out << glue::name_of(outcome.algorithm) << " at";
        for (const ClassRate& rate : outcome.rates) *out << " " << (rate ? rate->value : 0);
    }
};

/// A process of the job on one node, which asks as mpi-glue/own_algorithms.cpp does for the
/// algorithm, and as mpi-glue/helper.cpp for its rates.
class Process {
public:
    Process(const ChosenPattern& job, std::uint64_t ranks, const NodeDaemon& daemon)
        : job_(job), daemon_(daemon), hosts_(names_of(job), ranks) {
        glue::SessionOptions options;
        options.socket_path = daemon.path();
        options.timeout = hang_limit;
        session_.emplace(glue::Session::open(options, "job", 0, hosts_));
        EXPECT_TRUE(session_->has_daemon());
        for (std::size_t host = 0; host < job.hosts.size(); ++host) all_.push_back(static_cast<int>(host));
    }

    Outcome call(glue::Operation operation, const Call& call) {
        glue::PatternKey key{operation, all_, call.root};
        Outcome outcome{algorithm_of(key, call.bytes), {}};
        std::uint64_t bytes = call.bytes;
        key.algorithm = outcome.algorithm;
        if (outcome.algorithm == Algorithm::linear) plan_between_hosts(key, bytes);
        if (outcome.algorithm == Algorithm::ring) {
            key.root_host = glue::no_root;
            key.traffic = ring();
        }
        outcome.rates = rates_of(key, bytes);
        return outcome;
    }

    std::vector<ClassRate> rates_of(const glue::PatternKey& key, std::uint64_t bytes) {
        const auto known = session_->pattern(key);
        EXPECT_TRUE(known) << known.error().what;
        const auto entered = session_->enter(**known, bytes);
        EXPECT_TRUE(entered) << entered.error().what;
        auto rates = daemon_.rates(getuid());
        if (entered && *entered != glue::not_entered) session_->leave(*entered);
        return rates;
    }

private:
    /// Asks for the bytes between hosts if there are many small blocks.
    void plan_between_hosts(glue::PatternKey& key, std::uint64_t& bytes) const {
        if (!glue::are_many_small_blocks(key.operation, bytes, hosts_.ranks_per_host())) return;
        key.is_between_hosts = true;
        bytes = glue::bytes_between_hosts(bytes, hosts_.ranks_per_host());
    }

    /// A ring is asked for with what it sends at a time (mpi-glue/ring_calls.hpp).
    std::uint64_t asked_bytes(glue::Operation operation, std::uint64_t bytes) const {
        return operation == glue::Operation::bcast ? bytes / (all_.size() * hosts_.ranks_per_host()) : bytes;
    }

    /// Rank 0's question.
    Algorithm algorithm_of(glue::PatternKey key, std::uint64_t call_bytes) {
        std::uint64_t bytes = asked_bytes(key.operation, call_bytes);
        const bool all_know = glue::sizes_agree(key.operation);
        if (!all_know && bytes < glue::own_from_bytes) return Algorithm::native;
        const Algorithm able = glue::able_algorithm(key.operation, bytes, hosts_.ranks_per_host(), job_.config.policy.min_message_bytes);
        if (able == Algorithm::native) return able;
        plan_between_hosts(key, bytes);
        glue::AskedAt asked;
        const auto planned =
            session_->planned_algorithm(key, all_know ? std::optional(bytes) : std::nullopt, asked);
        EXPECT_TRUE(planned && *planned);
        return planned && *planned != Algorithm::native ? able : Algorithm::native;
    }

    /// The hosts by cluster, in the order in which the ranks come to them (mpi-glue/host_table.cpp).
    glue::HostTraffic ring() const {
        std::map<std::size_t, int> numbers;
        std::vector<std::pair<int, int>> order;
        for (std::size_t host = 0; host < job_.hosts.size(); ++host) {
            const std::size_t cluster = job_.config.topology.cluster_of(job_.hosts[host]);
            order.emplace_back(numbers.try_emplace(cluster, static_cast<int>(numbers.size())).first->second,
                               static_cast<int>(host));
        }
        std::ranges::sort(order);
        glue::HostTraffic traffic;
        for (std::size_t i = 0; i < order.size(); ++i)
            ++traffic[{order[i].second, order[(i + 1) % order.size()].second}];
        return traffic;
    }

    const ChosenPattern& job_;
    const NodeDaemon& daemon_;
    glue::JobHosts hosts_;
    glue::HostSet all_;
    std::optional<glue::Session> session_;
};

/// Returns the node's rates as the command shows them.  What the link does not carry anyway is no
/// limit.
Outcome shown_on(const ShownPlan& shown, std::size_t node, BytesPerSecond link_rate) {
    Outcome outcome{shown.runs, shown.nodes[node].rates};
    for (ClassRate& rate : outcome.rates) {
        if (rate && *rate >= link_rate) rate.reset();
    }
    return outcome;
}

bool is_paced(const Outcome& outcome) {
    return std::ranges::any_of(outcome.rates, [](const ClassRate& rate) { return rate.has_value(); });
}

std::vector<std::string> some_nodes(Random& random, const ChosenPattern& job) {
    std::vector<std::string> names = names_of(job);
    random.shuffle(names);
    names.resize(std::min<std::size_t>(names.size(), 2));
    return names;
}

// --------------------------------------------------------------------------------- tests

TEST(CalledPlan, TheHelperAndHeadwaydKnowTheSameOperations) {
    for (std::size_t i = 0; i < glue::operation_count; ++i) {
        const auto operation = static_cast<glue::Operation>(i);
        const PlannedOperation* const planned = find_operation(glue::name_of(operation));
        ASSERT_NE(planned, nullptr) << glue::name_of(operation);
        EXPECT_EQ(glue::operation_named(planned->name), operation);
        EXPECT_EQ(planned->ring.has_value(), glue::goes_round(operation)) << planned->name;
    }
    EXPECT_EQ(glue::operation_named("barrier"), std::nullopt);
}

TEST(CalledPlan, IsWhatTheDaemonGivesForRandomNetworksAndOperations) {
    std::map<std::string, int> paced;  // by operation and by algorithm
    for (std::uint32_t seed = 0; seed < 80; ++seed) {
        Random random(seed);
        ChosenPattern job = random_job(random);
        const auto ranks = static_cast<std::uint32_t>(random.one_of<int>({1, 2, 4, 8}));
        const auto nodes = some_nodes(random, job);
        const Daemons daemons(job.config, nodes);
        std::vector<std::unique_ptr<Process>> processes;
        for (std::size_t node = 0; node < nodes.size(); ++node)
            processes.push_back(std::make_unique<Process>(job, ranks, daemons.of(node)));
        for (int i = 0; i < 8; ++i) {
            const Call call = random_call(random, job);
            const auto shown = show_plan(job, ranks, call.bytes, nodes);
            ASSERT_TRUE(shown) << shown.error().message;
            for (std::size_t node = 0; node < nodes.size(); ++node) {
                const auto operation = *glue::operation_named(job.planned->name);
                const Outcome got = processes[node]->call(operation, call);
                EXPECT_EQ(shown_on(*shown, node, daemons.of(node).link_rate()), got)
                    << "seed " << seed << ", node " << nodes[node] << ", " << shown->collective << ", "
                    << call.bytes << " bytes, " << ranks << " ranks a host: " << shown->reason;
                if (!is_paced(got)) continue;
                ++paced[std::string(job.planned->name)];
                ++paced[glue::name_of(got.algorithm)];
            }
        }
    }
    for (const char* name : {"alltoall", "alltoallv", "alltoallw", "allgather", "gather", "gatherv", "scatterv",
                             "bcast", "native", "linear", "ring"}) {
        EXPECT_GT(paced[name], 0) << name << " was never paced, and so not compared";
    }
}

// The helper tells the traffic of hosts with different numbers of ranks, and the command reads a
// matrix.
TEST(CalledPlan, IsWhatTheDaemonGivesForUnevenRanks) {
    int paced = 0;
    for (std::uint32_t seed = 1000; seed < 1040; ++seed) {
        Random random(seed);
        ChosenPattern job = random_job(random);
        std::vector<int> ranks;
        for (std::size_t i = 0; i < job.hosts.size(); ++i) ranks.push_back(random.between(1, 8));
        std::vector bytes(ranks.size(), std::vector<double>(ranks.size()));
        glue::PatternKey key{glue::Operation::alltoall, {}, glue::no_root, Algorithm::linear};
        for (std::size_t from = 0; from < ranks.size(); ++from) {
            key.hosts.push_back(static_cast<int>(from));
            for (std::size_t to = 0; to < ranks.size(); ++to) {
                if (from == to) continue;
                const double pairs = double(ranks[from]) * ranks[to];
                bytes[from][to] = 65'536 * pairs;
                key.traffic[{static_cast<int>(from), static_cast<int>(to)}] = pairs;
            }
        }
        job.measured = make_exchange(job.config.topology, job.hosts, bytes);
        const auto nodes = some_nodes(random, job);
        const Daemons daemons(job.config, nodes);
        const auto shown = show_plan(job, 1, std::nullopt, nodes);
        ASSERT_TRUE(shown) << shown.error().message;
        for (std::size_t node = 0; node < nodes.size(); ++node) {
            const auto most = static_cast<std::uint64_t>(*std::ranges::max_element(ranks));
            Process process(job, most, daemons.of(node));
            const Outcome got{Algorithm::native, process.rates_of(key, 65'536)};
            ASSERT_EQ(shown_on(*shown, node, daemons.of(node).link_rate()), got)
                << "seed " << seed << ", node " << nodes[node] << ", " << shown->collective << ": "
                << shown->reason;
            paced += is_paced(got) ? 1 : 0;
        }
    }
    EXPECT_GT(paced, 20);
}

}  // namespace
}  // namespace headway::test
