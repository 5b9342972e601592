// SPDX-License-Identifier: MIT
#include "ring_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "packed_block.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t segment_most_bytes = 65536;

// ------------------------------------------------------------------------------ allgather

/// One rank's part.
class RingAllgather {
public:
    RingAllgather(const HostRing& ring, const OwnCall& call, const Gathering& gathering, bool* missing)
        : ring_(ring), gathering_(gathering), own_(call.rank), missing_(missing), within_(ring.within_host()),
          messages_(call) {
        std::fill_n(missing, call.ranks, gathering.is_absent);
    }

    int run() noexcept {
        if (!gathering_.in_place) messages_.copy(gathering_.own, block_of(own_));
        messages_.wait_for_all();
        ring_.is_leader() ? lead() : follow();
        return messages_.wait_for_all();
    }

private:
    [[nodiscard]] Block block_of(int rank) const { return gathering_.is_absent ? Block{} : gathering_.all.of(rank); }

    void receive(int rank, int from) { messages_.receive(block_of(rank), from, MessageKind::data, &missing_[rank]); }
    void send(int rank, int to) { messages_.send(missing_[rank] ? Block{} : block_of(rank), to); }
    void note_missing(const std::vector<int>& ranks) {
        for (const int rank : ranks) messages_.note(missing_[rank] ? MPI_ERR_OTHER : MPI_SUCCESS);
    }

    void lead() {
        // what a rank of this host sends is its block, however long: as with the libraries
        for (const int rank : ring_.ranks_on(0)) {
            if (rank != own_) messages_.receive(block_of(rank), rank);
        }
        messages_.wait_for_all();
        for (int steps = 0; steps < ring_.hosts(); ++steps) {
            const std::vector<int>& here = ring_.ranks_on(-steps);
            for (const int child : within_.children()) {
                for (const int rank : here) send(rank, child);
            }
            if (steps + 1 < ring_.hosts()) pass_on(here, ring_.ranks_on(-steps - 1));
        }
    }

    /// To the next leader, from the one before; waited for.
    void pass_on(const std::vector<int>& sent, const std::vector<int>& received) {
        for (const int rank : received) receive(rank, ring_.leader(-1));
        for (const int rank : sent) send(rank, ring_.leader(1));
        messages_.wait_for_all();
        note_missing(received);
    }

    void follow() {
        messages_.send(block_of(own_), ring_.leader(0));
        messages_.wait_for_all();
        for (int steps = 0; steps < ring_.hosts(); ++steps) {
            const std::vector<int>& ranks = ring_.ranks_on(-steps);
            for (const int rank : ranks) receive(rank, within_.parent);
            messages_.wait_for_all();
            note_missing(ranks);
            for (const int child : within_.children()) {
                for (const int rank : ranks) send(rank, child);
            }
        }
    }

    const HostRing& ring_;
    const Gathering& gathering_;
    int own_;
    bool* missing_;
    TreePlace within_;
    Messages messages_;
};

// ------------------------------------------------------------------------------ broadcast

/// How a root's data go.
enum class Form : std::uint32_t {
    segments,  ///< along the ring
    whole,     ///< along the ring, of a type that is not contiguous: so nobody needs a copy
    tree,      ///< whole, along a tree
    nothing,   ///< the root's arguments cannot be used
    unsure,        ///< said to all ranks by one whose root is none: it may be the root of the others
    from_the_root, ///< said to such a rank: it is
};

/// The root sends this before its data.
struct Header {
    std::uint64_t bytes = 0;
    std::uint32_t root = 0;
    Form form = Form::nothing;

    [[nodiscard]] HostRing::Shape shape() const {
        return form == Form::tree ? HostRing::Shape::tree : HostRing::Shape::chain;
    }
};

Block block_of(Header& header) { return {&header, sizeof(Header), MPI_BYTE}; }

Form form_of(const Broadcast& broadcast, std::uint64_t long_from_bytes) {
    if (broadcast.is_absent) return Form::nothing;
    if (bytes_of(broadcast.block) < long_from_bytes) return Form::tree;
    return is_contiguous(broadcast.block.type) ? Form::segments : Form::whole;
}

/// Segments of so many bytes: short, so that the last rank does not begin much later than the first, but not so short that
/// messages cost more than their bytes.
class Segments {
public:
    Segments(std::size_t bytes, int hosts) : bytes_(bytes) {
        constexpr std::size_t least_bytes = 4096, most_segments = 1024;
        const std::size_t wanted =
            std::clamp(bytes / (4 * static_cast<std::size_t>(hosts)), least_bytes, segment_most_bytes);
        const std::size_t fewest = (bytes + segment_most_bytes - 1) / segment_most_bytes;
        count_ = std::max({std::min(bytes / wanted, most_segments), fewest, std::size_t{1}});
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t first(std::size_t segment) const {
        return segment * (bytes_ / count_) + std::min(segment, bytes_ % count_);
    }
    [[nodiscard]] std::size_t bytes(std::size_t segment) const { return first(segment + 1) - first(segment); }

private:
    std::size_t bytes_;
    std::size_t count_ = 1;
};

/// Carries out a rank's part once it knows the header: it receives from its parent, if it has one,
/// and sends to its children.
class RingBcast {
public:
    RingBcast(const OwnCall& call, const TreePlace& place, const Header& header, int hosts)
        : place_(place), bytes_(header.bytes), segments_(header.bytes, hosts), messages_(call) {}

    int run_segments(PackedBlock& data) noexcept {
        const bool is_root = place_.parent == nobody;
        if (is_root) data.read(messages_);
        pass_segments(data);
        if (!is_root) data.write(messages_);
        return messages_.wait_for_all();
    }

    /// `block` has as many bytes as the header says.
    int run_whole(const Block& block) noexcept {
        bool is_short = false;
        if (place_.parent != nobody) messages_.receive(block, place_.parent, MessageKind::data, &is_short);
        messages_.wait_for_all();
        if (is_short) messages_.note(MPI_ERR_OTHER);
        for (const int child : place_.children()) messages_.send(is_short ? Block{} : block, child);
        return messages_.wait_for_all();
    }

    /// Passes the data on through a little memory, at a rank that has no use for them, or no room.
    [[gnu::noinline]] int pass(Form form) noexcept {
        std::array<char, segment_most_bytes> passing;
        if (form != Form::segments) {
            const bool fits = bytes_ <= passing.size();
            return run_whole(fits ? Block{passing.data(), static_cast<int>(bytes_), MPI_BYTE} : Block{});
        }
        for (std::size_t segment = 0; segment < segments_.count(); ++segment) {
            const Block block{passing.data(), static_cast<int>(segments_.bytes(segment)), MPI_BYTE};
            if (place_.parent != nobody) messages_.receive(block, place_.parent);
            messages_.wait_for_all();
            for (const int child : place_.children()) messages_.send(block, child);
            messages_.wait_for_all();
        }
        return messages_.status();
    }

private:
    /// Segments are received in time: as far ahead of those sent as the window allows.
    void pass_segments(PackedBlock& data) {
        std::array<Messages::Ticket, receives_ahead + 1> coming;
        std::size_t receiving = 0;
        const auto block_of = [&](std::size_t at) { return data.part(segments_.first(at), segments_.bytes(at)); };
        for (std::size_t segment = 0; segment < segments_.count(); ++segment) {
            for (; place_.parent != nobody && receiving < std::min(segments_.count(), segment + coming.size());
                 ++receiving)
                coming[receiving % coming.size()] = messages_.receive(block_of(receiving), place_.parent);
            messages_.wait_for(coming[segment % coming.size()]);
            for (const int child : place_.children()) messages_.send(block_of(segment), child);
        }
        messages_.wait_for_all();
    }

    const TreePlace& place_;
    std::uint64_t bytes_;
    Segments segments_;
    Messages messages_;
};

/// Headers go along the tree, whatever the data do: so each rank knows from which one its own comes.
class HeaderExchange {
public:
    HeaderExchange(const HostRing& ring, const OwnCall& call, int root)
        : ring_(ring), call_(call), root_(root), messages_(call) {}

    /// At all ranks that the root's can come to; none: no rank knows a root, or this one is it and did not know.
    [[nodiscard]] std::optional<Header> receive() {
        return call_.has_rank(root_) ? receive_from_parent() : receive_without_root();
    }
    void send(Header header) {
        const TreePlace place = ring_.led_by(static_cast<int>(header.root)).from_root(HostRing::Shape::tree);
        for (const int child : place.children()) messages_.send(block_of(header), child, MessageKind::header);
        messages_.wait_for_all();
    }
    [[nodiscard]] int status() const { return messages_.status(); }

private:
    [[nodiscard]] Header receive_from(int source) {
        Header header;
        messages_.receive(block_of(header), source, MessageKind::header);
        messages_.wait_for_all();
        return header;
    }

    [[nodiscard]] std::optional<Header> receive_from_parent() {
        const int parent = ring_.led_by(root_).from_root(HostRing::Shape::tree).parent;
        Header header = receive_from(parent);
        if (header.form != Form::unsure) return header;
        if (parent != root_) return receive_from(parent);  // it comes by another rank yet
        send_to(root_, Form::from_the_root);
        header.form = Form::nothing;
        return header;
    }

    [[nodiscard]] std::optional<Header> receive_without_root() {
        for (int step = 1; step < call_.ranks; ++step) send_to(wrapped(call_.rank + step, call_.ranks), Form::unsure);
        for (int unsure = 0; unsure < call_.ranks - 1 && messages_.status() == MPI_SUCCESS; ++unsure) {
            const Header header = receive_from(MPI_ANY_SOURCE);
            if (header.form == Form::from_the_root) return std::nullopt;
            if (header.form != Form::unsure) return header;
        }
        return std::nullopt;
    }

    void send_to(int rank, Form form) {
        Header header{0, static_cast<std::uint32_t>(call_.rank), form};
        messages_.send(block_of(header), rank, MessageKind::header);
        messages_.wait_for_all();
    }

    const HostRing& ring_;
    OwnCall call_;
    int root_;
    Messages messages_;
};

/// Its first elements, of so many bytes.
Block shortened(const Block& block, std::uint64_t bytes) {
    const std::uint64_t element_bytes = message_bytes(1, block.type);
    return element_bytes == 0 ? block : Block{block.data, static_cast<int>(bytes / element_bytes), block.type};
}

}  // namespace

int ring_allgather(const HostRing& ring, const OwnCall& call, const Gathering& gathering, bool* missing) noexcept {
    return RingAllgather(ring, call, gathering, missing).run();
}

int ring_bcast(const HostRing& ring, const OwnCall& call, const Broadcast& broadcast,
               std::uint64_t long_from_bytes) noexcept {
    const bool is_root = broadcast.root == call.rank;
    const std::uint64_t room_bytes = broadcast.is_absent ? 0 : bytes_of(broadcast.block);
    HeaderExchange headers(ring, call, broadcast.root);
    std::optional<Header> header;
    if (is_root) header = {room_bytes, static_cast<std::uint32_t>(call.rank), form_of(broadcast, long_from_bytes)};
    else header = headers.receive();
    if (!header || !call.has_rank(static_cast<int>(header->root))) return headers.status();
    headers.send(*header);
    int status = headers.status();
    if (header->form == Form::nothing) {
        if (!is_root) keep_first_error(status, MPI_ERR_OTHER);
        return status;
    }
    const bool has_room = !broadcast.is_absent && header->bytes <= room_bytes;
    if (!broadcast.is_absent && !has_room) keep_first_error(status, MPI_ERR_TRUNCATE);
    // of less than it has room for MPICH's receiver complains, too
    if (!is_open_mpi() && header->bytes < room_bytes) keep_first_error(status, MPI_ERR_OTHER);
    const TreePlace place = ring.led_by(static_cast<int>(header->root)).from_root(header->shape());
    RingBcast bcast(call, place, *header, ring.hosts());
    const Block block = has_room ? shortened(broadcast.block, header->bytes) : Block{};
    if (has_room && header->form != Form::segments) {
        keep_first_error(status, bcast.run_whole(block));
        return status;
    }
    PackedBlock data(block, false);
    if (!data.has_memory()) keep_first_error(status, MPI_ERR_NO_MEM);
    keep_first_error(status, has_room && data.has_memory() ? bcast.run_segments(data) : bcast.pass(header->form));
    return status;
}

}  // namespace headway::glue
