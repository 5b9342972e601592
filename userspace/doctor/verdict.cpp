// SPDX-License-Identifier: Apache-2.0
#include "doctor/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace headway {
namespace {

// Of fewer segments none need have been lost, whatever the network is.
constexpr std::uint64_t segments_that_tell = 100;
// Losses without a time-out for so long are those that TCP repairs.
constexpr double long_look_s = 60;

class Decision {
public:
    Decision(const Look& before, const Look& after, const std::vector<Finding>& findings, double seconds)
        : after_(after), findings_(findings), sent_(sent_between(before, after)), seconds_(seconds) {}

    [[nodiscard]] Verdict verdict() const {
        if (!after_.failures.empty() || after_.devices.empty()) return nothing_to_look_at();
        if (const auto self = own_host(); !self.empty())
            return cannot_tell(fmt::format("{} is this node itself", self),
                               "Name hosts that this node sends to.");
        if (segments() < segments_that_tell) return is_anybody_silent() ? of_silent_hosts() : little_sent();
        if (sent_.timeouts > 0 && (after_.paths.empty() || sent_.hosts_again > 0)) return of_timeouts();
        if (is_lossy() && seconds_ < long_look_s) return without_timeouts_yet();
        return nobody_waited();
    }

private:
    [[nodiscard]] std::uint64_t segments() const {
        return after_.paths.empty() ? sent_.segments : sent_.hosts_segments;
    }
    [[nodiscard]] std::string hosts() const {
        std::string list;
        for (const HostPath& path : after_.paths) list += " " + path.host;
        return list;
    }
    [[nodiscard]] std::string own_host() const {
        const auto is_own = [](const HostPath& path) { return path.device == "lo"; };
        const auto found = std::find_if(after_.paths.begin(), after_.paths.end(), is_own);
        return found != after_.paths.end() ? found->host : "";
    }
    [[nodiscard]] bool is_anybody_silent() const { return std::ranges::any_of(after_.paths, &HostPath::is_silent); }
    [[nodiscard]] bool is_lossy() const {
        const auto again = after_.paths.empty() ? sent_.again : sent_.hosts_again;
        return static_cast<double>(again) > retransmitted_share * static_cast<double>(segments());
    }

    [[nodiscard]] Verdict cannot_tell(std::string why, std::string to_do) const {
        return {Answer::cannot_tell, std::move(why), std::move(to_do)};
    }
    [[nodiscard]] Verdict nothing_to_look_at() const {
        if (after_.failures.empty())
            return cannot_tell("there is no default route", "Name a host: headway doctor HOST.");
        return cannot_tell(fmt::format("the way to {} cannot be looked at", after_.failures.front().host),
                           "Name hosts that this node can reach.");
    }
    [[nodiscard]] Verdict little_sent() const {
        const std::string named = after_.paths.empty() ? " HOST..." : hosts();
        return cannot_tell(
            fmt::format("{} sent{} in {:.3g} s, too few to judge by",
                        segments() == 1 ? "1 segment was" : fmt::format("{} segments were", segments()),
                        after_.paths.empty() ? "" : " to" + hosts(), seconds_),
            fmt::format("Run it while your MPI program runs, or: headway doctor{} -- mpirun ./program.", named));
    }
    [[nodiscard]] Verdict of_silent_hosts() const {
        std::string list;
        for (const HostPath& path : after_.paths) list += path.is_silent ? " " + path.host : "";
        return cannot_tell("no answer has come from" + list,
                           "Name hosts that answer; a firewall may drop what is sent to TCP's port 9.");
    }
    [[nodiscard]] Verdict of_timeouts() const {
        const std::string waited =
            fmt::format("TCP has waited for {} of {:g} ms or more in {:.3g} s",
                        sent_.timeouts == 1 ? "a time-out" : fmt::format("{} time-outs", sent_.timeouts),
                        least_rto_ms(after_), seconds_);
        const auto cause = std::find_if(findings_.begin(), findings_.end(),
                                        [](const Finding& one) { return one.explains_losses; });
        if (cause != findings_.end())
            return cannot_tell(waited + ", for which there is another cause than full switch buffers",
                               "Mend the first cause below, and run this again.");
        if (after_.daemon)
            return {Answer::would_help, waited + ", and headwayd answers: this program is not paced, or the "
                                                 "network is less than headway.toml says",
                    "Start the program with headway run -- mpirun ..., and see headway status."};
        return {Answer::would_help, waited,
                "Let the job measure its network and pace itself, without root: headway run --measure -- "
                "mpirun ./program."};
    }
    [[nodiscard]] Verdict without_timeouts_yet() const {
        return cannot_tell("segments were lost, and so far none of them cost a time-out",
                           fmt::format("Look for longer: headway doctor --seconds {:.0f}{}.", long_look_s, hosts()));
    }
    [[nodiscard]] Verdict nobody_waited() const {
        const bool others_waited = sent_.timeouts > 0;
        return {Answer::would_not_help,
                fmt::format("{} segments were sent{} in {:.3g} s, and no connection {}waited for a time-out",
                            segments(), after_.paths.empty() ? "" : " to" + hosts(), seconds_,
                            others_waited ? "there " : ""),
                others_waited ? "Connections to other hosts did wait: name those hosts." : ""};
    }

    const Look& after_;
    const std::vector<Finding>& findings_;
    const Sent sent_;
    double seconds_;
};

}  // namespace

const char* answer_name(Answer answer) {
    switch (answer) {
    case Answer::would_help: return "would help";
    case Answer::would_not_help: return "would not help";
    case Answer::cannot_tell: break;
    }
    return "cannot tell yet";
}

Verdict verdict(const Look& before, const Look& after, const std::vector<Finding>& findings,
                std::chrono::duration<double> between) {
    return Decision(before, after, findings, between.count()).verdict();
}

}  // namespace headway
