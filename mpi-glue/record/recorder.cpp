// SPDX-License-Identifier: MIT
#include "record/recorder.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "all_ranks.hpp"
#include "base/whole_file.hpp"
#include "host_table.hpp"
#include "job_texts.hpp"
#include "notice.hpp"
#include "real.hpp"
#include "record/recording_file.hpp"
#include "short_memory.hpp"

namespace headway::glue {

Recorder& recorder() { return the_only<Recorder>(); }

void Recorder::begin() noexcept try {
    const char* file = std::getenv("HEADWAY_RECORD");
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (on_ || file == nullptr || *file == '\0' || initialized == 0)
        return;
    const Place world = place_in(MPI_COMM_WORLD);
    const auto [outcome, job] = meet_all_ranks(read_settings(), world.rank, world.ranks);
    if (!outcome.all_take_part) {
        if (!outcome.reason.empty()) say("no recording: " + outcome.reason);
        return;
    }
    auto hosts = allgather_texts(own_text(own_host_name));
    if (!all_agree(hosts && has_memory_for([&] { file_ = file; }))) {
        if (world.rank == 0) say(std::string_view("no recording: not enough memory"));
        return;
    }
    hosts_ = std::move(*hosts);
    PMPI_Comm_group(MPI_COMM_WORLD, &world_);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &ranks_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &finalize_key_, this);
    PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key_, this);
    on_ = true;
} catch (const std::exception&) {
    // no recording
}

/// An intercommunicator: its other group's ranks may be anybody.
bool Recorder::leaves_out(MPI_Comm communicator) noexcept {
    if (is_of_one_group(communicator)) return false;
    ++left_out_;
    return true;
}

/// By rank in the communicator; kept as its attribute.
const std::vector<int>* Recorder::world_ranks_of(MPI_Comm communicator) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(communicator, ranks_key_, &value, &found);
    if (found != 0) return static_cast<const std::vector<int>*>(value);
    auto world_ranks = std::make_unique<std::vector<int>>(ranks_within(world_, communicator));
    if (PMPI_Comm_set_attr(communicator, ranks_key_, world_ranks.get()) != MPI_SUCCESS)
        return nullptr;
    return world_ranks.release();  // the communicator's, until forget_communicator
}

std::optional<int> Recorder::world_rank(MPI_Comm communicator, int rank) {
    if (rank < 0 || !is_of_one_group(communicator)) return std::nullopt;
    const std::vector<int>* world_ranks = world_ranks_of(communicator);
    if (world_ranks == nullptr || static_cast<std::size_t>(rank) >= world_ranks->size())
        return std::nullopt;
    const int found = (*world_ranks)[static_cast<std::size_t>(rank)];
    if (found == MPI_UNDEFINED) return std::nullopt;
    return found;
}

void Recorder::count(int operation, int to, std::uint64_t bytes) {
    Flow& flow = flows_[{phase_, operation, to}];
    flow.bytes += bytes;
    ++flow.messages;
}

void Recorder::add(int operation, MPI_Comm communicator, int to, std::uint64_t bytes) noexcept try {
    const auto destination = world_rank(communicator, to);
    if (!destination && to >= 0) ++left_out_;  // and MPI_PROC_NULL is nobody
    if (!destination) return;
    const std::lock_guard lock(mutex_);
    count(operation, *destination, bytes);
} catch (const std::exception&) {
    ++left_out_;
}

void Recorder::keep(MPI_Request request, MPI_Comm communicator, int to, std::uint64_t bytes) noexcept try {
    const auto destination = world_rank(communicator, to);
    if (!destination && to >= 0) ++left_out_;
    if (!destination) return;
    const std::lock_guard lock(mutex_);
    kept_.insert_or_assign(request, Kept{*destination, bytes});
} catch (const std::exception&) {
    ++left_out_;
}

void Recorder::started(MPI_Request request) noexcept try {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(request);
    if (found != kept_.end()) count(point_to_point, found->second.to, found->second.bytes);
} catch (const std::exception&) {
    ++left_out_;
}

void Recorder::forget(MPI_Request request) noexcept {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    kept_.erase(request);
}

void Recorder::enter_phase(int level) noexcept {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    phase_ = level;
}

/// RecordedFlow::numbers of each flow, as bytes.
std::string Recorder::own_flows() const {
    std::string flows;
    for (const auto& [key, flow] : flows_) {
        const auto& [phase, operation, to] = key;
        const std::array<std::int64_t, RecordedFlow::numbers> numbers{
            phase, operation, to, static_cast<std::int64_t>(flow.bytes), static_cast<std::int64_t>(flow.messages)};
        flows.append(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
    }
    return flows;
}

/// At rank 0, of all ranks' flows.
void Recorder::write(const std::vector<std::string>& flows_of_rank, std::int64_t left_out) const {
    RecordingFile recording(hosts_, left_out);
    for (std::size_t source = 0; source < flows_of_rank.size(); ++source) {
        std::array<std::int64_t, RecordedFlow::numbers> numbers{};
        for (std::size_t at = 0; at < flows_of_rank[source].size(); at += sizeof(numbers)) {
            std::memcpy(numbers.data(), &flows_of_rank[source][at], sizeof(numbers));
            recording.add(static_cast<int>(source), numbers.data());
        }
    }
    const std::string trouble = write_whole(file_, recording.text());
    if (!trouble.empty()) {
        say("no recording: " + file_ + ": " + trouble);
    } else if (left_out > 0) {
        say("the recording " + file_ + " leaves out " + std::to_string(left_out) +
            " calls: one-sided ones, scans, and sends and collectives between groups or jobs");
    }
}

// Collective over MPI_COMM_WORLD.
void Recorder::finish() noexcept {
    if (world_ == MPI_GROUP_NULL) return;
    on_ = false;
    const auto flows_of_rank = gather_texts(own_text([&] { return own_flows(); }));
    const std::int64_t own_left_out = left_out_;
    std::int64_t left_out = 0;
    real::Reduce(&own_left_out, &left_out, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Group_free(&world_);
    if (place_in(MPI_COMM_WORLD).rank != 0) return;
    if (!flows_of_rank || !has_memory_for([&] { write(*flows_of_rank, left_out); }))
        say(std::string_view("no recording: not enough memory"));
}

int Recorder::end_of_mpi(MPI_Comm, int, void*, void* recorder) {
    static_cast<Recorder*>(recorder)->finish();
    return MPI_SUCCESS;
}

int Recorder::forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<std::vector<int>*>(value);
    return MPI_SUCCESS;
}

}  // namespace headway::glue
