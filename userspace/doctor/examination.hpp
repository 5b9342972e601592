// SPDX-License-Identifier: Apache-2.0
// Two looks at a node, and what has been found in them so far.
#pragma once

#include "doctor/judge.hpp"

namespace headway {

class Examination {
public:
    Examination(const Look& first, const Look& second, double between_s)
        : before(first), after(second), sent(sent_between(first, second)), seconds(between_s) {}

    const Look& before;
    const Look& after;
    const Sent sent;
    const double seconds;  ///< from one look to the other

    void add(Weight weight, Cause cause, std::string seen, std::string to_do) {
        found_.push_back({weight, cause, std::move(seen), std::move(to_do)});
    }
    /// Where connections have stood still, this is why.
    void add_cause_of_losses(Cause cause, std::string seen, std::string to_do) {
        const Weight weight = sent.timeouts > 0 ? Weight::stalls : Weight::loses;
        found_.push_back({weight, cause, std::move(seen), std::move(to_do), true});
    }
    /// Nothing is sent for long, whether a connection is there to wait or not.
    void add_cause_of_stalls(Cause cause, std::string seen, std::string to_do) {
        found_.push_back({Weight::stalls, cause, std::move(seen), std::move(to_do), true});
    }
    /// Returns what was found, the most important first.
    [[nodiscard]] std::vector<Finding> findings() &&;

    [[nodiscard]] std::uint64_t tcp_rose(const char* counter) const;
    [[nodiscard]] std::uint64_t node_rose(const char* counter) const;
    [[nodiscard]] std::uint64_t device_rose(const std::string& name, const char* counter) const;

    [[nodiscard]] bool is_lossy() const;

private:
    std::vector<Finding> found_;
};

/// "in 0.35 s", "in 5 s".
[[nodiscard]] std::string in_seconds(double seconds);
/// The number with which a setting begins; 0: it begins with none.
[[nodiscard]] std::uint64_t number_in(const std::string& setting);

// Each adds what it finds.  judge() calls them in this order, which counts among findings of a weight.
void judge_what_the_node_drops(Examination& of);
void judge_connections(Examination& of);
void judge_devices(Examination& of);
void judge_what_was_lost(Examination& of);
void judge_settings_and_routes(Examination& of);
void judge_processors(Examination& of);
void judge_other_interfaces(Examination& of);
void judge_daemon(Examination& of);

}  // namespace headway
