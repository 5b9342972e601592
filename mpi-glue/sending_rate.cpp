// SPDX-License-Identifier: MIT
#include "sending_rate.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <string>

#include "helper.hpp"
#include "short_memory.hpp"

namespace headway::glue {
namespace {

constexpr const char* matb_key = "headway_matb";
constexpr const char* maxrate_key = "headway_maxrate";
constexpr int most_kbytes_per_s = std::numeric_limits<int>::max();
constexpr std::uint64_t bytes_of_kbyte = 1000;
constexpr double bits_of_kbyte = 8000;
/// A program goes to and fro between a few; one that has ever new ones asks for each anyway.
constexpr std::size_t rates_kept = 64;

std::optional<std::string> matb_in(MPI_Info info) {
    int length = 0;
    int found = 0;
    PMPI_Info_get_valuelen(info, matb_key, &length, &found);
    if (found == 0) return std::nullopt;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PMPI_Info_get(info, matb_key, length, value.data(), &found);
    value.resize(static_cast<std::size_t>(length));
    return value;
}

std::optional<int> kbytes_per_s_in(const std::string& text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped_at != end || number < 0) return std::nullopt;
    return number;
}

/// The link that an all-to-all of the whole job would fill first; 0: none is known.
int planned_maxrate_kbytes_per_s() {
    HostSet everywhere(helper().hosts().job_hosts().names().size());
    std::iota(everywhere.begin(), everywhere.end(), 0);
    if (everywhere.size() < 2) return 0;
    const auto plan = helper().plan(Operation::alltoall, everywhere, std::nullopt);
    const double kbytes_per_s = plan ? plan->limiting_bits_per_s / bits_of_kbyte : 0;
    return static_cast<int>(std::clamp<double>(kbytes_per_s, 0, most_kbytes_per_s));
}

}  // namespace

SendingRate& sending_rate() { return the_only<SendingRate>(); }

/// 0: no limit of the program's.
void SendingRate::hold(int kbytes_per_s) {
    if (kbytes_per_s == 0) {
        (void)helper().hold(nullptr);
        return;
    }
    if (rates_.size() == rates_kept) rates_.clear();
    auto& rates = rates_[kbytes_per_s];
    if (!rates)
        rates = std::make_shared<HeldRates>(
            ObjectText("rate").number("bytes_per_s", static_cast<std::uint64_t>(kbytes_per_s) * bytes_of_kbyte));
    const auto held = helper().hold(rates);
    if (held && *held) return;
    helper().complain(std::string(matb_key) + " has no effect: " +
                      (held ? "headwayd is not there, or has no phases" : held.error().what));
}

void SendingRate::set(MPI_Comm communicator, MPI_Info info) noexcept try {
    const auto text = matb_in(info);
    if (!text) return;
    const auto kbytes_per_s = kbytes_per_s_in(*text);
    if (!kbytes_per_s)
        return helper().complain(std::string(matb_key) + "=" + *text +
                                 " is not understood, expected 0 to " +
                                 std::to_string(most_kbytes_per_s));
    const std::lock_guard lock(mutex_);
    matb_kbytes_per_s_[communicator] = *kbytes_per_s;
    in_force_ = communicator;
    hold(*kbytes_per_s);
} catch (const std::exception&) {
    // A process without the memory for it has no such rate.
}

void SendingRate::add_to(MPI_Info info, MPI_Comm communicator) noexcept try {
    const std::lock_guard lock(mutex_);
    const auto matb = matb_kbytes_per_s_.find(communicator);
    if (matb != matb_kbytes_per_s_.end())
        PMPI_Info_set(info, matb_key, std::to_string(matb->second).c_str());
    if (const int maxrate = maxrate_kbytes_per_s(); maxrate != 0)
        PMPI_Info_set(info, maxrate_key, std::to_string(maxrate).c_str());
} catch (const std::exception&) {
    // Then the program learns less.
}

void SendingRate::forget(MPI_Comm communicator) noexcept try {
    const std::lock_guard lock(mutex_);
    matb_kbytes_per_s_.erase(communicator);
    if (in_force_ != communicator) return;
    in_force_.reset();
    hold(0);
} catch (const std::exception&) {
    // Then it ends with MPI_Finalize.
}

int SendingRate::maxrate_kbytes_per_s() {
    if (!maxrate_kbytes_per_s_) {
        const int given = helper().settings().maxrate_kbytes_per_s;
        maxrate_kbytes_per_s_ = given != 0 ? given : planned_maxrate_kbytes_per_s();
    }
    return *maxrate_kbytes_per_s_;
}

}  // namespace headway::glue
