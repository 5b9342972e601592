// SPDX-License-Identifier: Apache-2.0
// Which sends of a PlogPT simulation time out: (14) of plogpt_rto.hpp, with the
// policies written there.
//
// The simulation runs ahead as if no send timed out that is not judged yet.  A
// send that fills its buffers is open from its end until its window, eps_T, is
// over or a witness has turned up: the O' of (14).  The oldest open send is
// judged first.  If it times out, what was simulated after its end is void, and
// judge() says to which time the simulation has to go back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/plogpt_program.hpp"
#include "models/plogpt_rto.hpp"

namespace headway {

/// Two times nearer than this are one time: rounding, after some thousand
/// messages one after the other.
[[nodiscard]] inline double plogpt_time_tolerance(double time) { return 1e-11 * time; }

class PlogptJudge {
public:
    struct OpenSend {
        double end = 0;               ///< O.f_noRTO
        std::uint64_t order = 0;      ///< among those that end at this time
        std::uint32_t message = 0;
        PlogptMessage ends_of;
    };

    /// The part that goes back in time with the simulation; verdicts stand.
    struct State {
        std::deque<OpenSend> open;               ///< by end, then order
        std::vector<std::uint32_t> last_start;  ///< message, by destination
    };

    PlogptJudge(const PlogptTree& tree, const PlogptPrograms& programs, const PlogptRto& rto,
                double latency_s);

    /// Whether any send could time out.  If not, nothing needs to be kept.
    [[nodiscard]] bool is_needed() const { return is_needed_; }
    [[nodiscard]] const State& state() const { return state_; }
    void set_state(const State& state) { state_ = state; }
    [[nodiscard]] std::uint64_t delayed() const { return delayed_; }

    void start_of(std::uint32_t message, std::uint32_t destination, double time);
    /// A send ends at this rate: T_RTO if it is known to time out, or else 0.
    double delay_of(std::uint32_t number, const PlogptMessage& message, double rate, double time);
    /// All ends at this time have been told.
    void order_ends(double time);

    /// Judges what can be judged if nothing more happens before `next`.  A time:
    /// go back there, the verdict on a send that ends then has changed.
    [[nodiscard]] std::optional<double> judge(double next);

    /// The end of the oldest open send, or `otherwise`.
    [[nodiscard]] double oldest_open(double otherwise) const {
        return state_.open.empty() ? otherwise : state_.open.front().end;
    }

private:
    enum class Verdict : std::uint8_t { open, stands, delayed };
    enum class Witness { any, certain };

    [[nodiscard]] bool is_near(double start, double end) const;
    [[nodiscard]] bool is_over(double end, double next) const;
    [[nodiscard]] bool has_switches(const PlogptMessage& a, const PlogptMessage& b) const;
    [[nodiscard]] bool is_certain(std::uint32_t message, std::uint32_t source, double time) const;
    [[nodiscard]] bool has_witness(const OpenSend& send, Witness wanted) const;
    void skip_judged();
    void close(Verdict verdict);
    std::optional<double> judge_in_turn(double next);
    [[nodiscard]] std::optional<std::vector<bool>> judge_tie(double next) const;
    std::optional<double> judge_together(double next);

    const PlogptTree& tree_;
    const PlogptPrograms& programs_;
    PlogptRto rto_;
    double latency_s_;
    bool is_needed_ = false;
    std::vector<std::vector<bool>> switches_;  ///< P_S by heights
    std::vector<bool> may_time_out_;           ///< a height: P_S with any other
    State state_;
    std::vector<Verdict> verdict_;               ///< by message
    std::vector<double> start_;                  ///< O.e by message
    std::vector<std::uint32_t> previous_start_;  ///< message to the same destination
    std::vector<double> delayed_end_;            ///< by process: of its last send that was delayed
    std::uint64_t delayed_ = 0;
};

}  // namespace headway
