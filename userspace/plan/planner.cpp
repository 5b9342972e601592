// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.hpp"

#include <algorithm>
#include <bit>

#include "plan/exchange_division.hpp"
#include "plan/planner_measured.hpp"
#include "plan/prediction.hpp"

namespace headway {
namespace {

/// Relative difference below which two times are the same.
constexpr double time_tolerance = 1e-9;

double bytes_between_hosts(const AllToAllPattern& pattern, std::uint64_t message_bytes) {
    const double ranks = pattern.ranks_per_host;
    return ranks * ranks * static_cast<double>(message_bytes);
}

/// The rows of the clusters that take part: one for each group of the exchange.
ExchangeRates rows_of_groups(const Exchange& exchange, const ExchangeRates& by_cluster) {
    ExchangeRates rows;
    for (const HostGroup& group : exchange.groups) rows.push_back(by_cluster[group.cluster]);
    return rows;
}

/// Times of one exchange, with what measurements say of the same.
class Predictor {
public:
    Predictor(const Topology& topology, const Exchange& exchange)
        : topology_(topology), exchange_(exchange), measured_(measured_times(topology, exchange)) {}

    /// All links may be used.
    [[nodiscard]] Prediction unpaced() const {
        Prediction prediction = predict(topology_, exchange_, make_network(topology_, exchange_, 1));
        if (measured_) set_measured(prediction, measured_->unpaced_s);
        return prediction;
    }

    [[nodiscard]] Prediction capped(const ExchangeRates& rates, double use) const {
        ExchangeNetwork network = make_network(topology_, exchange_, use);
        cap_flows(network, exchange_, rates);
        Prediction prediction = predict(topology_, exchange_, network);
        if (measured_) set_measured(prediction, prediction.high_s + measured_->overhead_s);
        return prediction;
    }

private:
    void set_measured(Prediction& prediction, double time_s) const {
        prediction.measured = Prediction::Measured{time_s, measured_->source, measured_->was_lossy};
    }

    const Topology& topology_;
    const Exchange& exchange_;
    std::optional<MeasuredTimes> measured_;
};

/// The least share in thousandths at which nothing overflows; overflow ends as
/// the share grows.  divisor_one if it does not.
template <class Fits>
std::uint32_t least_share(const Fits& fits_at) {
    std::uint32_t overflows = 0;
    std::uint32_t fits = divisor_one;
    while (fits - overflows > 1) {
        const std::uint32_t middle = (fits + overflows) / 2;
        (fits_at(middle) ? fits : overflows) = middle;
    }
    return fits;
}

bool is_no_later(const Prediction& prediction, const Prediction& other) {
    return prediction.high_s <= other.high_s * (1 + time_tolerance);
}

/// Links turned out to carry less: more overflows, and more often, than is predicted.
bool knows_better(const PlanPolicy& policy) {
    return policy.divisor_factor_thousandths > divisor_one;
}

/// Whether what was measured decides, instead of the fluid model.
bool is_known_lossy(const Prediction& unpaced) { return unpaced.measured && unpaced.measured->was_lossy; }

bool needs_no_pacing(const Prediction& unpaced) { return unpaced.timeouts == 0 && !is_known_lossy(unpaced); }

bool cannot_help(const Prediction& paced, const Prediction& unpaced, const PlanPolicy& policy) {
    constexpr double known_to = 1.05;  // of two measured times
    if (knows_better(policy)) return false;
    if (is_known_lossy(unpaced)) return paced.measured->time_s * known_to >= unpaced.measured->time_s;
    return paced.high_s * policy.target_utilisation() * (1 + time_tolerance) >= unpaced.high_s;
}

std::string why_no_help(const Prediction& paced, const Prediction& unpaced) {
    if (is_known_lossy(unpaced)) {
        return fmt::format("pacing cannot help: by {}, the exchange takes {} unpaced and {} paced",
                           unpaced.measured->source, seconds_text(unpaced.measured->time_s),
                           seconds_text(paced.measured->time_s));
    }
    return fmt::format("pacing cannot help: paced {} at the latest, unpaced {}, its time-outs included",
                       seconds_text(paced.high_s), seconds_text(unpaced.high_s));
}

/// What is added to a plan's reason where measurements have decided; else nothing.
std::string decided_by(const Prediction& paced, const Prediction& unpaced) {
    if (!is_known_lossy(unpaced)) return "";
    return fmt::format("{}; by {}, it takes {} unpaced and {} as planned",
                       unpaced.timeouts == 0 ? ", and buffers are not relied on" : "",
                       unpaced.measured->source, seconds_text(unpaced.measured->time_s),
                       seconds_text(paced.measured->time_s));
}

/// A plan at some share, and how long it takes.
struct Candidate {
    AllToAllPlan shares;
    Prediction prediction;
};

class AllToAllSearch {
public:
    AllToAllSearch(const Topology& topology, const PlanPolicy& policy,
                   const AllToAllPattern& pattern, std::uint64_t message_bytes)
        : topology_(topology),
          policy_(policy),
          pattern_(pattern),
          exchange_(*make_exchange(Operation::alltoall, counted(), 0,
                                   bytes_between_hosts(pattern, message_bytes))),
          predictor_(topology, exchange_) {}

    AllToAllSearch(const AllToAllSearch&) = delete;
    AllToAllSearch& operator=(const AllToAllSearch&) = delete;

    [[nodiscard]] const HostCounts& counted() const {
        return pattern_.siblings_disjoint ? pattern_.communicator : pattern_.job;
    }

    [[nodiscard]] Prediction unpaced() const { return predictor_.unpaced(); }

    /// `buffers_hold`: what is known of buffers may be relied on.
    [[nodiscard]] Result<Candidate> best(bool buffers_hold) const {
        auto whole = at_share(divisor_one);
        if (!whole || policy_.trunk_divisor_thousandths || !whole->shares.paced()) return whole;
        if (knows_better(policy_) || !buffers_hold) return whole;
        auto least = at_share(least_share([&](std::uint32_t thousandths) {
            const auto candidate = at_share(thousandths);
            return candidate && candidate->prediction.timeouts == 0;
        }));
        if (!least || !is_no_later(least->prediction, whole->prediction)) return whole;
        if (least->shares.limit->kind != LinkKind::edge_in) note_share(least->shares);
        return least;
    }

private:
    [[nodiscard]] Result<Candidate> at_share(std::uint32_t thousandths) const {
        PlanPolicy policy = policy_;
        policy.sender_share_thousandths = thousandths;
        auto shares = plan_alltoall(topology_, policy, pattern_);
        if (!shares) return tl::unexpected(shares.error());
        Candidate candidate{std::move(*shares), {}};
        if (candidate.shares.paced()) {
            candidate.prediction = predictor_.capped(rows_of_groups(exchange_, candidate.shares.rates),
                                                     policy_.target_utilisation());
        }
        return candidate;
    }

    static void note_share(AllToAllPlan& shares) {
        const LinkShare& link = *shares.limit;
        if (link.divisor_thousandths >= link.senders * divisor_one) return;
        shares.notes.push_back(fmt::format(
            "the {} senders may ask for more than the link has: divided by {}, because its buffer "
            "holds the surplus of messages of this size",
            link.senders, divisor_to_text(link.divisor_thousandths)));
    }

    const Topology& topology_;
    const PlanPolicy& policy_;
    const AllToAllPattern& pattern_;
    Exchange exchange_;
    Predictor predictor_;
};

AllToAllPlan do_not_pace(AllToAllPlan shares, std::string reason) {
    AllToAllPlan plan;
    plan.hosts = std::move(shares.hosts);
    plan.notes = std::move(shares.notes);
    plan.reason = std::move(reason);
    return plan;
}

}  // namespace

Result<CollectivePlan> plan_collective(const Topology& topology, const PlanPolicy& policy,
                                       const AllToAllPattern& pattern,
                                       std::optional<std::uint64_t> message_bytes) {
    CollectivePlan plan;
    plan.message_bytes = message_bytes;
    auto whole = plan_alltoall(topology, policy, pattern);
    if (!whole) return tl::unexpected(whole.error());
    plan.shares = std::move(*whole);
    if (!message_bytes || *message_bytes == 0) return plan;

    const AllToAllSearch search(topology, policy, pattern, *message_bytes);
    plan.unpaced = search.unpaced();
    if (!plan.is_paced()) return plan;
    if (needs_no_pacing(*plan.unpaced)) {
        plan.shares = do_not_pace(std::move(plan.shares), plan.unpaced->reason);
        return plan;
    }
    auto best = search.best(plan.unpaced->timeouts > 0);
    if (!best) return tl::unexpected(best.error());
    if (cannot_help(best->prediction, *plan.unpaced, policy)) {
        plan.shares = do_not_pace(std::move(plan.shares),
                                  why_no_help(best->prediction, *plan.unpaced));
        return plan;
    }
    plan.shares = std::move(best->shares);
    plan.shares.reason += decided_by(best->prediction, *plan.unpaced);
    plan.paced = std::move(best->prediction);
    return plan;
}

Result<ExchangePlan> plan_exchange(const Topology& topology, const PlanPolicy& policy,
                                   const Exchange& exchange, const ModelProgress& progress) {
    ExchangePlan plan;
    std::uint64_t simulated = 0;
    const auto tell = [&] {  // least_share() halves divisor_one; three more are outside it
        if (progress) progress(++simulated, std::bit_width(divisor_one) + 3);
    };
    const Predictor predictor(topology, exchange);
    plan.unpaced = predictor.unpaced();
    tell();
    plan.reason = plan.unpaced.reason;
    const double use = policy.target_utilisation();
    const ExchangeNetwork network = make_network(topology, exchange, use);
    const auto [end_s, limit] = earliest_end(network.fluid);
    if (limit) plan.limit = network.links[*limit];
    if (needs_no_pacing(plan.unpaced)) return plan;

    const auto rates_at = [&, whole_s = end_s * policy.divisor_factor()](std::uint32_t thousandths) {
        return rates_for_end(topology, exchange, network, whole_s * thousandths / divisor_one);
    };
    const auto predict_at = [&](std::uint32_t thousandths) {
        tell();
        return predictor.capped(rates_at(thousandths), use);
    };
    if (has_zero_rate(rates_at(divisor_one))) {
        return failure("the shares of some hosts are less than 8bit, the slowest rate there is");
    }
    std::uint32_t share = divisor_one;
    Prediction paced = predict_at(share);
    if (!knows_better(policy) && plan.unpaced.timeouts > 0) {
        const std::uint32_t least = least_share(
            [&](std::uint32_t thousandths) { return predict_at(thousandths).timeouts == 0; });
        if (Prediction faster = predict_at(least); is_no_later(faster, paced)) {
            share = least;
            paced = std::move(faster);
        }
    }
    if (cannot_help(paced, plan.unpaced, policy)) {
        plan.reason = why_no_help(paced, plan.unpaced);
        return plan;
    }
    plan.paced = true;
    plan.reason = paced.reason + decided_by(paced, plan.unpaced);
    plan.rates = rates_at(share);
    plan.chosen = std::move(paced);
    return plan;
}

}  // namespace headway
