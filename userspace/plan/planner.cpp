// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.hpp"

#include <bit>

#include "plan/planner_measured.hpp"

namespace headway {
namespace {

/// Relative difference below which two times are the same.
constexpr double time_tolerance = 1e-9;

/// Times of one exchange, with what measurements say of the same.
class Predictor {
public:
    Predictor(const Topology& topology, const Exchange& exchange, const PlanPolicy& policy)
        : whole_(topology, exchange, 1),
          planned_(topology, exchange, policy.target_utilisation()),
          measured_(measured_times(topology, exchange)) {}

    /// With the part of the links that may be used when paced.
    [[nodiscard]] const ExchangeNetwork& planned() const { return planned_; }

    /// All links may be used.
    [[nodiscard]] Prediction unpaced() const {
        Prediction prediction = predict(whole_);
        if (measured_) prediction.measured = measured_->unpaced;
        return prediction;
    }

    [[nodiscard]] Prediction capped(const RatesByCluster& rates) const {
        ExchangeNetwork network = planned_;
        network.cap_flows(rates);
        Prediction prediction = predict(network);
        if (measured_) {
            prediction.measured = measured_->unpaced;
            prediction.measured->time_s = prediction.high_s + measured_->overhead_s;
        }
        return prediction;
    }

private:
    ExchangeNetwork whole_;
    ExchangeNetwork planned_;
    std::optional<MeasuredTimes> measured_;
};

bool is_no_later(const Prediction& prediction, const Prediction& other) {
    return prediction.high_s <= other.high_s * (1 + time_tolerance);
}

/// Links turned out to carry less: more overflows, and more often, than is predicted.
bool knows_better(const PlanPolicy& policy) {
    return policy.divisor_factor_thousandths > divisor_one;
}

/// Whether what was measured decides, instead of the fluid model.
bool is_known_lossy(const Prediction& unpaced) {
    return unpaced.measured && unpaced.measured->was_lossy;
}

bool may_rely_on_buffers(const Prediction& unpaced, const PlanPolicy& policy) {
    return !knows_better(policy) && unpaced.timeouts > 0;
}

bool needs_no_pacing(const Prediction& unpaced) {
    return unpaced.timeouts == 0 && !is_known_lossy(unpaced);
}

bool cannot_help(const Prediction& paced, const Prediction& unpaced, const PlanPolicy& policy) {
    constexpr double known_to = 1.05;  // of two measured times
    if (knows_better(policy)) return false;
    if (is_known_lossy(unpaced))
        return paced.measured->time_s * known_to >= unpaced.measured->time_s;
    return paced.high_s * policy.target_utilisation() * (1 + time_tolerance) >= unpaced.high_s;
}

std::string why_no_help(const Prediction& paced, const Prediction& unpaced) {
    if (is_known_lossy(unpaced)) {
        return fmt::format("pacing cannot help: by {}, the exchange takes {} unpaced and {} paced",
                           unpaced.measured->source, seconds_text(unpaced.measured->time_s),
                           seconds_text(paced.measured->time_s));
    }
    return fmt::format(
        "pacing cannot help: paced {} at the latest, unpaced {}, its time-outs included",
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

/// A share in thousandths, and how long its rates take.
struct Candidate {
    std::uint32_t share = divisor_one;
    Prediction paced;
};

/// Step 2: all of it, or, if it `may_be_less`, the least share at which nothing overflows; overflow
/// ends as the share grows.  `predict_at(share)` is none where links cannot be divided by that.
template <class PredictAt>
Candidate best_share(const PredictAt& predict_at, bool may_be_less) {
    Candidate whole{divisor_one, *predict_at(divisor_one)};
    if (!may_be_less) return whole;
    std::uint32_t overflows = 0;
    std::uint32_t fits = divisor_one;
    while (fits - overflows > 1) {
        const std::uint32_t middle = (fits + overflows) / 2;
        const std::optional<Prediction> prediction = predict_at(middle);
        (prediction && prediction->timeouts == 0 ? fits : overflows) = middle;
    }
    std::optional<Prediction> least = predict_at(fits);
    if (!least || !is_no_later(*least, whole.paced)) return whole;
    return {fits, std::move(*least)};
}

void note_share(AllToAllPlan& shares) {
    const LinkShare& link = *shares.limit;
    if (!link.is_trunk()) return;
    shares.notes.push_back(fmt::format(
        "the {} senders may ask for more than the link has: divided by {}, because its buffer "
        "holds the surplus of messages of this size",
        link.senders, divisor_to_text(link.divisor_thousandths)));
}

void do_not_pace(AllToAllPlan& shares, std::string reason) {
    shares.limit.reset();
    shares.rates.clear();
    shares.reason = std::move(reason);
}

}  // namespace

Result<CollectivePlan> plan_collective(const Topology& topology, const PlanPolicy& policy,
                                       const AllToAllPattern& pattern,
                                       std::optional<std::uint64_t> message_bytes) {
    auto whole = plan_alltoall(topology, policy, pattern);
    if (!whole) return tl::unexpected(whole.error());
    CollectivePlan plan{std::move(*whole), message_bytes, {}, {}};
    if (message_bytes.value_or(0) == 0) return plan;

    const double ranks = pattern.ranks_per_host;
    const Exchange exchange =
        exchange_among(plan.shares.hosts, ranks * ranks * static_cast<double>(*message_bytes));
    const Predictor predictor(topology, exchange, policy);
    plan.unpaced = predictor.unpaced();
    if (!plan.is_paced()) return plan;
    if (needs_no_pacing(*plan.unpaced)) {
        do_not_pace(plan.shares, plan.unpaced->reason);
        return plan;
    }
    const auto predict_at = [&](std::uint32_t share) -> std::optional<Prediction> {
        const auto shares = plan_alltoall(topology, policy, pattern, share);
        if (!shares) return std::nullopt;
        RatesByCluster rates;  // of the clusters that take part
        for (const auto& group : exchange.groups) rates.push_back(shares->rates[group.cluster]);
        return predictor.capped(rates);
    };
    Candidate best = best_share(predict_at, may_rely_on_buffers(*plan.unpaced, policy) &&
                                                !policy.trunk_divisor_thousandths);
    if (cannot_help(best.paced, *plan.unpaced, policy)) {
        do_not_pace(plan.shares, why_no_help(best.paced, *plan.unpaced));
        return plan;
    }
    if (best.share < divisor_one) {
        plan.shares = *plan_alltoall(topology, policy, pattern, best.share);
        note_share(plan.shares);
    }
    plan.shares.reason += decided_by(best.paced, *plan.unpaced);
    plan.paced = std::move(best.paced);
    return plan;
}

Result<ExchangePlan> plan_exchange(const Topology& topology, const PlanPolicy& policy,
                                   const Exchange& exchange, const ModelProgress& progress) {
    std::uint64_t simulated = 0;
    const auto tell = [&] {  // best_share() halves divisor_one; three more are outside it
        if (progress) progress(++simulated, std::bit_width(divisor_one) + 3);
    };
    const Predictor predictor(topology, exchange, policy);
    ExchangePlan plan;
    plan.unpaced = predictor.unpaced();
    tell();
    plan.reason = plan.unpaced.reason;
    const ExchangeNetwork& network = predictor.planned();
    const auto [end_s, limit] = network.earliest_end();
    if (limit) plan.limit = network.links[*limit];
    if (needs_no_pacing(plan.unpaced)) return plan;

    const auto rates_at = [&, whole_s = end_s * policy.divisor_factor()](std::uint32_t share) {
        return network.rates_for_end(whole_s * share / divisor_one);
    };
    if (auto whole = rates_at(divisor_one); !whole) return tl::unexpected(whole.error());
    const auto predict_at = [&](std::uint32_t share) -> std::optional<Prediction> {
        tell();
        return predictor.capped(*rates_at(share));
    };
    Candidate best = best_share(predict_at, may_rely_on_buffers(plan.unpaced, policy));
    if (cannot_help(best.paced, plan.unpaced, policy)) {
        plan.reason = why_no_help(best.paced, plan.unpaced);
        return plan;
    }
    plan.paced = true;
    plan.reason = best.paced.reason + decided_by(best.paced, plan.unpaced);
    plan.rates = *rates_at(best.share);
    plan.chosen = std::move(best.paced);
    return plan;
}

}  // namespace headway
