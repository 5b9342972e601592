// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_judge.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headway {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

/// A number that looks random, the same everywhere (splitmix64's last steps).
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

}  // namespace

PlogptJudge::PlogptJudge(const PlogptTree& tree, const PlogptPrograms& programs,
                         const PlogptRto& rto, double latency_s)
    : tree_(tree), programs_(programs), rto_(rto), latency_s_(latency_s) {
    if (rto.policy == PlogptRtoPolicy::none || !(rto.window_s > 0)) return;
    const unsigned heights = PlogptTree::height_of(0, programs.processes() - 1);
    switches_.assign(heights + 1, std::vector<bool>(heights + 1));
    may_time_out_.assign(heights + 1, false);
    for (unsigned h = 1; h <= heights; ++h) {
        for (unsigned other = 1; other <= heights; ++other) {
            switches_[h][other] = tree.has_switches(h, other);
            if (switches_[h][other]) may_time_out_[h] = is_needed_ = true;
        }
    }
    if (!is_needed_) return;
    verdict_.resize(programs.messages(), Verdict::open);
    start_.resize(programs.messages());
    previous_start_.resize(programs.messages());
    delayed_end_.resize(programs.processes(), -1);
    state_.last_start.resize(programs.processes(), none);
}

// ------------------------------------------------------------- what is reported

void PlogptJudge::start_of(std::uint32_t message, std::uint32_t destination, double time) {
    if (!is_needed_) return;
    start_[message] = time;
    previous_start_[message] = std::exchange(state_.last_start[destination], message);
}

double PlogptJudge::delay_of(std::uint32_t number, const PlogptMessage& message, double rate,
                             double time) {
    if (!is_needed_) return 0;
    if (verdict_[number] != Verdict::open) {
        return verdict_[number] == Verdict::delayed ? rto_.timeout_s : 0;
    }
    const unsigned height = PlogptTree::height_of(message.source, message.destination);
    if (may_time_out_[height] && plogpt_fills_buffers(tree_, height, rate, message.bytes)) {
        // numbers of one process rise in program order: by rank, then by operation
        const std::uint64_t order = rto_.policy == PlogptRtoPolicy::random
                                        ? mixed(mixed(rto_.seed) ^ number)
                                        : message.source;
        state_.open.push_back({time, order, number, message});
    }
    return 0;
}

void PlogptJudge::order_ends(double time) {
    const auto first = std::find_if(state_.open.rbegin(), state_.open.rend(),
                                    [&](const OpenSend& send) { return send.end != time; });
    std::sort(first.base(), state_.open.end(), [](const OpenSend& a, const OpenSend& b) {
        return std::tie(a.order, a.message) < std::tie(b.order, b.message);
    });
}

// ---------------------------------------------------------------- (14), a witness

bool PlogptJudge::is_near(double start, double end) const {
    const double tolerance = plogpt_time_tolerance(end);
    const double apart = std::abs(start - end);
    return apart <= tolerance || apart + tolerance < rto_.window_s;
}

bool PlogptJudge::is_over(double end, double next) const {
    return next > end && !is_near(next, end);
}

bool PlogptJudge::has_switches(const PlogptMessage& a, const PlogptMessage& b) const {
    return switches_[PlogptTree::height_of(a.source, a.destination)]
                    [PlogptTree::height_of(b.source, b.destination)];
}

/// Whether a message that has started also starts, and then, if the sends judged
/// since the last time back in this judgement are delayed, all of which end at
/// `time`: it has started before, or by a process that is not delayed.
bool PlogptJudge::is_certain(std::uint32_t message, std::uint32_t source, double time) const {
    const double tolerance = plogpt_time_tolerance(time);
    if (start_[message] < time - tolerance) return true;
    return start_[message] <= time + tolerance && latency_s_ > tolerance &&
           delayed_end_[source] != time;
}

bool PlogptJudge::has_witness(const OpenSend& send, Witness wanted) const {
    const auto counts = [&](std::uint32_t message, std::uint32_t source) {
        return wanted == Witness::any || is_certain(message, source, send.end);
    };
    if (!counts(send.message, send.ends_of.source)) return false;
    for (std::uint32_t i = state_.last_start[send.ends_of.destination]; i != none;
         i = previous_start_[i]) {
        const bool near = is_near(start_[i], send.end);
        if (start_[i] < send.end && !near) return false;
        const PlogptMessage other = programs_.message(i);
        if (near && other.source != send.ends_of.source && has_switches(send.ends_of, other) &&
            counts(i, other.source)) {
            return true;
        }
    }
    return false;
}

// -------------------------------------------------------------------- judgement

/// Sends that were open when the state was copied, and have been judged since.
void PlogptJudge::skip_judged() {
    while (!state_.open.empty() && verdict_[state_.open.front().message] != Verdict::open) {
        state_.open.pop_front();
    }
}

void PlogptJudge::close(Verdict verdict) {
    const OpenSend& send = state_.open.front();
    verdict_[send.message] = verdict;
    if (verdict == Verdict::delayed) {
        ++delayed_;
        delayed_end_[send.ends_of.source] = send.end;
    }
    state_.open.pop_front();
}

std::optional<double> PlogptJudge::judge(double next) {
    skip_judged();
    // more sends may end at the same time, if they take none
    if (state_.open.empty() || next <= state_.open.front().end) return std::nullopt;
    return rto_.policy == PlogptRtoPolicy::all ? judge_together(next) : judge_in_turn(next);
}

/// Each against what stands when it is its turn.  After the first that is
/// delayed, only those whose verdict does not depend on it: going back once is
/// then enough for many.
std::optional<double> PlogptJudge::judge_in_turn(double next) {
    std::optional<double> back;
    for (; !state_.open.empty(); skip_judged()) {
        const OpenSend& send = state_.open.front();
        if (back && send.end != *back) break;
        const double end = send.end;
        if (has_witness(send, back ? Witness::certain : Witness::any)) {
            close(Verdict::delayed);
            back = end;
        } else if (!back && is_over(end, next)) {
            close(Verdict::stands);
        } else {
            break;
        }
    }
    return back;
}

/// Says of all open sends that end with the oldest whether they are delayed.  None: that is not yet
/// known of one of them.
std::optional<std::vector<bool>> PlogptJudge::judge_tie(double next) const {
    const double end = state_.open.front().end;
    std::vector<bool> delayed;
    for (const OpenSend& send : state_.open) {
        if (send.end != end) break;
        delayed.push_back(has_witness(send, Witness::any));
        if (!delayed.back() && !is_over(end, next)) return std::nullopt;
    }
    return delayed;
}

/// Judges sends that end at one time against the future in which none of them is delayed.
std::optional<double> PlogptJudge::judge_together(double next) {
    for (; !state_.open.empty(); skip_judged()) {
        const double end = state_.open.front().end;
        const auto delayed = judge_tie(next);
        if (!delayed) break;
        for (const bool one : *delayed) close(one ? Verdict::delayed : Verdict::stands);
        if (std::find(delayed->begin(), delayed->end(), true) != delayed->end()) return end;
    }
    return std::nullopt;
}

}  // namespace headway
