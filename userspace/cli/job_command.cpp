// SPDX-License-Identifier: Apache-2.0
// `headway job`: start, end and list jobs of this node.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/accounts.hpp"
#include "base/hostlist.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "cli/network_options.hpp"
#include "config/config.hpp"
#include "formats/rank_placement.hpp"
#include "job_start.hpp"
#include "protocol/control_client.hpp"
#include "trunk/shares.hpp"

namespace headway {
namespace {

struct JobOptions {
    ControlOptions control;
    std::string name;
    std::string user;                 ///< name or number; empty: who runs this
    std::vector<std::string> hosts;
    std::uint32_t ranks_per_host = 1;
    std::uint32_t weight = 1;
    std::uint64_t start = 0;          ///< 0: none is told
    std::vector<std::string> pattern;  ///< "alltoall", or files of a traffic matrix
    std::string map_by = "slot";
    bool is_lasting = false;
    bool json = false;
};

class JobsCommand final : public Command {
public:
    explicit JobsCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    void add_job_options(const Verb& one);

    JobOptions options_;
    Verb start_;
    Verb end_;
    Verb list_;
};

constexpr const char* job_verb = "job";

Result<std::vector<std::string>> named_hosts(const JobOptions& options) {
    std::vector<std::string> names;
    for (const std::string& list : options.hosts) {
        auto hosts = parse_hostlist(list, hosts_per_request_max);
        if (!hosts) return tl::unexpected(hosts.error().within("--hosts"));
        names.insert(names.end(), hosts->begin(), hosts->end());
    }
    return names;
}

/// Writes the matrix's bytes between hosts as the control protocol spells them.
Result<Json> flows_of(const TrafficMatrix& matrix, const JobOptions& options, std::size_t hosts) {
    const auto bytes = bytes_between_hosts(matrix, static_cast<std::uint32_t>(hosts),
                                           options.ranks_per_host,
                                           *parse_rank_placement(options.map_by));
    if (!bytes) return tl::unexpected(bytes.error().within("--pattern"));
    Json flows = Json::array();
    for (std::size_t from = 0; from < hosts; ++from) {
        for (std::size_t to = 0; to < hosts; ++to) {
            const double amount = std::ceil((*bytes)[from][to]);
            if (from == to || amount <= 0) continue;
            flows.push_back({from, to, static_cast<std::uint64_t>(amount)});
        }
    }
    if (flows.empty()) return failure("--pattern: nobody sends anything to another host");
    return flows;
}

/// The members of the request; nothing, having told why.
tl::expected<Json, ExitStatus> start_request(const JobOptions& options) {
    Json request{{"job", options.name},
                 {"ranks_per_host", options.ranks_per_host},
                 {"weight", options.weight},
                 {"lasting", options.is_lasting}};
    const auto hosts = named_hosts(options);
    if (!hosts) return tl::unexpected(tell(job_verb, hosts.error(), ExitStatus::bad_config));
    if (!hosts->empty()) request["hosts"] = *hosts;
    if (options.start != 0) request["start"] = options.start;
    if (options.pattern.empty()) return request;
    if (hosts->empty()) {
        return tl::unexpected(tell(job_verb, {"--pattern: name the --hosts"}, ExitStatus::bad_config));
    }
    if (options.pattern == std::vector<std::string>{"alltoall"}) {
        request["operation"] = "alltoall";
        return request;
    }
    const auto matrix = load_matrix(options.pattern);
    if (!matrix) {
        report_config_errors(matrix.error());
        return tl::unexpected(ExitStatus::bad_config);
    }
    auto flows = flows_of(*matrix, options, hosts->size());
    if (!flows) return tl::unexpected(tell(job_verb, flows.error(), ExitStatus::bad_config));
    request["flows"] = std::move(*flows);
    return request;
}

std::string parts_text(const Json& job) {
    const auto parts = job.find("parts");
    if (parts == job.end() || !parts->is_object()) return "all";
    double least = 1;
    for (const auto& [cluster, part] : parts->items()) {
        if (part.is_number()) least = std::min(least, part.get<double>());
    }
    return fmt::format("{:.1f} %", 100 * least);
}

void print_jobs(const Json& jobs) {
    constexpr const char* row = "{:<24}  {:>6}  {:>9}  {:>7}  {:>6}  {:>7}  {:<8}  {}\n";
    fmt::print(fmt::runtime(row), "job", "user", "processes", "hosts", "weight", "part", "started",
               "paced");
    for (const Json& job : jobs) {
        const Json hosts = job.value("hosts", Json(nullptr));
        fmt::print(fmt::runtime(row), job.value("job", "-"), job.value("uid", 0U),
                   job.value("processes", 0U), hosts.is_number() ? json_text(hosts) : "?",
                   job.value("weight", 1U), parts_text(job),
                   !job.value("started", false)   ? "no"
                   : job.value("lasting", false) ? "lasting"
                                                  : "yes",
                   job.value("paced", false) ? "all the time" : "by phases");
    }
}

std::string to_text(const Json& answer) {
    return json_text(answer, 2);
}

}  // namespace

JobsCommand::JobsCommand(const CommandLine& line)
    : Command(line, job_verb, "start, end and list the jobs of this node"),
      start_(verb().add_verb("start", "tell headwayd of a job")),
      end_(verb().add_verb("end", "tell headwayd that a job is over")),
      list_(verb().add_verb("list", "list the jobs that headwayd knows")) {
    verb().needs_verb();
    for (const Verb& one : {start_, end_}) add_job_options(one);
    start_.add_option("--hosts", options_.hosts, "where it runs: lists such as a[0-3],b[0-3]");
    start_.add_option("--ranks-per-host", options_.ranks_per_host, "ranks on each host")
        .between(1U, ranks_per_host_max);
    start_.add_option("--weight", options_.weight, "of its part, against other jobs' (administrators only)")
        .between(1U, share_weight_max);
    start_.add_option("--start", options_.start,
                      "a number drawn once for the job, the same on all its nodes")
        .between(std::uint64_t{1}, glue::job_start_max);
    start_.add_option("--pattern", options_.pattern,
                      "pace it all the time: alltoall, or a matrix file as for plan --matrix "
                      "(administrators only)");
    start_.add_option("--map-by", options_.map_by,
                      "where a matrix's ranks run: slot fills a host before the next, node goes round")
        .one_of({"slot", "node"});
    start_.add_flag("--lasting", options_.is_lasting, "only `headway job end` ends it (administrators only)");
    for (const Verb& one : {start_, end_, list_}) {
        options_.control.add_to(one);
        one.add_flag("-j,--json", options_.json, "print JSON");
    }
}

void JobsCommand::add_job_options(const Verb& one) {
    one.add_option("NAME", options_.name, "the job's name, such as a Slurm job's number").required();
    one.add_option("--user", options_.user, "whose it is, name or number (administrators only)");
}

ExitStatus JobsCommand::run() const {
    Json members = Json::object();
    if (start_.is_chosen()) {
        auto request = start_request(options_);
        if (!request) return request.error();
        members = std::move(*request);
    } else if (end_.is_chosen()) {
        members["job"] = options_.name;
    }
    if (!options_.user.empty()) {
        const auto user = user_number(options_.user);
        if (!user) {
            const Error unknown{fmt::format("--user: there is no user \"{}\"", options_.user)};
            return tell(job_verb, unknown, ExitStatus::bad_config);
        }
        members["uid"] = *user;
    }
    const std::string socket = options_.control.path();
    auto client = ControlClient::connect(socket);
    if (!client) return tell(job_verb, client.error(), ExitStatus::failure);
    const char* const op = start_.is_chosen() ? "job_start" : end_.is_chosen() ? "job_end" : "jobs";
    const auto answer = client->request(op, members);
    if (!answer) return tell(job_verb, answer.error(), ExitStatus::failure);
    if (options_.json) {
        fmt::print("{}\n", to_text(*answer));
    } else if (list_.is_chosen()) {
        print_jobs(answer->value("jobs", Json::array()));
    }
    return ExitStatus::ok;
}

std::unique_ptr<Command> jobs_command(const CommandLine& line) {
    return std::make_unique<JobsCommand>(line);
}

}  // namespace headway
