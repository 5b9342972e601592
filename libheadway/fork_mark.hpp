// SPDX-License-Identifier: MIT
// Whether this is the process that made an object, or a child of its that fork() has made.
#pragma once

#include <sys/mman.h>

namespace headway::glue {

/// A word in memory that the kernel clears for a child, so that looking costs no system call.
/// Without such memory every process counts as the one that made it.
class ForkMark {
public:
    ForkMark() {
        void* const page = ::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return;
        is_set_ = static_cast<volatile bool*>(page);
        if (::madvise(page, sizeof(bool), MADV_WIPEONFORK) != 0) clear();
        else *is_set_ = true;
    }
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;
    ~ForkMark() { clear(); }

    [[nodiscard]] bool is_child() const { return is_set_ != nullptr && !*is_set_; }

private:
    void clear() {
        if (is_set_ != nullptr) ::munmap(const_cast<bool*>(is_set_), sizeof(bool));
        is_set_ = nullptr;
    }

    volatile bool* is_set_ = nullptr;
};

}  // namespace headway::glue
