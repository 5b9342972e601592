// SPDX-License-Identifier: MIT
#include "record/recorder.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>

#include "all_ranks.hpp"
#include "host_table.hpp"
#include "notice.hpp"
#include "real.hpp"
#include "record/recording_file.hpp"

namespace headway::glue {

Recorder& recorder() {
    static Recorder* const instance = new Recorder;
    return *instance;
}

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
    file_ = file;
    hosts_ = allgather_texts(own_host_name());
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

bool Recorder::put_own_flows(std::vector<std::int64_t>& numbers) const try {
    for (const auto& [key, flow] : flows_) {
        const auto& [phase, operation, to] = key;
        for (const auto number : {static_cast<std::int64_t>(phase), static_cast<std::int64_t>(operation),
                                  static_cast<std::int64_t>(to),
                                  static_cast<std::int64_t>(flow.bytes),
                                  static_cast<std::int64_t>(flow.messages)})
            numbers.push_back(number);
    }
    return true;
} catch (const std::exception&) {
    return false;
}

namespace {

/// Whether all ranks say so.
bool is_agreed(bool own) {
    const int mine = own ? 1 : 0;
    int least = 0;
    return real::Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && least == 1;
}

/// Resized; false without the memory.
template <class Value>
bool has_room(std::vector<Value>& values, std::size_t size) try {
    values.resize(size);
    return true;
} catch (const std::exception&) {
    return false;
}

}  // namespace

/// At rank 0 those of all ranks, one after the other, and how many numbers each has; nothing: a rank has no memory, or
/// they are too many.  Collective over MPI_COMM_WORLD.
std::optional<Recorder::Gathered> Recorder::gather_flows(const Place& place) {
    Gathered all;
    std::vector<std::int64_t> own;
    std::vector<int> displacements;
    const std::size_t ranks = place.rank == 0 ? static_cast<std::size_t>(place.ranks) : 0;
    const bool has_all = put_own_flows(own) && has_room(all.counts, ranks) && has_room(displacements, ranks) &&
                         own.size() <= std::numeric_limits<int>::max();
    if (!is_agreed(has_all)) return std::nullopt;
    const int own_count = static_cast<int>(own.size());
    real::Gather(&own_count, 1, MPI_INT, all.counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    const auto total = std::accumulate(all.counts.begin(), all.counts.end(), std::int64_t{0});
    if (!is_agreed(total <= std::numeric_limits<int>::max() && has_room(all.numbers, static_cast<std::size_t>(total))))
        return std::nullopt;
    std::exclusive_scan(all.counts.begin(), all.counts.end(), displacements.begin(), 0);
    real::Gatherv(own.data(), own_count, MPI_INT64_T, all.numbers.data(), all.counts.data(), displacements.data(),
                  MPI_INT64_T, 0, MPI_COMM_WORLD);
    return all;
}

// Collective over MPI_COMM_WORLD: what a rank has no memory for is agreed on, so that none waits for another.
void Recorder::finish() noexcept try {
    if (world_ == MPI_GROUP_NULL) return;
    on_ = false;
    const Place place = place_in(MPI_COMM_WORLD);
    const auto gathered = gather_flows(place);
    const std::int64_t own_left_out = left_out_;
    std::int64_t left_out = 0;
    real::Reduce(&own_left_out, &left_out, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Group_free(&world_);
    if (place.rank != 0) return;
    if (!gathered) return say("no recording: not enough memory");

    RecordingFile recording(hosts_, left_out);
    const std::int64_t* flow = gathered->numbers.data();
    for (int source = 0; source < place.ranks; ++source) {
        const std::int64_t* const end = flow + gathered->counts[static_cast<std::size_t>(source)];
        for (; flow < end; flow += RecordedFlow::numbers) recording.add(source, flow);
    }
    const std::string trouble = recording.write(file_);
    if (!trouble.empty()) {
        say("no recording: " + file_ + ": " + trouble);
    } else if (left_out > 0) {
        say("the recording " + file_ + " leaves out " + std::to_string(left_out) +
            " calls: one-sided ones, scans, and sends and collectives between groups or jobs");
    }
} catch (const std::exception&) {
    say("no recording: not enough memory");
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
