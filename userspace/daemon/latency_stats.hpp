// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace headway {

/// How long something took, over the life of the daemon.
class LatencyStats {
public:
    void add(std::chrono::nanoseconds took) {
        ++count_;
        last_ = took;
        total_ += took;
        max_ = std::max(max_, took);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::chrono::nanoseconds last() const { return last_; }
    [[nodiscard]] std::chrono::nanoseconds max() const { return max_; }
    [[nodiscard]] std::chrono::nanoseconds mean() const {
        return count_ == 0 ? total_ : total_ / static_cast<std::int64_t>(count_);
    }

private:
    std::uint64_t count_ = 0;
    std::chrono::nanoseconds last_{0};
    std::chrono::nanoseconds max_{0};
    std::chrono::nanoseconds total_{0};
};

}  // namespace headway
