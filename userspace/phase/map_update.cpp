// SPDX-License-Identifier: Apache-2.0
#include "phase/map_update.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace headway {

int repeated_without_memory(const std::function<int()>& update, const std::function<void()>& pause) {
    int answer = update();
    for (int attempts = 1; answer == -ENOMEM && attempts < map_update_attempts; ++attempts) {
        pause();
        answer = update();
    }
    return answer;
}

int update_map(int fd, const void* key, const void* value, std::uint64_t flags) {
    return repeated_without_memory([&] { return bpf_map_update_elem(fd, key, value, flags); },
                                   [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

}  // namespace headway
