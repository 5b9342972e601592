// SPDX-License-Identifier: Apache-2.0
#include "phase/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headway {
namespace {

/// A map is mapped in whole pages.
std::size_t whole_pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

}  // namespace

Result<SharedMemory> SharedMemory::map(int fd, std::size_t bytes) {
    const std::size_t whole = whole_pages(bytes);
    void* address = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address != MAP_FAILED) return SharedMemory(address, whole);
    return system_failure(errno, "mapping a BPF array: {}", std::strerror(errno));
}

SharedMemory::~SharedMemory() {
    if (address_ != nullptr) munmap(address_, bytes_);
}

}  // namespace headway
