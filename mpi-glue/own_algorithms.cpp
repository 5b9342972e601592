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
#include "node_exchange.hpp"
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

}  // namespace

OwnAlgorithms& own_algorithms() {
    static OwnAlgorithms* const instance = new OwnAlgorithms;
    return *instance;
}

bool OwnAlgorithms::is_on_its_own(MPI_Comm communicator) noexcept {
    return is_of_one_group(communicator) && helper().has_its_links_alone(communicator);
}

/// Of blocks that all ranks know the size of.
bool OwnAlgorithms::may_go_by_nodes(Operation operation, std::uint64_t bytes) noexcept {
    return operation == Operation::alltoall && bytes >= node_aware_from_bytes &&
           bytes <= node_aware_to_bytes && helper().hosts().job_hosts().ranks_per_host() >= node_aware_from_ranks;
}

OwnAlgorithms::Chosen OwnAlgorithms::choose_for(const Collective& collective,
                                                MPI_Comm communicator,
                                                std::uint64_t bytes) noexcept try {
    Choices* choices = choices_of(communicator);
    if (choices == nullptr || !choices->hosts || choices->hosts->size() < 2) return {};
    const auto root_host = helper().root_host_of(collective, communicator);
    if (!root_host) return {};

    const bool all_know_it = sizes_agree(collective.operation);
    const bool by_nodes = may_go_by_nodes(collective.operation, bytes) &&
                          choices->order->most_on_a_host() >= node_aware_from_ranks;
    if (all_know_it && !by_nodes && bytes < own_from_bytes) return {};
    const Algorithm able = by_nodes ? Algorithm::node_aware : own_algorithm_of(collective.operation);
    const Choices::Key place{collective.operation, *root_host, all_know_it ? size_class(bytes) : 0};
    Agreement& agreement = choices->agreements[place];
    agreement.largest_bytes = std::max(agreement.largest_bytes, bytes);
    if (agreement.calls++ % calls_per_agreement == 0) {
        agree({collective.operation, *choices->hosts, *root_host}, communicator, able, *choices,
              agreement);
    }
    return {agreement.on, choices};
} catch (const std::exception&) {
    return {};
}

void OwnAlgorithms::allow() noexcept {
    if (asked_on_ == MPI_COMM_NULL) {
        const ErrorsReturned quietly(MPI_COMM_SELF);
        if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &asked_on_) != MPI_SUCCESS) return;
        PMPI_Comm_set_errhandler(asked_on_, MPI_ERRORS_RETURN);
    }
    allowed_ = true;
}

/// Collective over `communicator`.  Without an answer it stays at what it was.
void OwnAlgorithms::agree(PatternKey key, MPI_Comm communicator, Algorithm able, Choices& choices,
                          Agreement& agreement) {
    const ErrorsReturned quietly(communicator);
    const auto [rank, ranks] = place_in(communicator);
    const bool is_first = agreement.calls == 1;
    const bool all_know_size = sizes_agree(key.operation);
    const std::uint64_t own_largest = std::exchange(agreement.largest_bytes, 0);
    Algorithm agreed = agreement.on;
    if (rank == 0) {
        auto bytes = all_know_size ? std::optional(own_largest) : std::nullopt;
        key.is_between_hosts = able == Algorithm::node_aware;
        if (key.is_between_hosts) bytes = helper().bytes_between_hosts(own_largest);
        const auto planned = helper().planned_algorithm(key, bytes, agreement.asked);
        if (planned) agreement.planned = *planned == Algorithm::native ? *planned : able;
        agreed = agreement.planned;
    }
    // only rank 0 has an opinion, so that the maximum is what it says
    std::array<std::uint64_t, 2> said{static_cast<std::uint64_t>(agreed), own_largest};
    std::array<std::uint64_t, 2> heard = said;
    if (rank != 0) said[0] = 0;
    const int count = static_cast<int>(said.size());
    const int status =
        all_know_size ? real::Bcast(heard.data(), count, MPI_UINT64_T, 0, communicator)
                      : real::Allreduce(said.data(), heard.data(), count, MPI_UINT64_T, MPI_MAX,
                                        communicator);
    if (status != MPI_SUCCESS) return leave_to_library(choices);
    agreed = static_cast<Algorithm>(heard[0]);
    if (!all_know_size && heard[1] < own_from_bytes) agreed = Algorithm::native;
    if (agreed != Algorithm::native) open(communicator, choices);
    if (!choices.hosts) agreed = Algorithm::native;
    if (helper().settings().verbose && rank == 0 && (is_first || agreed != agreement.on))
        say(std::string(name_of(key.operation)) + " of " + std::to_string(ranks) + " ranks: " +
            name_of(agreed));
    agreement.on = agreed;
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
    if (!all_say_yes(has_room_for_one_more(), communicator)) return leave_to_library(choices);
    MPI_Comm own = MPI_COMM_NULL;
    const int split = PMPI_Comm_split(communicator, 0, place_in(communicator).rank, &own);
    if (split != MPI_SUCCESS) own = MPI_COMM_NULL;
    if (own != MPI_COMM_NULL) PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (!all_say_yes(own != MPI_COMM_NULL, communicator)) {
        if (own != MPI_COMM_NULL) real::Comm_free(&own);
        return leave_to_library(choices);
    }
    choices.own = own;
    const std::lock_guard lock(mutex_);
    opened_.insert(&choices);
}

/// Collective calls of this communicator are not looked at any more.
void OwnAlgorithms::leave_to_library(Choices& choices) {
    choices.hosts.reset();
    for (auto& [key, agreement] : choices.agreements) agreement.on = Algorithm::native;
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
                                                call);
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
    choices->ring = helper().hosts().ring_of(communicator);
    if (choices->hosts)
        choices->order.emplace(helper().hosts().places_of(communicator, *choices->hosts),
                               place_in(communicator).rank);
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
