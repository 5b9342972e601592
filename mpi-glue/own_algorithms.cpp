// SPDX-License-Identifier: MIT
#include "own_algorithms.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "errors_returned.hpp"
#include "helper.hpp"
#include "message_size.hpp"
#include "notice.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

/// Collective over `communicator`.
bool all_say_yes(bool own, MPI_Comm communicator) {
    int said = own ? 1 : 0;
    int least = 0;
    const int status = real::Allreduce(&said, &least, 1, MPI_INT, MPI_MIN, communicator);
    return status == MPI_SUCCESS && least == 1;
}

/// A communicator of this process alone, made without MPI_COMM_SELF: see MpichNames.  MPI_COMM_NULL: there is
/// no room for another one.
MPI_Comm make_lonely_communicator() {
    const ErrorsReturned quietly(MPI_COMM_WORLD);
    const int rank = place_in(MPI_COMM_WORLD).rank;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group own = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS) return made;
    if (PMPI_Group_incl(all, 1, &rank, &own) == MPI_SUCCESS) {
        if (PMPI_Comm_create_group(MPI_COMM_WORLD, own, 0, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
        PMPI_Group_free(&own);
    }
    PMPI_Group_free(&all);
    if (made != MPI_COMM_NULL) PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

}  // namespace

OwnAlgorithms& own_algorithms() {
    static OwnAlgorithms* const instance = new OwnAlgorithms;
    return *instance;
}

bool OwnAlgorithms::is_on_its_own(MPI_Comm communicator) noexcept {
    return is_of_one_group(communicator) && helper().has_its_links_alone(communicator);
}

bool OwnAlgorithms::has_uneven_messages(const Exchange& exchange, MPI_Comm communicator) {
    return are_uneven(exchange, communicator);
}

bool OwnAlgorithms::can_tell_sizes(MPI_Comm communicator, const Choices& choices) {
    return choices.telling_paid && choices.hosts->size() <= telling_hosts_max &&
           place_in(communicator).ranks <= telling_ranks_max &&
           helper().has_its_links_alone(communicator);
}

HostTraffic OwnAlgorithms::learn_sizes(Chosen& chosen, const Exchange& exchange) noexcept try {
    ToldSizes told = tell_sizes(exchange, helper().port_buffer_bytes(), chosen.choices->next_call());
    HostTraffic traffic = traffic_between_hosts(told.sizes, chosen.choices->host_of_rank);
    chosen.told.pieces = count_pieces(told, traffic);
    chosen.told.sizes = std::move(told.sizes);
    return traffic;
} catch (const std::exception&) {
    return {};
}

void OwnAlgorithms::note_telling(const Chosen& chosen, std::chrono::nanoseconds telling) noexcept {
    chosen.choices->telling_paid = telling < chosen.told.duration;
}

/// On no communicator are there more ranks on a host than in the job.
bool OwnAlgorithms::may_be_ours(Operation operation, std::uint64_t bytes) noexcept {
    const HostTable& hosts = helper().hosts();
    return able_algorithm(operation, bytes, hosts.job_hosts().ranks_per_host(), hosts.min_message_bytes()) !=
           Algorithm::native;
}

OwnAlgorithms::Chosen OwnAlgorithms::choose_for(const Collective& collective,
                                                MPI_Comm communicator,
                                                std::uint64_t bytes,
                                                const std::function<bool()>& is_uneven) noexcept try {
    Choices* choices = choices_of(communicator);
    if (choices == nullptr || !choices->hosts || choices->hosts->size() < 2) return {};
    const auto root_host = helper().root_host_of(collective, communicator);
    if (!root_host) return {};

    const auto most_ranks = static_cast<std::uint64_t>(choices->order->most_on_a_host());
    const Algorithm able =
        able_algorithm(collective.operation, bytes, most_ranks, helper().hosts().min_message_bytes());
    if (able == Algorithm::native) return {};
    const bool all_know_size = sizes_agree(collective.operation);
    const Call call{collective.operation, *root_host, all_know_size ? size_class(bytes) : 0};
    const auto [found, is_new] = choices->verdicts.try_emplace(call);
    Verdict& verdict = found->second;
    if (is_new) verdict.able = able;
    verdict.note(bytes, !all_know_size && can_tell_sizes(communicator, *choices) && is_uneven());
    if (is_new || verdict.calls >= calls_per_agreement) agree(communicator, *choices);
    if (!choices->hosts) return {};
    return {verdict.algorithm, choices, verdict.tells_sizes, {}};
} catch (const std::exception&) {
    return {};
}

void OwnAlgorithms::allow() noexcept {
    if (asked_on_ == MPI_COMM_NULL) asked_on_ = make_lonely_communicator();
    allowed_ = asked_on_ != MPI_COMM_NULL;
}

/// Of rank 0.  Without an answer the plan stays what it was.
void OwnAlgorithms::ask_daemon(const Call& call, const HostSet& hosts, Verdict& verdict) {
    PatternKey key{call.operation, hosts, call.root_host};
    auto bytes = sizes_agree(call.operation) ? std::optional(verdict.largest_bytes) : std::nullopt;
    if (verdict.able == Algorithm::node_aware) {
        key.is_between_hosts = true;
        bytes = helper().bytes_between_hosts(verdict.largest_bytes);
    }
    const auto planned = helper().planned_algorithm(key, bytes, verdict.asked);
    if (planned) verdict.planned = *planned == Algorithm::native ? *planned : verdict.able;
}

/// Collective over `communicator`.
void OwnAlgorithms::agree(MPI_Comm communicator, Choices& choices) {
    const ErrorsReturned quietly(communicator);
    const bool is_rank_0 = place_in(communicator).rank == 0;
    std::vector<std::uint64_t> words;
    for (auto& [call, verdict] : choices.verdicts) {
        if (is_rank_0) ask_daemon(call, *choices.hosts, verdict);
        // the others have no opinion, so that the maximum is what rank 0 says
        words.push_back(static_cast<std::uint64_t>(is_rank_0 ? verdict.planned : Algorithm::native));
    }
    for (const auto& [call, verdict] : choices.verdicts) {
        if (sizes_agree(call.operation)) continue;
        words.push_back(verdict.largest_bytes);
        words.push_back(verdict.is_uneven ? 1 : 0);
    }

    const int count = static_cast<int>(words.size());
    const bool all_know_sizes = words.size() == choices.verdicts.size();
    const int status = all_know_sizes
                           ? real::Bcast(words.data(), count, MPI_UINT64_T, 0, communicator)
                           : real::Allreduce(MPI_IN_PLACE, words.data(), count, MPI_UINT64_T,
                                             MPI_MAX, communicator);
    if (status != MPI_SUCCESS) return choices.hosts.reset();
    take_verdicts(words, communicator, choices);
}

/// `words`: an algorithm for each call, and then the largest message of each call whose
/// sizes the ranks did not know, and whether those differ.  Collective over `communicator`.
void OwnAlgorithms::take_verdicts(const std::vector<std::uint64_t>& words, MPI_Comm communicator,
                                  Choices& choices) {
    auto word = words.begin();
    auto sizes = words.begin() + static_cast<std::ptrdiff_t>(choices.verdicts.size());
    const auto [rank, ranks] = place_in(communicator);
    for (auto& [call, verdict] : choices.verdicts) {
        const bool all_know_size = sizes_agree(call.operation);
        auto agreed = static_cast<Algorithm>(*word++);
        const std::uint64_t largest_bytes = all_know_size ? 0 : *sizes++;
        if (!all_know_size && largest_bytes < own_from_bytes) agreed = Algorithm::native;
        const bool tells_sizes =
            !all_know_size && *sizes++ != 0 && largest_bytes >= telling_from_bytes;
        if (agreed != Algorithm::native) open(communicator, choices);
        if (!choices.hosts) agreed = Algorithm::native;
        if (helper().settings().verbose && rank == 0 && (!verdict.is_told || agreed != verdict.algorithm))
            say(std::string(name_of(call.operation)) + " of " + std::to_string(ranks) + " ranks: " +
                name_of(agreed));
        verdict.take(agreed, tells_sizes);
    }
}

bool OwnAlgorithms::has_room_for_one_more() {
    const std::lock_guard lock(mutex_);
    return opened_.size() < own_communicators_max;
}

/// Collective over `communicator`.  If any rank cannot have the new communicator, none
/// uses it.  MPI_Comm_dup would call the program's own attribute functions; a split does
/// not.
void OwnAlgorithms::open(MPI_Comm communicator, Choices& choices) {
    if (choices.own != MPI_COMM_NULL) return;
    if (!all_say_yes(has_room_for_one_more(), communicator)) return choices.hosts.reset();
    MPI_Comm own = MPI_COMM_NULL;
    const int split = PMPI_Comm_split(communicator, 0, place_in(communicator).rank, &own);
    if (split != MPI_SUCCESS) own = MPI_COMM_NULL;
    if (own != MPI_COMM_NULL) PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (!all_say_yes(own != MPI_COMM_NULL, communicator)) {
        if (own != MPI_COMM_NULL) real::Comm_free(&own);
        return choices.hosts.reset();
    }
    choices.own = own;
    const std::lock_guard lock(mutex_);
    opened_.insert(&choices);
}

void OwnAlgorithms::open_early(MPI_Comm communicator) noexcept try {
    const ErrorsReturned quietly(communicator);
    if (Choices* choices = choices_of(communicator)) open(communicator, *choices);
} catch (const std::exception&) {
    // then the first collective makes it
}

/// Whatever goes wrong goes to the program's own error handler, as if MPI had
/// found the error.
int OwnAlgorithms::told(MPI_Comm communicator, int status) noexcept {
    if (status != MPI_SUCCESS) PMPI_Comm_call_errhandler(communicator, status);
    return status;
}

int OwnAlgorithms::run(const Chosen& chosen, MPI_Comm communicator,
                       const Exchange& exchange) noexcept {
    const OwnCall call = chosen.choices->next_call();
    return carry_out(communicator,
                     [&] {
                         return glue::carry_out(chosen.algorithm, exchange, *chosen.choices->order,
                                                chosen.told, call);
                     });
}

int OwnAlgorithms::run(const Chosen& chosen, MPI_Comm communicator,
                       const RootedExchange& exchange) noexcept {
    const OwnCall call = chosen.choices->next_call();
    return carry_out(communicator, [&] { return exchange.carry_out(call); });
}

OwnAlgorithms::Choices* OwnAlgorithms::choices_of(MPI_Comm communicator) {
    {
        const std::lock_guard lock(mutex_);
        if (key_ == MPI_KEYVAL_INVALID)
            PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &key_, this);
    }
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(communicator, key_, &value, &found);
    if (found != 0) return static_cast<Choices*>(value);
    auto choices = std::make_unique<Choices>();
    choices->hosts = helper().hosts().hosts_of(communicator);
    if (choices->hosts) {
        choices->host_of_rank = helper().hosts().places_of(communicator, *choices->hosts);
        choices->order.emplace(helper().hosts().clusters_of(communicator), place_in(communicator).rank);
    }
    if (PMPI_Comm_set_attr(communicator, key_, choices.get()) != MPI_SUCCESS) return nullptr;
    return choices.release();  // the communicator's, until forget_communicator
}

void OwnAlgorithms::close(Choices& choices) {
    const std::lock_guard lock(mutex_);
    if (opened_.erase(&choices) != 0) real::Comm_free(&choices.own);
}

void OwnAlgorithms::release() noexcept {
    allowed_ = false;
    const std::lock_guard lock(mutex_);
    for (Choices* choices : opened_) real::Comm_free(&choices->own);
    opened_.clear();
    if (asked_on_ != MPI_COMM_NULL) real::Comm_free(&asked_on_);
}

int OwnAlgorithms::forget_communicator(MPI_Comm, int, void* value, void* owner) {
    auto* choices = static_cast<Choices*>(value);
    static_cast<OwnAlgorithms*>(owner)->close(*choices);
    delete choices;
    return MPI_SUCCESS;
}

}  // namespace headway::glue
