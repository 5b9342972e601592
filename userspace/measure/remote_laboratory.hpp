// SPDX-License-Identifier: Apache-2.0
// Experiments on real hosts, each with an agent.
//
// What a measurement costs the network is bounded: after a bulk it rests, so that on average
// no host's link carries more than `load_share` of what the bulk did, and it ends when it
// has sent `bytes_max`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "measure/agent_messages.hpp"
#include "measure/agent_process.hpp"
#include "measure/laboratory.hpp"

namespace headway {

struct MeasuredHost {
    std::string name;     ///< as in --hosts, and in every message
    std::string address;  ///< where the other hosts find it
};

struct LaboratoryOptions {
    /// Words; {host} stands for a host's name.  What the agent needs follows.
    std::vector<std::string> launch;
    std::vector<std::string> agent_command;
    std::chrono::milliseconds start_patience{30'000};
    std::chrono::milliseconds answer_patience{15'000};  ///< beside what an experiment takes by itself
    double load_share = 0.25;                           ///< 0 .. 1
    std::uint64_t bytes_max = std::uint64_t{2} << 30;
};

class RemoteLaboratory final : public Laboratory {
public:
    /// Starts the agents, all at once, and makes them known to each other.  Fails, naming
    /// them all, if any does not answer in time or is of another version.
    [[nodiscard]] static Result<std::unique_ptr<RemoteLaboratory>> open(std::vector<MeasuredHost> hosts,
                                                                        LaboratoryOptions options);

    /// Makes a laboratory over agents that have been started, one for each host.
    [[nodiscard]] static Result<std::unique_ptr<RemoteLaboratory>> over(
        std::vector<MeasuredHost> hosts, std::vector<AgentProcess> agents, LaboratoryOptions options);

    [[nodiscard]] std::size_t host_count() const override { return hosts_.size(); }
    [[nodiscard]] Result<BulkOutcome> run(const Bulk& bulk) override;
    [[nodiscard]] Result<std::vector<ProgramOutcome>> run(const Rounds& rounds) override;
    void connect_anew() override { has_mesh_ = false; }
    [[nodiscard]] Result<std::vector<SeenRoute>> routes() override;
    [[nodiscard]] std::chrono::nanoseconds start_skew() const override { return start_skew_; }

    [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
    /// The names that hosts call themselves, by number.
    [[nodiscard]] const std::vector<std::string>& node_names() const { return node_names_; }

private:
    struct Task {
        std::size_t host = 0;
        AgentJson command;
    };
    using Answers = std::vector<Result<AgentJson>>;

    RemoteLaboratory(std::vector<MeasuredHost> hosts, LaboratoryOptions options)
        : hosts_(std::move(hosts)), options_(std::move(options)) {}

    Result<void> start_agents();
    Result<void> meet_agents();
    Result<void> hear_greetings();
    Result<void> introduce();
    Result<void> measure_skew();
    /// One line of each of them, in so long.
    Answers lines_of(const std::vector<std::size_t>& hosts, std::chrono::nanoseconds patience);
    /// All at once; the answers in the order of the tasks.  Fails with every host that did.
    Result<std::vector<AgentJson>> ask(const std::vector<Task>& tasks, std::chrono::nanoseconds patience);
    Result<std::vector<AgentJson>> ask_all(const AgentJson& command, std::chrono::nanoseconds patience);
    [[nodiscard]] Error failures(const std::vector<std::size_t>& hosts, const Answers& answers) const;
    Result<void> count_bytes(std::uint64_t bytes);
    void rest_after(std::chrono::nanoseconds busy) const;
    Result<void> collect_arrivals(const Bulk& bulk, std::uint32_t run, BulkOutcome& outcome);

    std::vector<MeasuredHost> hosts_;
    LaboratoryOptions options_;
    std::vector<AgentProcess> agents_;
    std::vector<AgentPeer> peers_;
    std::vector<std::string> node_names_;
    std::chrono::nanoseconds start_skew_{};
    bool has_mesh_ = false;  ///< what rounds need is connected
    std::uint32_t run_ = 0;
    std::uint64_t bytes_sent_ = 0;
};

}  // namespace headway
