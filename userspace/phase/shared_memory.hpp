// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "base/error.hpp"

namespace headway {

/// Memory shared with the kernel: a BPF array, in whole pages.
class SharedMemory {
public:
    SharedMemory() = default;
    /// Fails as mmap() does.
    [[nodiscard]] static Result<SharedMemory> map(int fd, std::size_t bytes);
    SharedMemory(SharedMemory&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
    SharedMemory& operator=(SharedMemory&& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~SharedMemory();

    [[nodiscard]] void* address() const { return address_; }

private:
    SharedMemory(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}

    void* address_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace headway
