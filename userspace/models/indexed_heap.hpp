// SPDX-License-Identifier: Apache-2.0
// A priority queue of the numbers 0..n-1, whose keys may change.  Flat arrays:
// a copy costs two memory copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headway {

class IndexedHeap {
public:
    explicit IndexedHeap(std::size_t size) : position_(size, absent) {}

    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] std::uint32_t top() const { return heap_.front().id; }
    [[nodiscard]] double top_key() const { return heap_.front().key; }
    [[nodiscard]] bool contains(std::uint32_t id) const { return position_[id] != absent; }

    /// Adds the number, or changes its key.
    void set(std::uint32_t id, double key) {
        if (contains(id)) {
            const double before = std::exchange(heap_[position_[id]].key, key);
            if (key < before) rise(position_[id]);
            else if (key > before) sink(position_[id]);
            return;
        }
        position_[id] = static_cast<std::uint32_t>(heap_.size());
        heap_.push_back({key, id});
        rise(position_[id]);
    }

    /// Does nothing if it is not there.
    void remove(std::uint32_t id) {
        if (!contains(id)) return;
        const std::uint32_t hole = std::exchange(position_[id], absent);
        const Entry last = heap_.back();
        heap_.pop_back();
        if (last.id == id) return;
        place(hole, last);
        rise(hole);
        sink(position_[last.id]);
    }

private:
    static constexpr std::uint32_t absent = UINT32_MAX;
    struct Entry {
        double key;
        std::uint32_t id;
    };

    void place(std::uint32_t at, Entry entry) {
        heap_[at] = entry;
        position_[entry.id] = at;
    }

    void rise(std::uint32_t at) {
        const Entry entry = heap_[at];
        while (at > 0) {
            const std::uint32_t parent = (at - 1) / 2;
            if (heap_[parent].key <= entry.key) break;
            place(at, heap_[parent]);
            at = parent;
        }
        place(at, entry);
    }

    void sink(std::uint32_t at) {
        const Entry entry = heap_[at];
        for (std::uint32_t child; (child = 2 * at + 1) < heap_.size(); at = child) {
            if (child + 1 < heap_.size() && heap_[child + 1].key < heap_[child].key) ++child;
            if (heap_[child].key >= entry.key) break;
            place(at, heap_[child]);
        }
        place(at, entry);
    }

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> position_;
};

}  // namespace headway
