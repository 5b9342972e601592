// SPDX-License-Identifier: MIT
#include "pattern_player.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "helper.hpp"
#include "job_texts.hpp"
#include "json_object.hpp"
#include "message_size.hpp"
#include "real.hpp"
#include "short_memory.hpp"
#include "traffic_request.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t pattern_max_bytes = std::size_t{256} << 20;

std::string recording_in(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(stream), {});
    if (text.size() > pattern_max_bytes) text.clear();
    return text;
}

/// Rank 0's file, to every rank: the others may not see its file system.  False, at all ranks: one has no memory for it.
bool broadcast_file(const std::string& file, std::string& text) {
    const bool is_first = place_in(MPI_COMM_WORLD).rank == 0;
    const bool is_read = !is_first || has_memory_for([&] { text = recording_in(file); });
    int size = static_cast<int>(text.size());
    real::Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!all_agree(is_read && has_memory_for([&] { text.resize(static_cast<std::size_t>(size)); }))) return false;
    real::Bcast(text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    return true;
}

std::vector<int> hosts_by_rank(int ranks) {
    std::vector<int> hosts;
    for (int rank = 0; rank < ranks; ++rank)
        hosts.push_back(*helper().hosts().host_of(MPI_COMM_WORLD, rank));
    return hosts;
}

/// The paced point-to-point messages of a recording: bytes between hosts.
class RecordedTraffic {
public:
    RecordedTraffic(std::vector<int> host_of_rank, std::uint64_t min_message_bytes)
        : host_of_rank_(std::move(host_of_rank)), min_message_bytes_(static_cast<double>(min_message_bytes)) {}

    /// Reads a recording and returns what is wrong with it, or "".
    [[nodiscard]] std::string read(std::string text) {
        const auto take = [&](std::string_view path, const JsonObject& json) {
            if (path == "phases.flows" && add_flow(json)) ++sound_flows_;
            if (path == "phases" && end_phase(json)) ++sound_phases_;
        };
        const auto recording = JsonObject::read(std::move(text), take);
        if (!recording || !recording->has("headway_recording")) return "it is no recording";
        if (recording->whole_number("headway_recording") != 1U) return "it is of another version";
        if (recording->whole_number("ranks") != host_of_rank_.size()) return "it is of another number of ranks";
        return recording->list_size("phases") == sound_phases_ ? "" : "it is no recording";
    }

    [[nodiscard]] const std::map<int, HostTraffic>& of_phase() const { return of_phase_; }

private:
    /// None: there is no such rank.
    [[nodiscard]] std::optional<int> host_of(std::optional<std::uint64_t> rank) const {
        return rank && *rank < host_of_rank_.size() ? std::optional(host_of_rank_[*rank]) : std::nullopt;
    }
    [[nodiscard]] bool add_flow(const JsonObject& json) {
        const auto source = host_of(json.whole_number("source")), destination = host_of(json.whole_number("destination"));
        const auto bytes = json.number("bytes"), messages = json.number("messages");
        if (!source || !destination || !bytes || !messages) return false;
        if (*source != *destination && *bytes >= *messages * min_message_bytes_) flows_[{*source, *destination}] += *bytes;
        return true;
    }
    /// Its flows have been added.
    [[nodiscard]] bool end_phase(const JsonObject& json) {
        const HostTraffic flows = std::exchange(flows_, {});
        const std::size_t sound_flows = std::exchange(sound_flows_, 0);
        const auto level = json.number("phase");
        const auto operation = json.text("operation");
        constexpr double most = std::numeric_limits<int>::max();
        if (!operation || json.list_size("flows") != sound_flows || !level || std::abs(*level) > most) return false;
        if (*operation != "point_to_point") return true;
        for (const auto& [pair, bytes] : flows) of_phase_[static_cast<int>(*level)][pair] += bytes;
        return true;
    }

    std::vector<int> host_of_rank_;
    double min_message_bytes_;
    HostTraffic flows_;  ///< of the phase that is being read
    std::size_t sound_flows_ = 0;
    std::size_t sound_phases_ = 0;
    std::map<int, HostTraffic> of_phase_;
};

}  // namespace

PatternPlayer& pattern_player() { return the_only<PatternPlayer>(); }

std::string PatternPlayer::begin(const std::string& file) {
    std::string text;
    if (!broadcast_file(file, text)) return "there is no memory for it";
    std::string trouble = read(std::move(text), helper().hosts().min_message_bytes());
    if (trouble.empty()) enter_phase(0);
    return trouble;
}

std::string PatternPlayer::read(std::string text, std::uint64_t min_message_bytes) {
    const Place own = place_in(MPI_COMM_WORLD);
    const std::vector<int> host_of_rank = hosts_by_rank(own.ranks);
    const int own_host = host_of_rank[static_cast<std::size_t>(own.rank)];
    RecordedTraffic recorded(host_of_rank, min_message_bytes);
    if (std::string trouble = recorded.read(std::move(text)); !trouble.empty()) return trouble;
    for (const auto& [phase, traffic] : recorded.of_phase()) {
        const bool sends =
            std::any_of(traffic.begin(), traffic.end(),
                        [&](const auto& flow) { return flow.first.first == own_host; });
        if (!sends) continue;
        rates_of_phase_[phase] =
            std::make_shared<HeldRates>(traffic_request(traffic, helper().hosts().job_hosts().names()));
    }
    return "";
}

void PatternPlayer::enter_phase(int level) noexcept try {
    const std::lock_guard lock(mutex_);
    if (rates_of_phase_.empty()) return;
    const auto found = rates_of_phase_.find(level);
    auto rates = found != rates_of_phase_.end() ? found->second : nullptr;
    if (rates == in_force_) return;
    in_force_ = rates;
    const auto held = helper().hold(std::move(rates));
    if (held) return;
    helper().complain("not pacing phase " + std::to_string(level) + ": " + held.error().what);
} catch (const std::exception&) {
    // then not even that
}

}  // namespace headway::glue
