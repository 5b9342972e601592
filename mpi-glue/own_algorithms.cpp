// SPDX-License-Identifier: MIT
#include "own_algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "able_algorithm.hpp"
#include "exchange_by_clock.hpp"
#include "errors_returned.hpp"
#include "helper.hpp"
#include "message_size.hpp"
#include "notice.hpp"
#include "real.hpp"
#include "report.hpp"
#include "short_memory.hpp"

namespace headway::glue {
namespace {

/// What ranks agree on, the largest of all: a place each.
constexpr std::uint64_t any_size_bytes = std::numeric_limits<std::uint64_t>::max();

enum Word : std::size_t {
    planned, large_calls, largest_bytes, is_uneven, cannot_tell, needs_channel, number_of_rates, cannot_cut, words
};

ClockedPlace place_of(const OwnState& state) {
    return {&*state.order, state.clocks.cluster_of_rank.data(), {state.missing.get(), state.carrier_ranks.size()}};
}

int noted(const ClockedOutcome& outcome, OwnState& state) {
    state.needs_channel = state.needs_channel || outcome.left_pieces;
    return outcome.status;
}

/// Where ranks pace themselves, the MPI library's own algorithm is not paced.  So short messages of an all-to-all, of which
/// nothing is lost, go by ours as well, if longer ones have to: the next call may have such, and nobody would know.
void ask_planner(const PatternKey& key, std::optional<std::uint64_t> bytes, MPI_Comm communicator, Verdict& verdict) {
    const auto [call, rates] = helper().plan_of_job(key, bytes, communicator);
    if (call == nullptr) return;
    verdict.planned_rates = rates;
    verdict.planned = call->algorithm;
    if (rates != nullptr && call->is_lossless && is_total_exchange(key.operation)) verdict.planned = Algorithm::linear;
}

/// Of rank 0.  Without an answer the plan stays what it was.
void ask_daemon(const Collective& collective, MPI_Comm communicator, const HostSet& hosts, Verdict& verdict) noexcept
    try {
    const auto root_host = helper().root_host_of(collective, communicator);
    if (!root_host) return;
    const auto bytes = sizes_agree(collective.operation) ? std::optional(verdict.largest_bytes) : std::nullopt;
    const std::pair of{*root_host, size_class(bytes.value_or(0))};
    if (of != std::exchange(verdict.asked_of, of)) verdict.asked = {};
    PatternKey key{collective.operation, hosts, *root_host};
    if (helper().ranks_pace()) return ask_planner(key, bytes, communicator, verdict);
    const PlannedSize size = helper().planned_size(collective.operation, bytes.value_or(0));
    key.is_between_hosts = size.is_between_hosts;
    const auto asked_bytes = bytes ? std::optional(size.bytes) : std::nullopt;
    if (const auto planned = helper().planned_algorithm(key, asked_bytes, verdict.asked)) verdict.planned = *planned;
} catch (const std::exception&) {
    // the plan stays what it was
}

}  // namespace

void OwnState::describe(MPI_Comm communicator, HostSet&& its_hosts) {
    const HostTable& table = helper().hosts();
    rank = place_in(communicator).rank;
    hosts = std::move(its_hosts);
    host_of_rank = table.places_of(communicator, hosts);
    carrier_ranks = table.world_ranks_of(communicator);
    const RanksByCluster clusters = table.clusters_of(communicator);
    order.emplace(clusters, rank);
    if (helper().ranks_pace() && clusters.size() <= told_clusters_max)
        clocks.describe(clusters, rank, carrier_ranks.size());
    missing = std::make_unique<bool[]>(carrier_ranks.size());
    if (carrier_ranks.size() <= telling_ranks_max && hosts.size() <= telling_hosts_max)
        sizes = SizeTable(static_cast<int>(carrier_ranks.size()));
    if (table.links().are_known()) clocks.loads.emplace(table.links(), table.clusters_in_links(hosts));
    has_links_alone = helper().has_its_links_alone(communicator);
    for (std::size_t at = 0; at < own_operations; ++at) {
        verdicts[at].large_from_bytes =
            able_from_bytes(static_cast<Operation>(at), table.job_hosts().ranks_per_host(), table.min_message_bytes());
    }
}

void OwnClocks::describe(const RanksByCluster& clusters, int own_rank, std::size_t ranks) {
    cluster_of_rank.resize(ranks);
    for (std::size_t cluster = 0; cluster < clusters.size(); ++cluster) {
        for (const std::vector<int>& on_host : clusters[cluster]) {
            const bool is_here = std::find(on_host.begin(), on_host.end(), own_rank) != on_host.end();
            for (const int one : on_host)
                cluster_of_rank[static_cast<std::size_t>(one)] = is_here ? same_host : static_cast<int>(cluster);
            if (!is_here) continue;
            own_cluster = cluster;
            ranks_here = on_host.size();
        }
    }
    cluster_count = clusters.size();
    const std::size_t sizes = RateSizes(cluster_count).count();
    told.resize(1 + sizes * cluster_count * cluster_count);
    for (RankRates& one : rates) one.bytes_per_s.resize(sizes * cluster_count);
}

std::chrono::nanoseconds OwnClocks::duration_of(const SizeTable& sizes, const std::vector<int>& host_of_rank,
                                                std::uint64_t piece_bytes) noexcept {
    loads->clear();
    for (int from = 0; from < sizes.ranks(); ++from) {
        for (int to = 0; to < sizes.ranks(); ++to) {
            const int sender = host_of_rank[static_cast<std::size_t>(from)];
            const int receiver = host_of_rank[static_cast<std::size_t>(to)];
            const std::uint64_t bytes = sizes.sent(from, to), rest = bytes % piece_bytes;
            if (sender == receiver || bytes == 0) continue;
            loads->add(static_cast<std::size_t>(sender), static_cast<std::size_t>(receiver),
                       bytes / piece_bytes * wire_bytes_of(piece_bytes) + (rest > 0 ? wire_bytes_of(rest) : 0));
        }
    }
    return loads->duration(piece_bytes > framed_piece_bytes);
}

void OwnClocks::put(const NodeRates& planned) noexcept {
    told.front() = planned.piece_frames;
    std::copy_n(planned.bytes_per_s.begin(), std::min(planned.bytes_per_s.size(), told.size() - 1), told.begin() + 1);
}

void OwnClocks::take(Operation operation, std::uint32_t number) noexcept {
    RankRates& own = of(operation);
    own.number = number;
    own.piece_frames = std::clamp<std::uint64_t>(told.front(), 1, piece_frames_max);
    const auto of_nodes = std::span<const std::uint64_t>(told).subspan(1);
    for (std::size_t at = 0; at < own.bytes_per_s.size(); ++at) {
        const std::size_t size = at / cluster_count, to = at % cluster_count;
        const std::uint64_t of_node = of_nodes[(size * cluster_count + own_cluster) * cluster_count + to];
        own.bytes_per_s[at] = of_node > 0 ? std::max(of_node / ranks_here, std::uint64_t{1}) : 0;
    }
}

OwnAlgorithms& own_algorithms() { return the_only<OwnAlgorithms>(); }

OwnAlgorithms::OwnAlgorithms() { not_ours_.is_of_library = true; }

void OwnAlgorithms::allow() noexcept {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &key_, this);
    allowed_ = carrier_.open();
}

// ------------------------------------------------------------------------ communicators

OwnAlgorithms::State* OwnAlgorithms::state_of(MPI_Comm communicator) noexcept {
    ThreadState& thread = this_thread();
    State* state = remembered(thread, communicator);
    if (state == nullptr) {
        const std::uint64_t forgotten = forgotten_.load(std::memory_order_acquire);
        state = find_or_make(communicator);
        thread.keep({communicator, forgotten, state});
    }
    return state != nullptr && !state->is_of_library ? state : nullptr;
}

bool OwnAlgorithms::knows(MPI_Comm communicator) const noexcept {
    if (remembered(this_thread(), communicator) != nullptr) return true;
    const ErrorsReturned quietly(MPI_COMM_WORLD);
    return is_of_one_group(communicator);
}

/// Null: it is none, or joins two groups.  Of what is none the program's handler hears by the MPI library's own function.
OwnAlgorithms::State* OwnAlgorithms::find_or_make(MPI_Comm communicator) noexcept {
    const ErrorsReturned quietly(MPI_COMM_WORLD);
    if (!is_of_one_group(communicator)) return nullptr;
    void* value = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(communicator, key_, &value, &found) != MPI_SUCCESS) return nullptr;
    return found != 0 ? static_cast<State*>(value) : make(communicator);
}

/// Collective over the communicator, if its ranks are on several hosts and of the job, which all of them know.
OwnAlgorithms::State* OwnAlgorithms::make(MPI_Comm communicator) noexcept {
    std::unique_ptr<State> made;
    bool is_able = true;
    try {
        auto hosts = helper().hosts().hosts_of(communicator);
        if (hosts && hosts->size() > 1) {
            made = std::make_unique<State>();
            made->describe(communicator, std::move(*hosts));
        }
    } catch (const std::exception&) {
        is_able = false;
        made.reset();
    }
    const bool is_wanted = made != nullptr || (!is_able && helper().hosts().is_on_several(communicator));
    State* const kept = made != nullptr ? made.get() : &not_ours_;
    is_able = PMPI_Comm_set_attr(communicator, key_, kept) == MPI_SUCCESS && is_able;
    const auto channel = is_wanted ? carrier_.agree_on_channel(communicator, is_able) : std::nullopt;
    if (made == nullptr) return kept;
    made->channel = channel;
    return made.release();  // the communicator's, until forget_communicator
}

void OwnAlgorithms::forget(State& state) noexcept {
    forgotten_.fetch_add(1, std::memory_order_release);
    if (state.is_of_library) return;
    // a number with a message left in it is nobody's any more
    if (state.channel && !state.needs_channel) carrier_.give_back(*state.channel);
    delete &state;
}

int OwnAlgorithms::forget_communicator(MPI_Comm, int, void* value, void* owner) {
    static_cast<OwnAlgorithms*>(owner)->forget(*static_cast<State*>(value));
    return MPI_SUCCESS;
}

void OwnAlgorithms::release() noexcept {
    if (!allowed_.exchange(false)) return;
    forgotten_.fetch_add(1, std::memory_order_release);
    carrier_.close();
}

// ------------------------------------------------------------------------ agreements

OwnAlgorithms::Chosen OwnAlgorithms::choose_for(const Collective& collective, MPI_Comm communicator, State& state,
                                                const SeenCall& seen) noexcept {
    Verdict& verdict = state.verdict_on(collective.operation);
    verdict.note(seen);
    if (verdict.calls_left == 0) agree(collective, communicator, state);
    if (!state.channel) return {};
    --verdict.calls_left;
    Chosen chosen{verdict.algorithm, &state, verdict.tells_sizes, {}, {}, false, false, false};
    if (verdict.is_by_clock) {
        // of other operations the ranks' sizes differ
        const std::uint64_t bytes = sizes_agree(collective.operation) ? seen.bytes : any_size_bytes;
        chosen.rates = state.clocks.of(collective.operation).of(bytes, state.clocks.cluster_count);
        chosen.is_by_clock = true;
        // a rank that goes the shorter way understands those that go the longer one
        chosen.is_whole = bytes < chosen.rates.piece_bytes && !chosen.rates.have_a_limit();
    }
    return chosen;
}

/// What a rank knows of it alone is whether it was worth it before: where it was not, it does not say that sizes differ.
bool OwnAlgorithms::may_tell_sizes(const State& state) noexcept {
    return state.sizes.ranks() > 0 && state.has_links_alone && state.telling_paid &&
           (!helper().ranks_pace() || state.clocks.loads);
}

/// Collective over `communicator`.
void OwnAlgorithms::agree(const Collective& collective, MPI_Comm communicator, State& state) noexcept {
    const Operation operation = collective.operation;
    Verdict& verdict = state.verdict_on(operation);
    const bool is_rank_0 = state.rank == 0;
    // what only rank 0 says is the largest of all
    const bool speaks = is_rank_0 || !sizes_agree(operation);
    // others may use the links of a ring at the same time
    const bool may_be_ours = !goes_round(operation) || state.has_links_alone;
    const auto are_large = [&](std::uint64_t calls, std::uint64_t bytes) {
        return 2 * calls >= verdict.calls || (helper().ranks_pace() && is_total_exchange(operation) && bytes >= clocked_from_bytes);
    };
    const bool may_be_large =
        may_be_ours && (!sizes_agree(operation) || are_large(verdict.large_calls, verdict.largest_bytes));
    if (is_rank_0 && may_be_large) ask_daemon(collective, communicator, state.hosts, verdict);
    const bool may_tell = may_tell_sizes(state);
    std::array<std::uint64_t, words> agreed{};
    agreed[planned] = is_rank_0 ? static_cast<std::uint64_t>(verdict.planned) : 0;
    agreed[large_calls] = speaks ? verdict.large_calls : 0;
    agreed[largest_bytes] = speaks ? verdict.largest_bytes : 0;
    agreed[is_uneven] = may_tell && verdict.is_uneven ? 1 : 0;
    agreed[cannot_tell] = state.sizes.ranks() == 0 || verdict.cannot_tell ? 1 : 0;
    agreed[needs_channel] = state.needs_channel ? 1 : 0;
    agreed[number_of_rates] = is_rank_0 && verdict.planned_rates != nullptr ? verdict.planned_rates->number : 0;
    agreed[cannot_cut] = verdict.cannot_tell ? 1 : 0;
    if (agree_on_largest(agreed.data(), words, next_call(state)) != MPI_SUCCESS) {
        state.channel.reset();
        return;
    }
    const bool is_large = may_be_ours && are_large(agreed[large_calls], agreed[largest_bytes]);
    const auto algorithm = is_large ? static_cast<Algorithm>(agreed[planned]) : Algorithm::native;
    const bool tells = agreed[is_uneven] != 0 && agreed[cannot_tell] == 0 && agreed[largest_bytes] >= telling_from_bytes;
    const bool by_told_sizes = tells && algorithm == Algorithm::linear;
    const bool is_news = algorithm != verdict.algorithm || by_told_sizes != verdict.tells_sizes ||
                         (is_large && !verdict.is_told);
    if (is_news && is_rank_0 && helper().settings().verbose)
        say(std::string(name_of(operation)) + " of " + std::to_string(state.carrier_ranks.size()) +
            " ranks: " + name_of(algorithm) + (by_told_sizes ? ", by sizes that they tell each other" : ""));
    verdict.is_told = verdict.is_told || is_news;
    const bool by_clock = algorithm == Algorithm::linear && agreed[number_of_rates] != 0 && agreed[cannot_cut] == 0 &&
                          !state.clocks.cluster_of_rank.empty();
    if (by_clock && !tell_rates(verdict, operation, static_cast<std::uint32_t>(agreed[number_of_rates]), state)) {
        state.channel.reset();
        return;
    }
    take(verdict, algorithm, by_told_sizes, by_clock);
    if (agreed[needs_channel] != 0 || state.calls_on_channel >= calls_per_channel / 2) renew_channel(communicator, state);
}

/// From rank 0 to all, unless they have them.  False: MPI could not.  Collective over the communicator.
bool OwnAlgorithms::tell_rates(const Verdict& verdict, Operation operation, std::uint32_t number, State& state) noexcept {
    OwnClocks& clocks = state.clocks;
    if (clocks.of(operation).number == number) return true;
    if (state.rank == 0) clocks.put(*verdict.planned_rates);
    const int status = tell_all(clocks.told.data(), static_cast<int>(clocks.told.size()), next_call(state));
    clocks.take(operation, number);
    return status == MPI_SUCCESS;
}

void OwnAlgorithms::take(Verdict& verdict, Algorithm algorithm, bool tells, bool by_clock) noexcept {
    if (verdict.passes_below_bytes > 0) helper().note_small_calls(verdict.calls);
    verdict.take(algorithm, tells, by_clock, reporter().is_on() ? 0 : helper().paced_from_bytes());
}

/// Collective over `communicator`.
void OwnAlgorithms::renew_channel(MPI_Comm communicator, State& state) noexcept {
    const auto before = state.channel;
    const bool had_trouble = std::exchange(state.needs_channel, false);
    state.channel = carrier_.agree_on_channel(communicator, true);
    state.calls_on_channel = 0;
    if (!had_trouble) carrier_.give_back(*before);
}

// ------------------------------------------------------------------------ calls

OwnCall OwnAlgorithms::call_of(const State& state, std::uint32_t number) noexcept {
    return {carrier_.communicator(), state.carrier_ranks.data(), state.rank,
            static_cast<int>(state.carrier_ranks.size()), first_tag_of(*state.channel, number), carrier_.standing()};
}

OwnCall OwnAlgorithms::next_call(State& state) noexcept { return call_of(state, state.calls_on_channel++); }

void OwnAlgorithms::note_refused(State& state) noexcept { state.needs_channel = true; }

HostRing OwnAlgorithms::ring_of(const State& state) noexcept {
    return HostRing(state.order->ranks_of_host(), state.rank);
}

bool* OwnAlgorithms::missing_of(State& state) noexcept { return state.missing.get(); }

bool OwnAlgorithms::learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept {
    State& state = *chosen.state;
    const int status = tell_sizes(chosen.is_refused ? Exchange{} : exchange, helper().port_buffer_bytes(),
                                  next_call(state), state.sizes);
    if (status != MPI_SUCCESS) return false;
    chosen.told.sizes = &state.sizes;
    if (chosen.is_by_clock) {
        chosen.told.schedule = PieceSchedule::of_clocks(state.sizes, state.host_of_rank, chosen.rates.piece_bytes);
        chosen.told.duration = state.clocks.duration_of(state.sizes, state.host_of_rank, chosen.rates.piece_bytes);
    } else {
        chosen.told.schedule = PieceSchedule::of_kernel(count_pieces(state.sizes, state.host_of_rank));
    }
    return true;
}

HostTraffic OwnAlgorithms::told_traffic(const Chosen& chosen) noexcept try {
    return traffic_between_hosts(chosen.state->sizes, chosen.state->host_of_rank);
} catch (const std::exception&) {
    return {};  // then this rank is not paced
}

void OwnAlgorithms::note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept {
    chosen.state->telling_paid = telling < chosen.told.duration;
}

int OwnAlgorithms::carry_out_exchange(const Chosen& chosen, const Exchange& exchange, const OwnCall& call) noexcept {
    const Exchange carried = chosen.is_refused ? Exchange{} : exchange;
    OwnState& state = *chosen.state;
    if (chosen.told.sizes != nullptr || chosen.is_whole || !chosen.is_by_clock) {
        const int status = glue::carry_out(carried, {&*state.order, state.host_of_rank.data()}, chosen.told, call);
        // a rank with other sizes may have left pieces
        return noted({status, status != MPI_SUCCESS && chosen.is_by_clock}, state);
    }
    return noted(exchange_by_clock(carried, place_of(state), chosen.rates, call), state);
}

int OwnAlgorithms::carry_out_exchange(const Chosen& chosen, const RootedExchange& exchange,
                                      const OwnCall& call) noexcept {
    const RootedExchange carried = chosen.is_refused ? exchange.without_data() : exchange;
    if (!chosen.is_by_clock) return glue::carry_out(carried, call);
    return noted(rooted_by_clock(carried, place_of(*chosen.state), chosen.rates, call), *chosen.state);
}

}  // namespace headway::glue
