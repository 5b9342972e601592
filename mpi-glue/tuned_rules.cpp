// SPDX-License-Identifier: MIT
#include "tuned_rules.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headway::glue {
namespace {

constexpr int alltoall_id = 3;       // place of alltoall in Open MPI's enum COLLTYPE
constexpr int native_algorithm = 0;  // "no rule": the compiled-in decision
constexpr int linear_algorithm = 1;

constexpr std::uint64_t largest_communicator = std::uint64_t{1} << 20;

// Rules count the bytes a rank sends to all, so each communicator size needs
// its own.  One rule serves all sizes up to the next: exact up to 256 ranks,
// from there on the limit is up to 1/256 higher, which keeps the file short.
std::uint64_t next_communicator(std::uint64_t ranks) { return ranks + 1 + ranks / 256; }

}  // namespace

std::string tuned_rules_text() {
    std::string rules;
    std::uint64_t count = 0;
    for (std::uint64_t ranks = 2; ranks <= largest_communicator; ++count) {
        const std::uint64_t next = next_communicator(ranks);
        // the highest communicator of the range decides, for none may have the
        // linear algorithm from less than the limit
        const std::uint64_t limit_bytes = linear_from_bytes * (next - 1);
        // "ranks, number of message sizes", then "size algorithm fanout segment"
        rules += std::to_string(ranks) + " 2\n0 " + std::to_string(native_algorithm) + " 0 0\n" +
                 std::to_string(limit_bytes) + " " + std::to_string(linear_algorithm) + " 0 0\n";
        ranks = next;
    }
    // "number of collectives, which one, number of communicator sizes"
    return "1\n" + std::to_string(alltoall_id) + "\n" + std::to_string(count) + "\n" + rules;
}

tl::expected<UniqueFd, std::string> tuned_rules_file(const std::string& text) {
    UniqueFd file(::memfd_create("headway-tuned-rules", MFD_CLOEXEC));
    if (!file) return tl::unexpected(std::string("memfd_create: ") + std::strerror(errno));
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            return tl::unexpected(std::string("writing a file in memory: ") + std::strerror(errno));
        done += static_cast<std::size_t>(written);
    }
    return file;
}

std::string tuned_rules_path(const UniqueFd& file) {
    return "/proc/self/fd/" + std::to_string(file.get());
}

}  // namespace headway::glue
