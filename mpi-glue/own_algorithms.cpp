// SPDX-License-Identifier: MIT
#include "own_algorithms.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>

#include "helper.hpp"
#include "message_size.hpp"
#include "notice.hpp"
#include "real.hpp"

namespace headway::glue {

OwnAlgorithms& own_algorithms() {
    static OwnAlgorithms* const instance = new OwnAlgorithms;
    return *instance;
}

bool OwnAlgorithms::is_on_its_own(MPI_Comm communicator) noexcept {
    return is_of_one_group(communicator) && helper().has_its_links_alone(communicator);
}

OwnAlgorithms::Chosen OwnAlgorithms::choose_for(const Collective& collective,
                                                MPI_Comm communicator,
                                                std::optional<std::uint64_t> bytes) noexcept try {
    if (!is_of_one_group(communicator)) return {};
    Choices* choices = choices_of(communicator);
    if (choices == nullptr || !choices->hosts || choices->hosts->size() < 2) return {};
    const auto root_host = helper().root_host_of(collective, communicator);
    if (!root_host) return {};

    const Choices::Key place{collective.operation, *root_host, bytes ? size_class(*bytes) : 0};
    Agreement& agreement = choices->agreements[place];
    if (agreement.calls++ % calls_per_agreement == 0) {
        agree({collective.operation, *choices->hosts, *root_host}, bytes, communicator, *choices,
              agreement);
    }
    return {{agreement.on}, choices};
} catch (const std::exception&) {
    return {};
}

/// Collective over `communicator`.  Without an answer it stays at what it was.
void OwnAlgorithms::agree(PatternKey key, std::optional<std::uint64_t> bytes,
                          MPI_Comm communicator, Choices& choices, Agreement& agreement) {
    const auto [rank, ranks] = place_in(communicator);
    const bool is_first = agreement.calls == 1;
    PlannedAlgorithm agreed = agreement.on;
    if (rank == 0) {
        const auto able = own_algorithms_of(key.operation);
        if (std::any_of(able.begin(), able.end(), is_stepwise))
            key.host_of_rank = helper().hosts().places_to_tell(communicator, key.hosts);
        agreed = helper().planned_algorithm(key, bytes, agreement.asked).value_or(agreed);
    }
    std::array<int, 2> words{static_cast<int>(agreed.algorithm), agreed.in_lock_step ? 1 : 0};
    real::Bcast(words.data(), static_cast<int>(words.size()), MPI_INT, 0, communicator);
    agreed = {static_cast<Algorithm>(words[0]), words[1] != 0};
    if (agreed.algorithm == Algorithm::grid && choices.clusters.empty())
        agreed.algorithm = Algorithm::linear;
    if (agreed.algorithm != Algorithm::native) open(communicator, choices);
    if (helper().settings().verbose && rank == 0 && (is_first || agreed != agreement.on))
        say(std::string(name_of(key.operation)) + " of " + std::to_string(ranks) + " ranks: " +
            name_of(agreed.algorithm) + (agreed.in_lock_step ? " in lock step" : ""));
    agreement.on = agreed;
}

/// Collective over `communicator`.  MPI_Comm_dup would call the program's own
/// attribute functions; a split does not.
void OwnAlgorithms::open(MPI_Comm communicator, Choices& choices) {
    if (choices.own != MPI_COMM_NULL) return;
    PMPI_Comm_split(communicator, 0, place_in(communicator).rank, &choices.own);
    PMPI_Comm_set_errhandler(choices.own, MPI_ERRORS_RETURN);
    const std::lock_guard lock(mutex_);
    opened_.insert(&choices);
}

void OwnAlgorithms::open_early(MPI_Comm communicator) noexcept try {
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

int OwnAlgorithms::run(const Chosen& chosen, MPI_Comm communicator, const Exchange& exchange,
                       bool paced) noexcept {
    const Choices& choices = *chosen.choices;
    const auto at_step = [&](int step) {
        if (!chosen.in_lock_step) return;
        PMPI_Barrier(choices.own);
        if (paced) helper().step(step);
    };
    return carry_out(communicator, [&] {
        return glue::carry_out(chosen.algorithm, exchange, choices.own, choices.clusters, at_step);
    });
}

int OwnAlgorithms::run(const Chosen& chosen, MPI_Comm communicator, const RootedExchange& exchange,
                       bool /*paced*/) noexcept {
    return carry_out(communicator, [&] { return exchange.carry_out(chosen.choices->own); });
}

OwnAlgorithms::Choices* OwnAlgorithms::choices_of(MPI_Comm communicator) {
    {
        const std::lock_guard lock(mutex_);
        if (key_ == MPI_KEYVAL_INVALID)
            real::Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &key_, this);
    }
    void* value = nullptr;
    int found = 0;
    real::Comm_get_attr(communicator, key_, &value, &found);
    if (found != 0) return static_cast<Choices*>(value);
    auto choices = std::make_unique<Choices>();
    choices->hosts = helper().hosts().hosts_of(communicator);
    choices->clusters = helper().hosts().clusters_of(communicator);
    choices->ring = helper().hosts().ring_of(communicator);
    if (real::Comm_set_attr(communicator, key_, choices.get()) != MPI_SUCCESS) return nullptr;
    return choices.release();  // the communicator's, until forget_communicator
}

void OwnAlgorithms::close(Choices& choices) {
    const std::lock_guard lock(mutex_);
    if (opened_.erase(&choices) != 0) PMPI_Comm_free(&choices.own);
}

void OwnAlgorithms::release() noexcept {
    allowed_ = false;
    const std::lock_guard lock(mutex_);
    for (Choices* choices : opened_) PMPI_Comm_free(&choices->own);
    opened_.clear();
}

int OwnAlgorithms::forget_communicator(MPI_Comm, int, void* value, void* owner) {
    auto* choices = static_cast<Choices*>(value);
    static_cast<OwnAlgorithms*>(owner)->close(*choices);
    delete choices;
    return MPI_SUCCESS;
}

}  // namespace headway::glue
