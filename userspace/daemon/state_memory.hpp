// SPDX-License-Identifier: Apache-2.0
// A text in memory that outlives the process, if somebody else holds its
// descriptor.  Whenever the process ends, by whatever signal, there is the old
// text or the new one.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace headway {

class StateMemory {
public:
    static constexpr std::size_t text_max_bytes = std::size_t{1} << 20;

    /// New, with no text.
    [[nodiscard]] static Result<StateMemory> make();
    /// Opens the memory of an earlier run.  Fails if it is none, or was laid out in another way.
    [[nodiscard]] static Result<StateMemory> open(FileDescriptor fd);

    [[nodiscard]] int fd() const { return fd_.get(); }

    /// Valid until the next but one write().
    [[nodiscard]] std::string_view text() const;
    /// False, and no text any more, if it is too long.
    bool write(std::string_view text);

    /// A word beside the text: who is being served.
    void set_mark(std::uint64_t mark);
    [[nodiscard]] std::uint64_t mark() const;
    /// Counts how many runs in a row have begun with this text.
    void set_begun(std::uint32_t runs);
    [[nodiscard]] std::uint32_t begun() const;

private:
    struct Layout;
    struct Unmap {
        void operator()(Layout* layout) const;
    };

    StateMemory() = default;
    [[nodiscard]] static Result<StateMemory> map(FileDescriptor fd);

    FileDescriptor fd_;
    std::unique_ptr<Layout, Unmap> layout_;
};

}  // namespace headway
