// SPDX-License-Identifier: MIT
#include "pattern_player.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "helper.hpp"
#include "job_texts.hpp"
#include "message_size.hpp"
#include "real.hpp"
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

using Json = nlohmann::json;

/// Bytes between hosts, in messages that are paced.
HostTraffic host_traffic(const Json& phase, const std::vector<int>& host_of_rank,
                         std::uint64_t min_message_bytes) {
    HostTraffic traffic;
    for (const Json& flow : phase.at("flows")) {
        const std::pair pair{host_of_rank.at(flow.at("source").get<std::size_t>()),
                        host_of_rank.at(flow.at("destination").get<std::size_t>())};
        const double bytes = flow.at("bytes").get<double>();
        const double messages = flow.at("messages").get<double>();
        if (pair.first != pair.second && bytes >= messages * static_cast<double>(min_message_bytes))
            traffic[pair] += bytes;
    }
    return traffic;
}

std::vector<int> hosts_by_rank(int ranks) {
    std::vector<int> hosts;
    for (int rank = 0; rank < ranks; ++rank)
        hosts.push_back(*helper().hosts().host_of(MPI_COMM_WORLD, rank));
    return hosts;
}

}  // namespace

PatternPlayer& pattern_player() {
    static PatternPlayer* const instance = new PatternPlayer;
    return *instance;
}

std::string PatternPlayer::begin(const std::string& file) {
    std::string text;
    if (!broadcast_file(file, text)) return "there is no memory for it";
    std::string trouble = read(text, helper().hosts().min_message_bytes());
    if (trouble.empty()) enter_phase(0);
    return trouble;
}

std::string PatternPlayer::read(std::string_view text, std::uint64_t min_message_bytes) {
    const auto json = Json::parse(text, nullptr, false);
    const Place own = place_in(MPI_COMM_WORLD);
    const std::vector<int> host_of_rank = hosts_by_rank(own.ranks);
    const int own_host = host_of_rank[static_cast<std::size_t>(own.rank)];
    std::map<int, HostTraffic> traffic_of_phase;
    try {
        if (json.at("headway_recording") != 1) return "it is of another version";
        if (json.at("ranks") != own.ranks) return "it is of another number of ranks";
        for (const Json& phase : json.at("phases")) {
            if (phase.at("operation") != "point_to_point") continue;
            auto& traffic = traffic_of_phase[phase.at("phase").get<int>()];
            for (const auto& [pair, bytes] :
                 host_traffic(phase, host_of_rank, min_message_bytes))
                traffic[pair] += bytes;
        }
    } catch (const std::exception&) {
        return "it is no recording";
    }
    for (const auto& [phase, traffic] : traffic_of_phase) {
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
