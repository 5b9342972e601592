// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace headway {
namespace {

constexpr std::uint64_t layout_magic = 0x31545344414548;  // "HEADST1": another layout, another number

}  // namespace

/// Texts are written into the place that does not count, which then counts.
struct StateMemory::Layout {
    std::uint64_t magic;
    std::uint64_t mark;
    std::uint32_t begun;
    std::uint32_t current;  ///< 0: no text; else one more than its place
    std::array<std::uint32_t, 2> length;
    std::array<std::array<char, text_max_bytes>, 2> text;
};

void StateMemory::Unmap::operator()(Layout* layout) const { munmap(layout, sizeof(Layout)); }

Result<StateMemory> StateMemory::map(FileDescriptor fd) {
    void* address = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) return errno_failure("mapping what is kept over a restart");
    StateMemory memory;
    memory.fd_ = std::move(fd);
    memory.layout_.reset(static_cast<Layout*>(address));
    return memory;
}

Result<StateMemory> StateMemory::make() {
    FileDescriptor fd(memfd_create("headway-state", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ftruncate(fd.get(), sizeof(Layout)) != 0 ||
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return errno_failure("memory for what is kept over a restart");
    }
    auto memory = map(std::move(fd));
    if (memory) memory->layout_->magic = layout_magic;
    return memory;
}

Result<StateMemory> StateMemory::open(FileDescriptor fd) {
    struct stat found {};
    if (fstat(fd.get(), &found) != 0 || found.st_size != sizeof(Layout)) {
        return failure("it is of another version");
    }
    auto memory = map(std::move(fd));
    const bool is_known = !memory || memory->layout_->magic == layout_magic;
    if (!is_known) return failure("it is of another version");
    return memory;
}

std::string_view StateMemory::text() const {
    const std::uint32_t current = std::atomic_ref(layout_->current).load(std::memory_order_acquire);
    if (current < 1 || current > layout_->text.size()) return {};
    const std::size_t length = layout_->length[current - 1];
    return {layout_->text[current - 1].data(), std::min(length, text_max_bytes)};
}

bool StateMemory::write(std::string_view text) {
    const bool fits = text.size() <= text_max_bytes;
    const std::uint32_t next = !fits ? 0 : layout_->current == 1 ? 2 : 1;
    if (fits) {
        text.copy(layout_->text[next - 1].data(), text.size());
        layout_->length[next - 1] = static_cast<std::uint32_t>(text.size());
    }
    std::atomic_ref(layout_->current).store(next, std::memory_order_release);
    return fits;
}

void StateMemory::set_mark(std::uint64_t mark) {
    std::atomic_ref(layout_->mark).store(mark, std::memory_order_seq_cst);
}

std::uint64_t StateMemory::mark() const { return layout_->mark; }

void StateMemory::set_begun(std::uint32_t runs) {
    std::atomic_ref(layout_->begun).store(runs, std::memory_order_seq_cst);
}

std::uint32_t StateMemory::begun() const { return layout_->begun; }

}  // namespace headway
