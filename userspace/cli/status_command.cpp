// SPDX-License-Identifier: Apache-2.0
// `headway status`: what the running daemon says about itself.
#include <ctime>

#include <fmt/chrono.h>

#include "base/json.hpp"
#include "base/text_lines.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "config/config.hpp"
#include "protocol/control_client.hpp"

namespace headway {
namespace {

struct StatusOptions {
    ControlOptions control;
    bool json = false;
};

class StatusCommand final : public Command {
public:
    explicit StatusCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    StatusOptions options_;
};

constexpr const char* status_verb = "status";

std::string rate_text(const Json& entry, const char* key) {
    if (!entry.contains(key)) return "-";
    const Json& rate = entry[key];
    if (!rate.is_number_unsigned()) return "unlimited";
    return rate_to_text(BytesPerSecond{rate.get<std::uint64_t>()}.bits());
}

std::string text_of(const Json& object, const char* key) { return object.value(key, "-"); }

std::uint64_t number_of(const Json& object, const char* key) {
    return object.value(key, std::uint64_t{0});
}

/// Says that it paces only where it does.
void print_backend(const Json& status) {
    const Json& daemon = status["daemon"];
    const std::string what = what_paces(daemon);
    if (what.empty()) return;
    const bool is_off = status.contains("off") && status["off"].is_object();
    const char* const paced = is_off                           ? "not paced; after `headway on` by"
                              : status.value("in_step", true) ? "paced by"
                                                              : "not paced as wanted (below); wanted is pacing by";
    fmt::print("{} {}\n", paced, what);
    if (!is_resting(daemon)) return;
    fmt::print("resting: nobody is paced, and {} has its own qdiscs until somebody is\n", text_of(daemon, "interface"));
}

void print_daemon(const Json& status) {
    const Json& daemon = status["daemon"];
    fmt::print("headwayd {}, pid {}, up {:.0f} s, {}\n", text_of(daemon, "version"),
               number_of(daemon, "pid"), daemon.value("uptime_s", 0.0), text_of(daemon, "config"));
    fmt::print("node {} of cluster {}, interface {}, link {}\n", text_of(daemon, "node"),
               text_of(daemon, "cluster"), text_of(daemon, "interface"),
               rate_to_text({number_of(daemon, "link_bits_per_s")}));
    print_backend(status);
    if (const auto disputed = number_of(daemon, "disputed_cgroups"); disputed > 0) {
        fmt::print("{} of processes of several jobs, which are not told apart there\n",
                   counted(disputed, "cgroup"));
    }
}

/// Bytes; "-": packets leave as single frames.
std::string burst_text(const Json& entry) {
    const Json bytes = entry.value("burst_bytes", Json());
    return bytes.is_number_unsigned() && bytes != 0 ? fmt::format("{}", bytes.get<std::uint32_t>()) : "-";
}

void print_classes(const Json& classes) {
    constexpr const char* row = "{:<6}  {:<12}  {:<14}  {:<14}  {:>7}  {:>10}  {:>6}  {:>8}\n";
    fmt::print(fmt::runtime(row), "class", "towards", "wanted", "in force", "burst",
               "packets", "drops", "backlog");
    for (const Json& entry : classes) {
        fmt::print(fmt::runtime(row), text_of(entry, "classid"), text_of(entry, "cluster"),
                   rate_text(entry, "wanted_bytes_per_s"),
                   entry.value("in_kernel", false) ? rate_text(entry, "bytes_per_s") : "missing",
                   burst_text(entry), number_of(entry, "packets"), number_of(entry, "drops"),
                   number_of(entry, "backlog_bytes"));
    }
}

/// Each phase with the least of its rates.
void print_jobs(const Json& status) {
    if (!status.contains("jobs") || !status["jobs"].is_array()) return;
    for (const Json& job : status["jobs"]) {
        fmt::print("job {} of user {}: {}, {}", text_of(job, "job"), number_of(job, "uid"),
                   counted(number_of(job, "processes"), "process"),
                   counted(number_of(job, "phase_count"), "phase"));
        const char* separator = ": ";
        for (const Json& phase : job.value("phases", Json::array())) {
            fmt::print("{}{} ({})", separator, number_of(phase, "phase"),
                       rate_text(phase, "bytes_per_s"));
            separator = ", ";
        }
        if (job.value("told_apart", false)) {
            fmt::print("; told apart by {}", counted(number_of(job, "cgroups"), "cgroup"));
        }
        fmt::print("\n");
    }
}

void print_clients(const Json& status) {
    fmt::print("{} clients, {} paced collectives active\n", number_of(status, "client_count"),
               number_of(status, "active_enters"));
    for (const Json& client : status["clients"]) {
        fmt::print("  pid {}, user {}", number_of(client, "pid"), number_of(client, "uid"));
        if (client.value("own_network", false)) fmt::print(", in a network namespace of its own");
        if (client.contains("job")) {
            fmt::print(", job {} rank {}", text_of(client, "job"), number_of(client, "rank"));
        }
        if (client.contains("slot")) {
            fmt::print(", slot {} in phase {}", number_of(client, "slot"),
                       number_of(client, "phase"));
        }
        fmt::print(": in {} collectives", number_of(client, "enters"));
        if (client.contains("reason")) {
            fmt::print(", {}paced: {}", client.value("paced", false) ? "" : "not ",
                       text_of(client, "reason"));
        }
        fmt::print("\n");
    }
}

void print_latency(const Json& status, const char* op) {
    const Json& stats = status[op];
    fmt::print("{}: {} answered, last {:.0f} us, mean {:.0f} us, longest {:.0f} us\n", op,
               number_of(stats, "count"), stats.value("last_us", 0.0), stats.value("mean_us", 0.0),
               stats.value("max_us", 0.0));
}

void print_off(const Json& status) {
    if (!status.contains("off") || !status["off"].is_object()) return;
    const Json& off = status["off"];
    const auto since = static_cast<std::time_t>(number_of(off, "since_unix_s"));
    fmt::print("PACING IS OFF since {:%Y-%m-%d %H:%M:%S}, by user {}: all traffic goes as without "
               "Headway; `headway on` paces again\n",
               fmt::localtime(since), number_of(off, "uid"));
}

/// Prints what the kernel has refused since somebody else changed the interface.
void print_reconcile(const Json& status) {
    if (!status.contains("reconcile") || !status["reconcile"].is_object()) return;
    const Json& reconcile = status["reconcile"];
    if (const auto mended = number_of(reconcile, "mended"); mended > 0) {
        fmt::print("kernel: changed by others and set up again {}\n",
                   mended == 1 ? "once" : fmt::format("{} times", mended));
    }
    if (!reconcile.contains("error") || !reconcile["error"].is_string()) return;
    fmt::print("kernel: {}\n", reconcile["error"].get<std::string>());
    const Json failed = reconcile.value("failed", Json::array());
    const char* separator = "kernel: refused: ";
    for (const Json& object : failed) {
        if (!object.is_string()) continue;
        fmt::print("{}{}", separator, object.get<std::string>());
        separator = ", ";
    }
    if (!failed.empty()) fmt::print("\n");
}

/// Hosts whose settings are not those of most.
void print_differing(const Json& shared) {
    const Json hosts = shared.value("differing", Json::array());
    if (!hosts.is_array() || hosts.empty()) return;
    std::string names;
    for (const Json& host : hosts) {
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", text_of(host, "host"),
                             host.value("configuration", Json()).is_null() ? "not understood"
                                                                           : text_of(host, "configuration"));
    }
    const auto leading = shared.value("leading_configuration", Json());
    fmt::print("trunk: {} of the hosts have other settings than most ({}) and stay at their fallback: {}{}\n",
               number_of(shared, "differing_hosts"),
               leading.is_null() ? "not understood" : text_of(shared, "leading_configuration"), names,
               leading == shared.value("configuration", Json()) ? "" : "; this node does not share");
}

void print_coordination(const Json& status) {
    if (!status.contains("coordination") || !status["coordination"].is_object()) return;
    const Json& shared = status["coordination"];
    fmt::print("trunk of {} shared by {} hosts through etcd: may use {} (fallback {})\n",
               rate_text(shared, "trunk_bytes_per_s"), number_of(shared, "hosts"),
               shared.value("share_bytes_per_s", Json()).is_null()
                   ? "what the kernel still has"
                   : rate_text(shared, "share_bytes_per_s"),
               rate_text(shared, "fallback_bytes_per_s"));
    fmt::print("trunk: {} of {} hosts live, epoch {} {}, lease {}, {}\n",
               number_of(shared, "live_hosts"), number_of(shared, "hosts"),
               number_of(shared, "epoch"),
               shared.value("agreed", false)
                   ? "agreed"
                   : fmt::format("not agreed, {} to acknowledge", number_of(shared, "waiting_for")),
               shared.value("has_lease", false)
                   ? fmt::format("for {} ms", number_of(shared, "lease_left_ms"))
                   : "none",
               shared.value("settled", false) ? "settled" : "not settled");
    print_differing(shared);
    fmt::print("etcd: {}{}\n", shared.value("watched", false) ? "watching " : "",
               text_of(shared, "store"));
}

void print_feedback(const Json& status) {
    if (!status.contains("feedback") || !status["feedback"].is_object()) return;
    const Json& feedback = status["feedback"];
    const Json factor = feedback.value("divisor_factor", Json());
    fmt::print("feedback: {}{}; {} time-outs, {} of {} segments sent again\n",
               factor.is_number() ? fmt::format("links are divided by {:g} times more, buffers not trusted",
                                                factor.get<double>())
                                  : "plans hold",
               feedback.value("at_its_bound", false) ? ", and packets are lost even so" : "",
               number_of(feedback, "timeouts"), number_of(feedback, "retransmissions"),
               number_of(feedback, "segments"));
}

/// Whether the answer has the shape that the printers rely on.
bool is_complete(const Json& status) {
    for (const char* key : {"daemon", "enter", "leave"}) {
        if (!status.contains(key) || !status[key].is_object()) return false;
    }
    for (const char* key : {"classes", "clients"}) {
        if (!status.contains(key) || !status[key].is_array()) return false;
    }
    return true;
}

void print_text(const Json& status) {
    print_daemon(status);
    print_off(status);
    if (status.contains("kernel_error") && status["kernel_error"].is_string()) {
        fmt::print("kernel: {}\n", status["kernel_error"].get<std::string>());
    }
    print_reconcile(status);
    print_coordination(status);
    print_feedback(status);
    if (!status.value("in_step", false)) {
        fmt::print("kernel: not as wanted; headwayd is trying again\n");
    }
    fmt::print("\n");
    print_classes(status["classes"]);
    print_jobs(status);
    fmt::print("\n");
    print_clients(status);
    print_latency(status, "enter");
    print_latency(status, "leave");
    if (status.contains("phase") && status["phase"].is_object()) print_latency(status, "phase");
}

}  // namespace

StatusCommand::StatusCommand(const CommandLine& line)
    : Command(line, status_verb, "show what the running headwayd does") {
    options_.control.add_to(verb());
    verb().add_flag("-j,--json", options_.json, "print JSON");
}

ExitStatus StatusCommand::run() const {
    const StatusOptions& options = options_;
    const std::string socket = options.control.path();
    auto client = ControlClient::connect(socket);
    if (!client) return tell(status_verb, client.error(), ExitStatus::failure);
    const auto status = client->request("status");
    if (!status) return tell(status_verb, status.error(), ExitStatus::failure);
    if (options.json) {
        fmt::print("{}\n", json_text(*status, 2));
    } else if (is_complete(*status)) {
        print_text(*status);
    } else {
        return tell(status_verb, {"headwayd's answer is incomplete; is it of another version?"}, ExitStatus::failure);
    }
    return ExitStatus::ok;
}

std::unique_ptr<Command> status_command(const CommandLine& line) {
    return std::make_unique<StatusCommand>(line);
}

}  // namespace headway
