// SPDX-License-Identifier: Apache-2.0
// A text in memory that outlives the process, if somebody else holds its
// descriptor.  Whenever the process ends, by whatever signal, there is the old
// text or the new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

class StateMemory {
public:
    static constexpr std::size_t text_max_bytes = std::size_t{1} << 20;

    /// New, with no text.
    [[nodiscard]] static Result<StateMemory> make();
    /// Of an earlier run.  Fails if it is none, or was laid out in another way.
    [[nodiscard]] static Result<StateMemory> open(FileDescriptor fd);

    StateMemory(StateMemory&& other) noexcept;
    StateMemory(const StateMemory&) = delete;
    StateMemory& operator=(StateMemory&& other) noexcept;
    StateMemory& operator=(const StateMemory&) = delete;
    ~StateMemory();

    [[nodiscard]] int fd() const { return fd_.get(); }

    /// Valid until the next but one write().
    [[nodiscard]] std::string_view text() const;
    /// False, and no text any more, if it is too long.
    bool write(std::string_view text);

    /// A word beside the text: who is being served.
    void set_mark(std::uint64_t mark);
    [[nodiscard]] std::uint64_t mark() const;
    /// Another: how many runs in a row have begun with this text.
    void set_begun(std::uint32_t runs);
    [[nodiscard]] std::uint32_t begun() const;

private:
    struct Layout;

    StateMemory(FileDescriptor fd, Layout* layout) : fd_(std::move(fd)), layout_(layout) {}
    [[nodiscard]] static Result<Layout*> map(int fd);

    FileDescriptor fd_;
    Layout* layout_;
};

}  // namespace headway
