// SPDX-License-Identifier: Apache-2.0
#include "measure/message_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/wire.hpp"

namespace headway {
namespace {

constexpr std::uint32_t rounds_at_once = 8;
constexpr std::uint32_t repetitions_max = 40;
constexpr std::uint32_t rooted_rounds = 20;
constexpr std::uint64_t large_bytes = 256 << 10;
constexpr std::uint32_t small_messages = 65;
constexpr std::uint64_t rooted_bytes[] = {512, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
// Hosts that differ by less are told at once: waking up takes as long.
constexpr double least_pause_s = 5e-6;
constexpr double line_misses = 0.05;
constexpr std::size_t break_points_max = 8;
// Less than a least retransmission time-out, more than any queue of a local network.
constexpr double jump_s = 0.02;

using HostPair = std::pair<std::size_t, std::size_t>;

HostPair pair_of(std::size_t a, std::size_t b) { return {std::min(a, b), std::max(a, b)}; }

double payload_rate(double wire_bytes_per_s) {
    return wire_bytes_per_s * static_cast<double>(tcp_segment_bytes) /
           static_cast<double>(wire_bytes(tcp_segment_bytes + tcp_header_bytes));
}

HostProgram sender(std::size_t from, std::size_t to, std::uint64_t bytes) {
    return {from, {{{{to, bytes}}, {}}, {{}, {{to, 1}}}}};
}

HostProgram answerer(std::size_t from, std::size_t to, std::uint64_t bytes) {
    return {to, {{{}, {{from, bytes}}}, {{{from, 1}}, {}}}};
}

class MessageMeasurement {
public:
    MessageMeasurement(Laboratory& laboratory, const MeasuredNetwork& network, const std::vector<std::string>& names,
                       const MeasureProgress& progress)
        : laboratory_(laboratory), network_(network), names_(names), progress_(progress) {
        to_do_ = static_cast<double>(chosen_pairs().size()) * 12 + static_cast<double>(names.size()) * 4 + 63;
    }

    MeasuredMessages run() {
        for (auto step : {&MessageMeasurement::measure_pairs, &MessageMeasurement::measure_hosts,
                          &MessageMeasurement::measure_shares, &MessageMeasurement::measure_beginnings,
                          &MessageMeasurement::measure_all_to_alls, &MessageMeasurement::measure_neighbours,
                          &MessageMeasurement::measure_gathers, &MessageMeasurement::measure_scatters}) {
            if (auto done = (this->*step)(); !done) {
                found_.ended_by = done.error();
                found_.remarks.push_back("not all messages were measured: " + done.error().message);
                break;
            }
        }
        fit();
        return std::move(found_);
    }

private:
    void advance(const std::string& what) {
        done_ += 1;
        if (progress_) progress_(what, std::min(1.0, done_ / to_do_));
    }

    /// Rounds of these programs until their mean is known well.  A round's time is the
    /// longest of the programs that count, the first `counted`.
    Result<SizedTime> repeat(Rounds rounds, std::uint64_t bytes, std::size_t counted,
                             std::uint32_t most = repetitions_max) {
        SizedTime time;
        time.bytes = bytes;
        rounds.count = rounds_at_once + 1;
        do {
            const auto outcomes = laboratory_.run(rounds);
            if (!outcomes) return tl::unexpected(outcomes.error());
            // the first round finds connections that have rested, and hosts that begin apart
            for (std::uint32_t round = 1; round < rounds.count; ++round) {
                double longest_s = 0;
                for (std::size_t i = 0; i < counted; ++i)
                    longest_s = std::max(longest_s, (*outcomes)[i].round_s.at(round));
                time.rounds_s.push_back(longest_s);
            }
            for (const ProgramOutcome& outcome : *outcomes) {
                time.retransmissions += outcome.retransmissions;
                const auto timeout = outcome.retransmission_timeout_us;
                if (timeout > 0 && (found_.least_timeout_us == 0 || timeout < found_.least_timeout_us))
                    found_.least_timeout_us = timeout;
            }
            time.time_s = undisturbed_mean(time.rounds_s);
        } while (!time.time_s.is_known_well() && time.rounds_s.size() < most);
        return time;
    }

    Result<SizedTime> round_trip(std::size_t from, std::size_t to, std::uint64_t bytes) {
        return repeat({{sender(from, to, bytes), answerer(from, to, bytes)}, 1}, bytes, 1);
    }

    // ------------------------------------------------------------- point to point

    /// One on every switch, and one across every trunk.
    [[nodiscard]] std::vector<Flow> chosen_pairs() const {
        std::vector<Flow> pairs;
        for (const std::size_t node : network_.tree.switches()) {
            const auto hosts = network_.tree.hosts_at(node);
            if (hosts.size() > 1) pairs.push_back({hosts[0], hosts[1]});
        }
        for (const std::size_t trunk : network_.tree.trunks()) {
            const auto below = network_.tree.hosts_below(trunk);
            for (std::size_t host = 0; host < names_.size(); ++host) {
                if (std::find(below.begin(), below.end(), host) != below.end()) continue;
                pairs.push_back({below.front(), host});
                break;
            }
        }
        return pairs;
    }

    Result<void> measure_pairs() {
        for (const Flow& flow : chosen_pairs()) {
            PairMessages pair;
            pair.from = flow.from;
            pair.to = flow.to;
            if (auto done = measure_sizes(pair); !done) return done;
            if (auto done = measure_empty_gap(pair); !done) return done;
            if (auto done = measure_both_ways(pair); !done) return done;
            conclude(pair);
            found_.pairs.push_back(std::move(pair));
        }
        return {};
    }

    Result<void> measure_sizes(PairMessages& pair) {
        for (std::uint64_t bytes = 1; bytes <= large_bytes; bytes = bytes == 1 ? 64 : bytes * 4) {
            auto time = round_trip(pair.from, pair.to, bytes);
            if (!time) return tl::unexpected(time.error());
            pair.round_trips.push_back(std::move(*time));
            advance("messages between two hosts");
        }
        return find_break_points(pair);
    }

    Result<void> find_break_points(PairMessages& pair) {
        auto& trips = pair.round_trips;
        std::set<std::uint64_t> straight;  // sizes after which the line is good
        for (std::size_t added = 0; added < break_points_max;) {
            std::size_t i = 0;
            while (i + 1 < trips.size() && (straight.contains(trips[i].bytes) || trips[i + 1].bytes < trips[i].bytes + 64))
                ++i;
            if (i + 1 >= trips.size()) break;
            const std::uint64_t middle = (trips[i].bytes + trips[i + 1].bytes) / 2;
            auto time = round_trip(pair.from, pair.to, middle);
            if (!time) return tl::unexpected(time.error());
            const double line_s = (trips[i].time_s.value + trips[i + 1].time_s.value) / 2;
            const double miss_s = std::abs(time->time_s.value - line_s);
            if (miss_s > line_misses * time->time_s.value && miss_s > time->time_s.half_width) {
                trips.insert(trips.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(*time));
                ++added;
            } else {
                straight.insert(trips[i].bytes);
            }
            advance("break points");
        }
        return {};
    }

    /// Many small messages in a row against one: what each of them adds.
    Result<void> measure_empty_gap(PairMessages& pair) {
        HostProgram many{pair.from, {}};
        for (std::uint32_t i = 0; i < small_messages; ++i) many.steps.push_back({{{pair.to, 1}}, {}});
        many.steps.push_back({{}, {{pair.to, 1}}});
        const auto time = repeat({{many, answerer(pair.from, pair.to, small_messages)}, 1}, small_messages, 1);
        if (!time) return tl::unexpected(time.error());
        const double one_s = pair.round_trips.front().time_s.value;
        pair.empty_gap_s = time->time_s;
        pair.empty_gap_s.value = std::max(0.0, time->time_s.value - one_s) / (small_messages - 1);
        pair.empty_gap_s.half_width = time->time_s.half_width / (small_messages - 1);
        return {};
    }

    Result<void> measure_both_ways(PairMessages& pair) {
        const auto exchange = [&](std::size_t self, std::size_t peer) {
            return HostProgram{self, {{{{peer, large_bytes}}, {{peer, large_bytes}}}}};
        };
        const auto both = repeat({{exchange(pair.from, pair.to), exchange(pair.to, pair.from)}, 1}, large_bytes, 2);
        if (!both) return tl::unexpected(both.error());
        const double latency_s = pair.round_trips.front().time_s.value / 2;
        const auto rate = [&](double time_s) { return static_cast<double>(large_bytes) / std::max(1e-9, time_s); };
        pair.both_ways_bytes_per_s = rate(both->time_s.value - latency_s);
        pair.one_way_bytes_per_s = rate(pair.round_trips.back().time_s.value - 2 * latency_s);
        return {};
    }

    void conclude(PairMessages& pair) {
        std::vector<RoundTrip> trips;
        for (const SizedTime& trip : pair.round_trips) {
            trips.push_back({trip.bytes == 1 ? 0 : static_cast<double>(trip.bytes), trip.time_s.value});
            if (!trip.time_s.is_known_well())
                found_.remarks.push_back(fmt::format("messages of {} bytes from {} to {}: {} rounds were not enough for "
                                                     "2.5 %; the mean is known to {:.0f} %",
                                                     trip.bytes, names_[pair.from], names_[pair.to],
                                                     trip.rounds_s.size(),
                                                     100 * trip.time_s.half_width / trip.time_s.value));
        }
        pair.cost = transmission_cost(pair.round_trips);
        const auto parameters = plogp_from_round_trips(pair.empty_gap_s.value, trips);
        if (!parameters) {
            found_.remarks.push_back(fmt::format("{} to {}: {}", names_[pair.from], names_[pair.to],
                                                 parameters.error().message));
            return;
        }
        pair.latency_s = parameters->latency_s;
        for (const RoundTrip& trip : trips)
            pair.gap.push_back({trip.message_bytes, parameters->gap(trip.message_bytes)});
    }

    // ------------------------------------------------------------------ C_i, t_i

    /// Returns what the path alone takes of a message's time: the trunks' delays, and its bytes at
    /// the rate of its narrowest link.
    [[nodiscard]] TransmissionCost path_cost(const Flow& flow) const {
        TransmissionCost cost;
        double narrowest = 0;
        for (const DirectedLink& link : network_.tree.path(flow)) {
            if (const auto delay = network_.delay_s.find(link.node); delay != network_.delay_s.end())
                cost.startup_s += delay->second;
            const auto capacity = network_.capacities.find(link);
            if (capacity == network_.capacities.end()) continue;
            if (narrowest == 0 || capacity->second.bytes_per_s < narrowest) narrowest = capacity->second.bytes_per_s;
        }
        if (narrowest > 0) cost.per_byte_s = 1 / payload_rate(narrowest);
        return cost;
    }

    /// C_i + C_j and t_i + t_j, of every pair that is needed for triangles.
    Result<void> measure_hosts() {
        const std::size_t n = names_.size();
        if (n < 3) return {};
        std::map<HostPair, ProcessingDelay> sums;
        for (std::size_t i = 0; i < n; ++i) {
            for (const std::size_t step : {1, 2}) {
                const HostPair key = pair_of(i, (i + step) % n);
                if (sums.contains(key)) continue;
                const Flow flow{key.first, key.second};
                const auto small = round_trip(flow.from, flow.to, 1), large = round_trip(flow.from, flow.to, large_bytes);
                if (!small) return tl::unexpected(small.error());
                if (!large) return tl::unexpected(large.error());
                const TransmissionCost path = path_cost(flow);
                const double fixed_s = small->time_s.value / 2 - path.startup_s;
                const double per_byte_s =
                    (large->time_s.value - small->time_s.value) / static_cast<double>(large_bytes) - path.per_byte_s;
                sums[key] = {fixed_s, per_byte_s};
                advance("what hosts take");
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t j = (i + 1) % n, k = (i + 2) % n;
            const ProcessingDelay &a = sums.at(pair_of(i, j)), &b = sums.at(pair_of(i, k)),
                                  &c = sums.at(pair_of(j, k));
            found_.hosts.push_back({std::max(0.0, (a.fixed_s + b.fixed_s - c.fixed_s) / 2),
                                    std::max(0.0, (a.per_byte_s + b.per_byte_s - c.per_byte_s) / 2)});
        }
        return {};
    }

    // ---------------------------------------------------------------- collectives

    Result<void> measure_shares() {
        auto shares = headway::measure_shares(laboratory_, network_, [&] { advance("who gets how much of a link"); });
        if (!shares) return tl::unexpected(shares.error());
        found_.shares = std::move(*shares);
        return {};
    }

    Result<void> measure_beginnings() {
        hears_s_.assign(names_.size(), 0);
        for (std::size_t peer = 1; peer < names_.size(); ++peer) {
            const auto there_and_back = round_trip(0, peer, 1);
            if (!there_and_back) return tl::unexpected(there_and_back.error());
            hears_s_[peer] = there_and_back->time_s.value / 2;
        }
        return {};
    }

    /// Every host begins to send and to receive all of its messages at once.
    Result<SizedTime> exchange(const std::vector<Flow>& flows, std::uint64_t bytes) {
        std::map<std::size_t, HostProgram> of_host;
        for (const Flow& flow : flows) {
            for (const std::size_t host : {flow.from, flow.to}) of_host.try_emplace(host, HostProgram{host, {{}}});
            of_host[flow.from].steps.front().send.push_back({flow.to, bytes});
            of_host[flow.to].steps.front().receive.push_back({flow.from, bytes});
        }
        std::vector<HostProgram> programs;
        for (auto& [host, program] : of_host) programs.push_back(std::move(program));
        return repeat(begun_together(std::move(programs), hears_s_), bytes, of_host.size(), rounds_at_once * 2);
    }

    /// Even the shortest round of that size may have waited: if it took nearly a time-out longer than a size that lost
    /// nothing would, byte for byte.
    [[nodiscard]] double all_wait_from_s(const std::vector<SizedTime>& smaller, std::uint64_t bytes) const {
        constexpr double nearly = 0.9;
        const auto known = std::find_if(smaller.rbegin(), smaller.rend(), [](const SizedTime& time) { return time.retransmissions == 0; });
        if (known == smaller.rend() || found_.least_timeout_us == 0) return std::numeric_limits<double>::infinity();
        return known->median_s * static_cast<double>(bytes) / static_cast<double>(known->bytes) +
               nearly * found_.least_timeout_us * 1e-6;
    }

    Result<void> measure_exchanges(const std::vector<Flow>& flows, const char* what, std::vector<SizedTime>& times) {
        laboratory_.connect_anew();
        for (const std::uint64_t bytes : {1024, 4096, 16384, 32768, 65536}) {
            auto time = exchange(flows, bytes);
            if (!time) return tl::unexpected(time.error());
            tell_escalations(*time, jump_s, all_wait_from_s(times, bytes));
            times.push_back(std::move(*time));
            advance(what);
        }
        return {};
    }

    Result<void> measure_all_to_alls() {
        const std::size_t n = names_.size();
        for (const std::size_t hosts : std::set<std::size_t>{std::max<std::size_t>(2, n / 2), n}) {
            std::vector<Flow> flows;
            for (std::size_t self = 0; self < hosts; ++self) {
                for (std::size_t distance = 1; distance < hosts; ++distance)  // as MPI libraries do
                    flows.push_back({chosen(self, hosts), chosen((self + distance) % hosts, hosts)});
            }
            found_.all_to_all.push_back({hosts, {}});
            if (auto done = measure_exchanges(flows, "all-to-alls", found_.all_to_all.back().times); !done) return done;
        }
        return {};
    }

    /// If the number of hosts cannot be factored into so many dimensions, use a grid with fewer.
    Result<void> measure_neighbours() {
        constexpr std::size_t dimensions_max = 3;
        for (std::size_t dimensions = 1; dimensions <= dimensions_max; ++dimensions) {
            std::vector<Flow> flows = neighbour_flows(names_.size(), dimensions);
            if (!found_.neighbours.empty() && found_.neighbours.back().flows == flows) continue;
            NeighbourTimes& grid =
                found_.neighbours.emplace_back(NeighbourTimes{std::move(flows), {}});
            if (auto done = measure_exchanges(grid.flows, "exchanges between neighbours", grid.times); !done) return done;
        }
        return {};
    }

    /// Chooses fewer hosts than there are, far apart in --hosts, so that all switches have some.
    /// Plans take these to be the ones measured (planner_measured.cpp).
    [[nodiscard]] std::size_t chosen(std::size_t rank, std::size_t hosts) const { return rank * names_.size() / hosts; }

    Result<void> measure_gathers() {
        const std::size_t n = names_.size();
        if (n < 3) return {};
        laboratory_.connect_anew();
        for (const std::uint64_t bytes : rooted_bytes) {
            std::vector<HostProgram> programs{{0, {{}}}};
            for (std::size_t peer = 1; peer < n; ++peer) {
                programs[0].steps[0].receive.push_back({peer, bytes});
                programs.push_back({peer, {{{{0, bytes}}, {}}}});
            }
            auto time = repeat(begun_together(std::move(programs), hears_s_), bytes, 1, rooted_rounds);
            if (!time) return tl::unexpected(time.error());
            tell_escalations(*time, jump_s, all_wait_from_s(found_.many_to_one, bytes));
            found_.many_to_one.push_back(std::move(*time));
            advance("gathers");
        }
        return {};
    }

    /// One to many: everybody answers one byte, and the last answer's way is subtracted.
    Result<void> measure_scatters() {
        const std::size_t n = names_.size();
        if (n < 3 || found_.pairs.empty()) return {};
        laboratory_.connect_anew();
        double answer_s = 0;
        for (const PairMessages& pair : found_.pairs)
            answer_s = std::max(answer_s, pair.round_trips.front().time_s.value / 2);
        for (const std::uint64_t bytes : rooted_bytes) {
            Rounds rounds;
            HostProgram root{0, {{}, {}}};
            for (std::size_t peer = 1; peer < n; ++peer) {
                root.steps[0].send.push_back({peer, bytes});
                root.steps[1].receive.push_back({peer, 1});
            }
            rounds.programs.push_back(root);
            for (std::size_t peer = 1; peer < n; ++peer)
                rounds.programs.push_back({peer, {{{}, {{0, bytes}}}, {{{0, 1}}, {}}}});
            auto time = repeat(std::move(rounds), bytes, 1, rooted_rounds);
            if (!time) return tl::unexpected(time.error());
            time->time_s.value -= answer_s;
            found_.one_to_many.push_back(std::move(*time));
            advance("scatters");
        }
        return {};
    }

    // ----------------------------------------------------------------------- fits

    void fit() {
        fit_contention_signature();
        fit_rooted();
        found_.plogpt = plogpt_of(network_.heights, found_.pairs, found_.remarks);
    }

    void fit_contention_signature() {
        if (found_.pairs.empty() || found_.all_to_all.empty()) return;
        ContentionMeasurement measured;
        const AllToAllTimes& all = found_.all_to_all.back();
        measured.processes = all.hosts;
        measured.cost = found_.pairs.front().cost;
        for (const SizedTime& time : all.times)
            measured.samples.push_back({static_cast<double>(time.bytes), mean_of(time.rounds_s).value});
        const auto fitted = fit_contention_threshold(measured);
        if (!fitted) {
            found_.remarks.push_back("the contention signature: " + fitted.error().message);
            return;
        }
        found_.contention = FittedContention{fitted->signature, measured.cost, measured.processes};
        for (std::size_t i = 0; i < fitted->error_percent.size(); ++i) {
            constexpr double tolerable_percent = 20;
            if (std::abs(fitted->error_percent[i]) > tolerable_percent)
                found_.remarks.push_back(fmt::format("the contention signature misses the all-to-all of {} bytes by "
                                                     "{:.0f} %",
                                                     all.times[i].bytes, fitted->error_percent[i]));
        }
    }

    void fit_rooted() {
        if (found_.hosts.empty()) return;
        std::vector<DelayedPath> sources;
        for (std::size_t host = 1; host < names_.size(); ++host)
            sources.push_back({found_.hosts[host], 1 / path_cost({host, 0}).per_byte_s});
        std::vector<ManyToOneSample> samples;
        for (const SizedTime& time : found_.many_to_one)
            samples.push_back({static_cast<double>(time.bytes), mean_of(time.rounds_s).value});
        const auto fitted = fit_many_to_one(sources, samples, ReceiverIdle::ignored);
        if (!fitted) {
            found_.remarks.push_back("the many-to-one: " + fitted.error().message);
            return;
        }
        found_.many_to_one_fit = FittedManyToOne{std::move(sources), fitted->regions};
        fit_scatter(*found_.many_to_one_fit);
    }

    void fit_scatter(FittedManyToOne& rooted) {
        std::vector<ManyToOneSample> samples;
        for (const SizedTime& time : found_.one_to_many)
            samples.push_back({static_cast<double>(time.bytes), time.time_s.value});
        const auto fitted = fit_one_to_many(found_.hosts.front(), rooted.sources, std::move(samples));
        if (fitted) rooted.buffered_bytes = fitted->buffered_bytes;
        else found_.remarks.push_back("the one-to-many: " + fitted.error().message);
    }

    Laboratory& laboratory_;
    const MeasuredNetwork& network_;
    const std::vector<std::string>& names_;
    const MeasureProgress& progress_;
    MeasuredMessages found_;
    std::vector<double> hears_s_;  ///< by host, how long a byte from host 0 takes
    double done_ = 0, to_do_ = 1;
};

}  // namespace

std::vector<Flow> neighbour_flows(std::size_t hosts, std::size_t dimensions) {
    std::vector<std::size_t> sides;  // those that change slowly first
    for (std::size_t rest = hosts; dimensions > 0; --dimensions) {
        std::size_t side = dimensions == 1 ? rest : 1;  // else the largest divisor of no more than the root
        const auto volume = [&](std::size_t i) { return std::pow(static_cast<double>(i), dimensions); };
        for (std::size_t i = 2; volume(i) <= static_cast<double>(rest); ++i) side = rest % i == 0 ? i : side;
        sides.insert(sides.begin(), side);
        rest /= side;
    }
    std::vector<Flow> flows;
    for (std::size_t host = 0; host < hosts; ++host) {
        std::size_t stride = hosts;
        for (const std::size_t side : sides) {
            stride /= side;
            const std::size_t place = host / stride % side;
            for (const std::size_t next : {(place + side - 1) % side, (place + 1) % side})
                if (next != place) flows.push_back({host, host + next * stride - place * stride});
        }
    }
    return flows;
}

Rounds begun_together(std::vector<HostProgram> programs, std::span<const double> hears_s) {
    std::vector<std::size_t> peers;
    for (HostProgram& program : std::span(programs).subspan(1)) {
        peers.push_back(program.host);
        program.steps.insert(program.steps.begin(), Step{{{0, 1}}, {{0, 1}}});
    }
    std::ranges::stable_sort(peers, std::ranges::greater{}, [&](std::size_t peer) { return hears_s[peer]; });
    std::vector<Step> steps(1);
    for (const std::size_t peer : peers) steps.front().receive.push_back({peer, 1});
    double told_s = hears_s[peers.front()];
    const auto pause_before = [&](double next_s) {  // between hosts that hear of it after told_s and next_s
        const std::chrono::duration<double> pause(std::exchange(told_s, next_s) - next_s);
        return std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
    };
    for (const std::size_t peer : peers) {
        if (steps.size() == 1 || told_s - hears_s[peer] >= least_pause_s)
            steps.push_back({{}, {}, pause_before(hears_s[peer])});
        steps.back().send.push_back({peer, 1});
    }
    Step& own = programs.front().steps.front();
    own.pause = pause_before(0);
    steps.push_back(std::move(own));
    programs.front().steps = std::move(steps);
    for (HostProgram& program : programs) program.untimed_steps = program.steps.size() - 1;
    return {std::move(programs)};
}

void tell_escalations(SizedTime& time, double least_jump_s, double all_wait_from_s) {
    constexpr double same_share = 0.1;
    time.levels.clear();
    if (time.rounds_s.empty()) return;
    std::vector<double> rounds_s = time.rounds_s;
    std::sort(rounds_s.begin(), rounds_s.end());
    const auto all = static_cast<double>(rounds_s.size());
    const double least_level_s =
        rounds_s.front() < all_wait_from_s ? rounds_s.front() + least_jump_s : all_wait_from_s;
    const auto begin = std::find_if(rounds_s.begin(), rounds_s.end(),
                                    [&](double time_s) { return time_s >= least_level_s; });
    const auto usual = begin - rounds_s.begin();
    time.time_s = usual > 0 ? undisturbed_mean({rounds_s.begin(), begin}) : Mean{};
    time.median_s = usual > 0 ? std::midpoint(rounds_s[(usual - 1) / 2], rounds_s[usual / 2]) : 0;
    for (auto from = begin; from != rounds_s.end();) {
        const auto to = std::find_if(from, rounds_s.end(),
                                     [&](double time_s) { return time_s > *from * (1 + same_share); });
        const Mean mean = mean_of(std::span(from, to));
        time.levels.push_back({mean.value, static_cast<double>(to - from) / all});
        from = to;
    }
}

TransmissionCost transmission_cost(const std::vector<SizedTime>& round_trips) {
    if (round_trips.empty()) return {};
    // One way of the answer, one byte, is half of the shortest round trip.
    const double answer_s = round_trips.front().time_s.value / 2;
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (const SizedTime& trip : round_trips) {
        const double x = static_cast<double>(trip.bytes), y = trip.time_s.value - answer_s;
        if (y <= 0) continue;
        const double weight = 1 / (y * y);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    const double determinant = w * wxx - wx * wx;
    if (determinant <= 0) return {answer_s, 0};
    return {std::max(0.0, (wxx * wy - wx * wxy) / determinant), std::max(0.0, (w * wxy - wx * wy) / determinant)};
}

std::optional<MeasuredPlogpt> plogpt_of(const std::vector<MeasuredHeight>& heights,
                                        const std::vector<PairMessages>& pairs, std::vector<std::string>& remarks) {
    if (heights.empty()) return std::nullopt;
    const auto no = [&](std::string_view reason) {
        remarks.push_back(fmt::format("PlogPT is not told: {}", reason));
        return std::nullopt;
    };
    MeasuredPlogpt found;
    for (const PairMessages& pair : pairs) {
        if (pair.gap.empty()) continue;
        if (found.gap.empty()) found.gap = pair.gap;
        found.latency_s = std::max(found.latency_s, pair.latency_s);
    }
    if (found.gap.empty()) return no("L and g(m) are not known");
    for (std::size_t i = 0; i < heights.size(); ++i) {
        const MeasuredHeight& height = heights[i];
        if (!height.buffer_delay_s) return no(fmt::format("no buffer of height {} is known", i + 1));
        if (height.is_delay_lower_bound)
            remarks.push_back(fmt::format("PlogPT's d({}) may be longer: no packet was lost there", i + 1));
        found.links.bandwidth_bytes_per_s.push_back(payload_rate(height.both_ways_bytes_per_s));
        found.links.buffer_delay_s.push_back(*height.buffer_delay_s);
    }
    return found;
}

MeasuredMessages measure_messages(Laboratory& laboratory, const MeasuredNetwork& network,
                                  const std::vector<std::string>& names, const MeasureProgress& progress) {
    return MessageMeasurement(laboratory, network, names, progress).run();
}

}  // namespace headway
