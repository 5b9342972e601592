// SPDX-License-Identifier: Apache-2.0
// Says to callgrind which instructions count: those of one request, and not those of what
// stands in for the kernel.  Each request becomes a part of callgrind's output that bears
// its name; tests/cost/run reads it.  Without valgrind all this does nothing.
#pragma once

#include <string>

#include <valgrind/callgrind.h>

namespace headway::cost {

inline bool is_counting = false;

/// Counts what `work` does, as `name`.  Until then nothing is instrumented, because that
/// would make what comes before fifteen times slower.
template <class Work>
void count(const std::string& name, Work work) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    is_counting = true;
    CALLGRIND_TOGGLE_COLLECT;
    work();
    CALLGRIND_TOGGLE_COLLECT;
    is_counting = false;
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
}

/// Whatever happens during its life is not counted as the product's work.
class Uncounted {
public:
    Uncounted() {
        if (was_counting_) CALLGRIND_TOGGLE_COLLECT;
        is_counting = false;
    }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;
    ~Uncounted() {
        is_counting = was_counting_;
        if (was_counting_) CALLGRIND_TOGGLE_COLLECT;
    }

private:
    bool was_counting_ = is_counting;
};

}  // namespace headway::cost
