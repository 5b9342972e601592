// SPDX-License-Identifier: MIT
#include "pattern_player.hpp"

#include <exception>
#include <fstream>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "helper.hpp"
#include "message_size.hpp"
#include "rate_control.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t pattern_max_bytes = std::size_t{256} << 20;

/// Rank 0's file, to every rank: the others may not see its file system.
std::string broadcast_file(const std::string& file) {
    std::string text;
    const bool is_first = place_in(MPI_COMM_WORLD).rank == 0;
    if (is_first) {
        std::ifstream stream(file, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(stream), {});
        if (text.size() > pattern_max_bytes) text.clear();
    }
    int size = static_cast<int>(text.size());
    real::Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    text.resize(static_cast<std::size_t>(size));
    real::Bcast(text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

}  // namespace

PatternPlayer& pattern_player() {
    static PatternPlayer* const instance = new PatternPlayer;
    return *instance;
}

std::string PatternPlayer::begin(const std::string& file) {
    const std::string text = broadcast_file(file);
    std::string trouble = read(text);
    if (trouble.empty()) enter_phase(0);
    return trouble;
}

std::string PatternPlayer::read(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const Place own = place_in(MPI_COMM_WORLD);
    const auto clusters = helper().hosts().clusters_of(MPI_COMM_WORLD);
    if (clusters.empty()) return "headwayd does not tell the clusters";
    try {
        if (json.at("headway_recording") != 1) return "it is of another version";
        if (json.at("ranks") != own.ranks) return "it is of another number of ranks";
        const int own_cluster = clusters[static_cast<std::size_t>(own.rank)];
        const int own_host = *helper().hosts().host_of(MPI_COMM_WORLD, own.rank);
        for (const auto& phase : json.at("phases")) {
            if (phase.at("operation") != "point_to_point") continue;
            std::set<int> senders;
            for (const auto& flow : phase.at("flows")) {
                const int source = flow.at("source").get<int>();
                const int cluster = clusters.at(static_cast<std::size_t>(source));
                if (cluster == own_cluster &&
                    cluster != clusters.at(flow.at("destination").get<std::size_t>()))
                    senders.insert(*helper().hosts().host_of(MPI_COMM_WORLD, source));
            }
            senders_of_phase_[phase.at("phase").get<int>()] =
                senders.count(own_host) != 0 ? senders.size() : 0;
        }
    } catch (const std::exception&) {
        senders_of_phase_.clear();
        return "it is no recording";
    }
    return "";
}

void PatternPlayer::enter_phase(int level) noexcept {
    const std::lock_guard lock(mutex_);
    if (senders_of_phase_.empty()) return;
    const auto found = senders_of_phase_.find(level);
    const std::uint64_t senders = found != senders_of_phase_.end() ? found->second : 0;
    const auto most = rate_control().max_bytes_per_s();
    std::optional<std::uint64_t> rate;
    if (most && senders > 0) rate = *most / senders;
    if (rate == in_force_) return;
    in_force_ = rate;
    rate_control().set_rate(rate);
}

}  // namespace headway::glue
