// SPDX-License-Identifier: MIT
#include "own_algorithms.hpp"

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "able_algorithm.hpp"
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
enum Word : std::size_t { planned, large_calls, largest_bytes, is_uneven, cannot_tell, needs_channel, words };

}  // namespace

namespace {

/// Of rank 0.  Without an answer the plan stays what it was.
void ask_daemon(const Collective& collective, MPI_Comm communicator, const HostSet& hosts, Verdict& verdict) noexcept
    try {
    const auto root_host = helper().root_host_of(collective, communicator);
    if (!root_host) return;
    const auto bytes = sizes_agree(collective.operation) ? std::optional(verdict.largest_bytes) : std::nullopt;
    const std::pair of{*root_host, size_class(bytes.value_or(0))};
    if (of != std::exchange(verdict.asked_of, of)) verdict.asked = {};
    const PlannedSize size = helper().planned_size(collective.operation, bytes.value_or(0));
    PatternKey key{collective.operation, hosts, *root_host};
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
    order.emplace(table.clusters_of(communicator), rank);
    missing = std::make_unique<bool[]>(carrier_ranks.size());
    if (carrier_ranks.size() <= telling_ranks_max && hosts.size() <= telling_hosts_max)
        sizes = SizeTable(static_cast<int>(carrier_ranks.size()));
    has_links_alone = helper().has_its_links_alone(communicator);
    for (std::size_t at = 0; at < own_operations; ++at) {
        verdicts[at].large_from_bytes =
            able_from_bytes(static_cast<Operation>(at), table.job_hosts().ranks_per_host(), table.min_message_bytes());
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
    return {verdict.algorithm, &state, verdict.tells_sizes, {}, false};
}

/// What a rank knows of it alone is whether it was worth it before: where it was not, it does not say that sizes differ.
bool OwnAlgorithms::may_tell_sizes(const State& state) noexcept {
    return state.sizes.ranks() > 0 && state.has_links_alone && state.telling_paid;
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
    const bool may_be_large = may_be_ours && (!sizes_agree(operation) || 2 * verdict.large_calls >= verdict.calls);
    if (is_rank_0 && may_be_large) ask_daemon(collective, communicator, state.hosts, verdict);
    const bool may_tell = may_tell_sizes(state);
    std::array<std::uint64_t, words> agreed{};
    agreed[planned] = is_rank_0 ? static_cast<std::uint64_t>(verdict.planned) : 0;
    agreed[large_calls] = speaks ? verdict.large_calls : 0;
    agreed[largest_bytes] = speaks ? verdict.largest_bytes : 0;
    agreed[is_uneven] = may_tell && verdict.is_uneven ? 1 : 0;
    agreed[cannot_tell] = state.sizes.ranks() == 0 || verdict.cannot_tell ? 1 : 0;
    agreed[needs_channel] = state.needs_channel ? 1 : 0;
    if (agree_on_largest(agreed.data(), words, next_call(state)) != MPI_SUCCESS) {
        state.channel.reset();
        return;
    }
    const bool is_large = may_be_ours && 2 * agreed[large_calls] >= verdict.calls;
    const auto algorithm = is_large ? static_cast<Algorithm>(agreed[planned]) : Algorithm::native;
    const bool tells = agreed[is_uneven] != 0 && agreed[cannot_tell] == 0 && agreed[largest_bytes] >= telling_from_bytes;
    const bool is_news = algorithm != verdict.algorithm || (is_large && !verdict.is_told);
    if (is_news && is_rank_0 && helper().settings().verbose)
        say(std::string(name_of(operation)) + " of " + std::to_string(state.carrier_ranks.size()) +
            " ranks: " + name_of(algorithm));
    verdict.is_told = verdict.is_told || is_news;
    take(verdict, algorithm, tells);
    if (agreed[needs_channel] != 0 || state.calls_on_channel >= calls_per_channel / 2) renew_channel(communicator, state);
}

void OwnAlgorithms::take(Verdict& verdict, Algorithm algorithm, bool tells) noexcept {
    if (verdict.passes_below_bytes > 0) helper().note_small_calls(verdict.calls);
    verdict.take(algorithm, tells, reporter().is_on() ? 0 : helper().paced_from_bytes());
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

HostTraffic OwnAlgorithms::learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept {
    State& state = *chosen.state;
    const int status = tell_sizes(chosen.is_refused ? Exchange{} : exchange, helper().port_buffer_bytes(),
                                  next_call(state), state.sizes);
    if (status != MPI_SUCCESS) return {};
    chosen.told.sizes = &state.sizes;
    chosen.told.pieces = count_pieces(state.sizes, state.host_of_rank);
    try {
        return traffic_between_hosts(state.sizes, state.host_of_rank);
    } catch (const std::exception&) {
        return {};  // then this rank is not paced
    }
}

void OwnAlgorithms::note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept {
    chosen.state->telling_paid = telling < chosen.told.duration;
}

int OwnAlgorithms::carry_out_exchange(const Chosen& chosen, const Exchange& exchange, const OwnCall& call) noexcept {
    return glue::carry_out(chosen.is_refused ? Exchange{} : exchange, *chosen.state->order, chosen.told, call);
}

int OwnAlgorithms::carry_out_exchange(const Chosen& chosen, const RootedExchange& exchange,
                                      const OwnCall& call) noexcept {
    return glue::carry_out(chosen.is_refused ? exchange.without_data() : exchange, call);
}

}  // namespace headway::glue
