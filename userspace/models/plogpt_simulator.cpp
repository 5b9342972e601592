// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/indexed_heap.hpp"
#include "models/plogpt_judge.hpp"
#include "models/plogpt_network.hpp"

namespace headway {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Process {
    std::uint32_t next = 0;  ///< step
    /// The message whose end it waits for, and in which role; nothing: none.
    PlogptStep awaited;
};

/// All that changes with time, and can be taken back to an earlier time.
struct State {
    State(const PlogptTree& tree, std::uint32_t processes_)
        : network(tree, processes_), processes(processes_), waking(processes_) {}

    PlogptNetwork network;
    std::vector<Process> processes;
    IndexedHeap waking;  ///< processes that wait for a time that is known
    double now = 0;
    double makespan_s = 0;
    std::size_t sent = 0;  ///< how many entries of the log stand
};

class Simulation {
public:
    Simulation(const PlogptSystem& system, const PlogptPrograms& programs, const PlogptRto& rto,
               PlogptRecord record)
        : system_(system),
          programs_(programs),
          judge_(system.tree, programs, rto, system.latency_s),
          state_(system.tree, programs.processes()),
          sent_s_(programs.messages(), unknown),
          checkpoint_every_(16 + programs.processes() / 4) {
        if (record == PlogptRecord::no) return;
        leave_s_.resize(programs.processes());
        for (std::uint32_t p = 0; p < leave_s_.size(); ++p) leave_s_[p].resize(programs.steps(p));
    }

    Result<PlogptRun> run();

private:
    struct Checkpoint {
        double next = 0;  ///< time of the first event that has not happened
        State state;
        PlogptJudge::State judged;
    };

    [[nodiscard]] double next_event() const;
    void start();
    void step_to(double now);
    void advance(std::uint32_t process);
    bool pass(std::uint32_t process, const PlogptStep& step);
    void send(std::uint32_t message);
    void end_of(const PlogptNetwork::Ended& ended);
    void tell(std::uint32_t process, PlogptStepKind role, std::uint32_t message, double time);
    void keep_checkpoint(double next);
    void go_back_to(double time);
    [[nodiscard]] Result<void> check_all_finished() const;

    const PlogptSystem& system_;
    const PlogptPrograms& programs_;
    PlogptJudge judge_;
    State state_;
    std::vector<double> sent_s_;         ///< O.f of Isends; unknown before
    std::vector<std::uint32_t> sent_log_;  ///< messages in the order of their ends
    std::vector<std::vector<double>> leave_s_;
    std::vector<Checkpoint> checkpoints_;
    std::size_t checkpoint_every_;  ///< so many messages sent
    // of one time; members to keep their memory
    std::vector<PlogptNetwork::Ended> ended_;
    std::vector<std::uint32_t> ready_;
};

double Simulation::next_event() const {
    const double waking = state_.waking.empty() ? infinite : state_.waking.top_key();
    return std::min(state_.network.next_end(), waking);
}

Result<PlogptRun> Simulation::run() {
    start();
    for (;;) {
        const double next = next_event();
        if (const auto time = judge_.judge(next)) {
            go_back_to(*time);
            continue;
        }
        if (next == infinite) break;
        keep_checkpoint(next);
        step_to(next);
    }
    if (auto finished = check_all_finished(); !finished) return tl::unexpected(finished.error());
    return PlogptRun{state_.makespan_s, judge_.delayed(), std::move(leave_s_),
                     std::move(sent_s_)};
}

void Simulation::start() {
    for (std::uint32_t p = 0; p < programs_.processes(); ++p) advance(p);
    state_.network.settle(state_.now);
}

/// All that happens at one time.
void Simulation::step_to(double now) {
    state_.now = now;
    const double until = now + plogpt_time_tolerance(now);
    ended_.clear();
    ready_.clear();
    state_.network.take_ended(until, ended_);
    while (!state_.waking.empty() && state_.waking.top_key() <= until) {
        ready_.push_back(state_.waking.top());
        state_.waking.remove(ready_.back());
    }
    for (const PlogptNetwork::Ended& ended : ended_) end_of(ended);
    judge_.order_ends(now);
    for (const std::uint32_t process : ready_) advance(process);
    state_.network.settle(now);
}

// ------------------------------------------------------------------- processes

void Simulation::advance(std::uint32_t number) {
    Process& process = state_.processes[number];
    const std::uint32_t steps = programs_.steps(number);
    while (process.next < steps) {
        if (!pass(number, programs_.step(number, process.next))) return;
        if (!leave_s_.empty()) leave_s_[number][process.next] = state_.now;
        ++process.next;
        state_.makespan_s = std::max(state_.makespan_s, state_.now);
    }
}

/// Whether the process leaves this step now.
bool Simulation::pass(std::uint32_t number, const PlogptStep& step) {
    if (step.kind == PlogptStepKind::nothing || step.kind == PlogptStepKind::irecv) return true;
    if (step.kind == PlogptStepKind::isend) {
        send(step.message);
        return true;
    }
    const double after_s = step.kind == PlogptStepKind::wait_irecv ? system_.latency_s : 0;
    const double finish = sent_s_[step.message] + after_s;
    if (std::isnan(finish)) {
        state_.processes[number].awaited = step;
        return false;
    }
    if (finish <= state_.now + plogpt_time_tolerance(state_.now)) return true;
    state_.waking.set(number, finish);
    return false;
}

void Simulation::send(std::uint32_t number) {
    const PlogptMessage message = programs_.message(number);
    const double amount = system_.tree.bandwidth(1) * system_.gap(message.bytes);
    state_.network.start(message.source, message.destination, amount, number);
    judge_.start_of(number, message.destination, state_.now);
}

void Simulation::end_of(const PlogptNetwork::Ended& ended) {
    const PlogptMessage message = programs_.message(ended.label);
    const double late_s = judge_.delay_of(ended.label, message, ended.rate, state_.now);
    const double sent_s = state_.now + late_s;
    sent_s_[ended.label] = sent_s;
    if (judge_.is_needed()) {
        sent_log_.resize(state_.sent);
        sent_log_.push_back(ended.label);
    }
    ++state_.sent;
    tell(message.source, PlogptStepKind::wait_isend, ended.label, sent_s);
    tell(message.destination, PlogptStepKind::wait_irecv, ended.label,
         sent_s + system_.latency_s);
}

void Simulation::tell(std::uint32_t number, PlogptStepKind role, std::uint32_t message,
                      double time) {
    PlogptStep& awaited = state_.processes[number].awaited;
    if (awaited.kind != role || awaited.message != message) return;
    awaited = {};
    if (time <= state_.now + plogpt_time_tolerance(state_.now)) ready_.push_back(number);
    else state_.waking.set(number, time);
}

Result<void> Simulation::check_all_finished() const {
    if (state_.network.flows() > 0 || !state_.waking.empty()) {
        return failure("times grow beyond what a number can hold");
    }
    for (std::uint32_t p = 0; p < programs_.processes(); ++p) {
        const std::uint32_t at = state_.processes[p].next;
        if (at < programs_.steps(p)) return failure("rank {} op {}: waits for ever", p, at);
    }
    return {};
}

// ---------------------------------------------------------------- back in time

/// A copy now and then, seldom enough to cost less than what lies between.
void Simulation::keep_checkpoint(double next) {
    constexpr std::size_t most = 16;
    if (!judge_.is_needed()) return;
    if (!checkpoints_.empty()) {
        const std::size_t since = state_.sent - checkpoints_.back().state.sent;
        // never in the middle of a time, where some of its sends have ended
        if (since < checkpoint_every_ || next <= state_.now) return;
    }
    while (checkpoints_.size() > 1 && checkpoints_[1].next <= judge_.oldest_open(next)) {
        checkpoints_.erase(checkpoints_.begin());
    }
    if (checkpoints_.size() == most) {  // a long window: fewer of them, further apart
        for (std::size_t i = 1; i < most / 2; ++i) checkpoints_[i] = std::move(checkpoints_[2 * i]);
        checkpoints_.erase(checkpoints_.begin() + most / 2, checkpoints_.end());
        checkpoint_every_ *= 2;
    }
    checkpoints_.push_back({next, state_, judge_.state()});
}

void Simulation::go_back_to(double time) {
    while (checkpoints_.back().next > time) checkpoints_.pop_back();
    const std::size_t sent = state_.sent;
    state_ = checkpoints_.back().state;
    judge_.set_state(checkpoints_.back().judged);
    for (std::size_t i = state_.sent; i < sent; ++i) sent_s_[sent_log_[i]] = unknown;
}

}  // namespace

Result<PlogptRun> simulate_plogpt(const PlogptSystem& system, const PlogptPrograms& programs,
                                  const PlogptRto& rto, PlogptRecord record) {
    if (programs.processes() > system.tree.leaves()) {
        return failure("{} processes in a tree of {} leaves", programs.processes(),
                       system.tree.leaves());
    }
    if (programs.processes() == 0) return PlogptRun{};
    if (std::isinf(system.tree.bandwidth(1))) return failure("b(1) must be finite");
    return Simulation(system, programs, rto, record).run();
}

Result<PlogptRange> simulate_plogpt_range(const PlogptSystem& system,
                                          const PlogptPrograms& programs, const PlogptRto& rto,
                                          unsigned seeds) {
    PlogptRto used = rto;
    used.policy = PlogptRtoPolicy::none;
    const auto without = simulate_plogpt(system, programs, used);
    if (!without) return tl::unexpected(without.error());
    PlogptRange range{without->makespan_s, infinite, 0};
    used.policy = PlogptRtoPolicy::random;
    for (used.seed = 0; used.seed < seeds; ++used.seed) {
        const auto run = simulate_plogpt(system, programs, used);
        if (!run) return tl::unexpected(run.error());
        range.least_s = std::min(range.least_s, run->makespan_s);
        range.most_s = std::max(range.most_s, run->makespan_s);
    }
    if (seeds == 0) range.least_s = range.most_s = range.without_rto_s;
    return range;
}

}  // namespace headway
