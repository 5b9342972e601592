// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.hpp"

#include <bit>

#include "plan/planner_measured.hpp"

namespace headway {
namespace {

/// Relative difference below which two times are the same.
constexpr double time_tolerance = 1e-9;

/// At the first limit an all-to-all with 65 000 frames into each port loses a tenth of a frame.
/// Beyond the second, other exchanges are left to the library, and it pays to be less careful.
/// Neither depends on the size of messages, because what is not paced in any size is not asked
/// about again.
constexpr double alltoall_frame_loss_max = 1e-6, exchange_frame_loss_max = 1e-3;
/// Beyond 1.  Other exchanges have none: the library's own tree keeps the root's link as busy.
constexpr std::uint32_t alltoall_share_max = 2 * divisor_one;

/// Times of one exchange, with what measurements say of the same.
class Predictor {
public:
    Predictor(const Topology& topology, const Exchange& exchange, const PlanPolicy& policy)
        : planned_(topology, exchange, policy.target_utilisation()),
          unpaced_(predict(ExchangeNetwork(topology, exchange, 1))) {
        unpaced_.measured = measured_time(topology, exchange, unpaced_);
    }

    /// Links with the part of their rates that paced traffic may use.
    [[nodiscard]] const ExchangeNetwork& planned() const { return planned_; }

    /// All links may be used.
    [[nodiscard]] const Prediction& unpaced() const { return unpaced_; }

    [[nodiscard]] Prediction capped(const RatesByCluster& rates) const {
        ExchangeNetwork network = planned_;
        network.cap_flows(rates);
        Prediction prediction = predict(network);
        if (auto& measured = prediction.measured = unpaced_.measured) {
            measured->time_s = measured->usual_s = prediction.high_s + measured->overhead_s;
            measured->timeout_part = 0;
        }
        return prediction;
    }

private:
    ExchangeNetwork planned_;
    Prediction unpaced_;
};

/// Links turned out to carry less: more overflows, and more often, than is predicted.
bool knows_better(const PlanPolicy& policy) {
    return policy.divisor_factor_thousandths > divisor_one;
}

bool may_rely_on_buffers(const Prediction& unpaced, const PlanPolicy& policy) {
    return !knows_better(policy) && !policy.trunk_divisor_thousandths && unpaced.timeouts > 0;
}

bool cannot_help(const Prediction& paced, const Prediction& unpaced, const PlanPolicy& policy) {
    constexpr double known_to = 1.05;  // of two measured times
    if (knows_better(policy)) return false;
    if (unpaced.is_known_lossy())
        return paced.measured->time_s * known_to >= unpaced.measured->time_s;
    return paced.high_s * policy.target_utilisation() * (1 + time_tolerance) >= unpaced.high_s;
}

/// Words the reason where measurements decide.
std::string measured_text(const Prediction& paced, const Prediction& unpaced) {
    return fmt::format("by {}, it takes {} unpaced and {} paced", unpaced.measured->source,
                       seconds_text(unpaced.measured->time_s), seconds_text(paced.measured->time_s));
}

std::string why_no_help(const Prediction& paced, const Prediction& unpaced) {
    if (unpaced.is_known_lossy()) return "pacing cannot help: " + measured_text(paced, unpaced);
    return fmt::format(
        "pacing cannot help: paced {} at the latest, unpaced {}, its time-outs included",
        seconds_text(paced.high_s), seconds_text(unpaced.high_s));
}

/// Adds to a plan's reason that measurements have decided, if they have.
std::string decided_by(const Prediction& paced, const Prediction& unpaced) {
    if (!unpaced.is_known_lossy()) return "";
    return (unpaced.timeouts == 0 ? ", and buffers are not relied on; " : "; ") +
           measured_text(paced, unpaced);
}

/// A share in thousandths, and how long its rates take.
struct Candidate {
    std::uint32_t share = divisor_one;
    Prediction paced;
};

bool fits_buffers(const Prediction& paced, double frame_loss_max) {
    return paced.timeouts == 0 && paced.frame_loss <= frame_loss_max;
}

/// The least share above `too_small` that fits the buffers as `fits` does, which larger ones do.
/// `predict_at(share)` is none where links cannot be divided by that.
template <class PredictAt>
Candidate least_share(const PredictAt& predict_at, double frame_loss_max, std::uint32_t too_small, Candidate fits) {
    while (fits.share - too_small > 1) {
        const std::uint32_t middle = (fits.share + too_small) / 2;
        std::optional<Prediction> prediction = predict_at(middle);
        if (prediction && fits_buffers(*prediction, frame_loss_max)) fits = {middle, std::move(*prediction)};
        else too_small = middle;
    }
    return fits;
}

/// Step 2.
template <class PredictAt>
Candidate best_share(const PredictAt& predict_at, double frame_loss_max, bool may_be_less, std::uint32_t most) {
    const Candidate whole{divisor_one, *predict_at(divisor_one)};
    if (!fits_buffers(whole.paced, frame_loss_max)) {
        std::optional<Prediction> slowest = predict_at(most);
        if (!slowest || !fits_buffers(*slowest, frame_loss_max)) return whole;
        return least_share(predict_at, frame_loss_max, divisor_one, {most, std::move(*slowest)});
    }
    if (!may_be_less) return whole;
    Candidate least = least_share(predict_at, frame_loss_max, 0, whole);
    return least.paced.high_s > whole.paced.high_s * (1 + time_tolerance) ? whole : least;
}

void note_share(AllToAllPlan& shares, std::uint32_t share) {
    const LinkShare& link = *shares.limit;
    if (share < divisor_one && !link.is_trunk()) return;
    shares.notes.push_back(fmt::format(
        "divided by {} instead of its {} senders, because {}", divisor_to_text(link.divisor_thousandths), link.senders,
        share < divisor_one ? "its buffer holds the surplus of messages of this size"
                            : "frames of so many hosts meet by chance, and a port's buffer holds few of them"));
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
        exchange_among(plan.shares.hosts, ranks * ranks * static_cast<double>(*message_bytes), pattern.connections());
    const Predictor predictor(topology, exchange, policy);
    plan.unpaced = predictor.unpaced();
    if (!plan.is_paced()) return plan;
    if (plan.unpaced->loses_nothing()) {
        do_not_pace(plan.shares, plan.unpaced->reason);
        return plan;
    }
    const auto divide = [&](std::uint32_t share) {
        PlanPolicy slower = policy;
        slower.divisor_factor_thousandths *= std::max(share, divisor_one);
        slower.divisor_factor_thousandths /= divisor_one;
        return plan_alltoall(topology, slower, pattern, std::min(share, divisor_one));
    };
    const auto predict_at = [&](std::uint32_t share) -> std::optional<Prediction> {
        const auto shares = divide(share);
        if (!shares) return std::nullopt;
        RatesByCluster rates;  // of the clusters that take part
        for (const auto& group : exchange.groups) rates.push_back(shares->rates[group.cluster]);
        return predictor.capped(rates);
    };
    const auto most = policy.trunk_divisor_thousandths ? divisor_one : alltoall_share_max;
    Candidate best = best_share(predict_at, alltoall_frame_loss_max,
                                may_rely_on_buffers(*plan.unpaced, policy), most);
    if (cannot_help(best.paced, *plan.unpaced, policy)) {
        do_not_pace(plan.shares, why_no_help(best.paced, *plan.unpaced));
        return plan;
    }
    if (best.share != divisor_one) {
        plan.shares = *divide(best.share);
        note_share(plan.shares, best.share);
    }
    plan.shares.reason += decided_by(best.paced, *plan.unpaced);
    plan.paced = std::move(best.paced);
    return plan;
}

std::optional<RatedLink> busiest_link(const ExchangeNetwork& network) {
    const auto link = network.earliest_end().link;
    if (!link) return std::nullopt;
    return RatedLink{network.links[*link], network.carried_rate(*link), network.fills[*link]};
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
    const double end_s = network.earliest_end().end_s;
    plan.limit = busiest_link(network);
    if (plan.unpaced.loses_nothing()) return plan;
    const auto rates_at = [&, whole_s = end_s * policy.divisor_factor()](std::uint32_t share) {
        return network.rates_for_end(whole_s * share / divisor_one);
    };
    if (auto whole = rates_at(divisor_one); !whole) return tl::unexpected(whole.error());
    const auto predict_at = [&](std::uint32_t share) -> std::optional<Prediction> {
        tell();
        return predictor.capped(*rates_at(share));
    };
    Candidate best = best_share(predict_at, exchange_frame_loss_max,
                                may_rely_on_buffers(plan.unpaced, policy), divisor_one);
    if (best.paced.frame_loss > exchange_frame_loss_max) {
        plan.reason = "pacing cannot help: frames of all senders meet in front of a port whose buffer holds few of "
                      "them; the MPI library's own algorithm has fewer send at a time";
        return plan;
    }
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
