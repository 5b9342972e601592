// SPDX-License-Identifier: MIT
#include "job_texts.hpp"

#include <cstdint>
#include <limits>
#include <numeric>
#include <sstream>

#include "message_size.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t most_bytes = std::numeric_limits<int>::max();

}  // namespace

bool all_agree(bool own) noexcept {
    const int mine = own ? 1 : 0;
    int least = 0;
    return real::Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && least == 1;
}

std::optional<std::vector<std::string>> allgather_texts(const OwnText& own) noexcept {
    const auto ranks = static_cast<std::size_t>(place_in(MPI_COMM_WORLD).ranks);
    const int own_bytes = own ? static_cast<int>(own->size()) : 0;
    int width = 0;
    real::Allreduce(&own_bytes, &width, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const auto each = static_cast<std::size_t>(width);
    std::string padded, all;
    std::vector<std::string> texts;
    const auto make_room = [&] {
        padded = *own;
        padded.resize(each, '\0');
        all.resize(each * ranks, '\0');
        texts.resize(ranks);
    };
    if (!all_agree(own && has_memory_for(make_room))) return std::nullopt;
    real::Allgather(padded.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, MPI_COMM_WORLD);
    const auto part = [&] {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            texts[rank] = all.substr(rank * each, each);
            texts[rank].resize(texts[rank].find('\0') != std::string::npos ? texts[rank].find('\0') : each);
        }
    };
    if (!all_agree(has_memory_for(part))) return std::nullopt;
    return texts;
}

std::optional<std::vector<std::string>> gather_texts(const OwnText& own) noexcept {
    const Place place = place_in(MPI_COMM_WORLD);
    const std::size_t ranks = place.rank == 0 ? static_cast<std::size_t>(place.ranks) : 0;
    std::vector<int> sizes, first;
    std::vector<std::string> texts;
    std::string all;
    const auto make_room = [&] {
        sizes.resize(ranks);
        first.resize(ranks);
        texts.resize(static_cast<std::size_t>(place.ranks));
    };
    if (!all_agree(own && own->size() <= most_bytes && has_memory_for(make_room))) return std::nullopt;
    const int own_bytes = static_cast<int>(own->size());
    real::Gather(&own_bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    const auto total = static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
    if (!all_agree(total <= most_bytes && has_memory_for([&] { all.resize(total); }))) return std::nullopt;
    std::exclusive_scan(sizes.begin(), sizes.end(), first.begin(), 0);
    real::Gatherv(own->data(), own_bytes, MPI_CHAR, all.data(), sizes.data(), first.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    const auto part = [&] {
        for (std::size_t rank = 0; rank < ranks; ++rank)
            texts[rank] = all.substr(static_cast<std::size_t>(first[rank]), static_cast<std::size_t>(sizes[rank]));
    };
    if (!all_agree(has_memory_for(part))) return std::nullopt;
    return texts;
}

std::optional<std::string> text_of_rank_0(const OwnText& own) noexcept {
    std::uint64_t bytes = own ? own->size() : 0;
    real::Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    std::string text;
    const auto make_room = [&] {
        if (place_in(MPI_COMM_WORLD).rank == 0) text = *own;
        text.resize(bytes);
    };
    if (!all_agree(own && bytes <= most_bytes && has_memory_for(make_room))) return std::nullopt;
    real::Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

std::optional<std::set<Address>> addresses_of_all() noexcept {
    const auto texts = allgather_texts(own_text([] {
        std::string text;
        for (const Address& address : own_addresses()) text += address + "\n";
        return text;
    }));
    std::set<Address> addresses;
    const auto read = [&] {
        for (const std::string& text : *texts) {
            std::istringstream lines(text);
            for (Address address; std::getline(lines, address);) addresses.insert(address);
        }
    };
    if (!texts || !has_memory_for(read)) return std::nullopt;
    return addresses;
}

}  // namespace headway::glue
