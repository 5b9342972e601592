// SPDX-License-Identifier: Apache-2.0
// Gives files to a fuzz target, compiled by the compiler of all other tests: each seed is read without
// a fault.  What breaks ends the program, as under libFuzzer.
//   fuzz_replay TARGET FILE...
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#define X(target) extern "C" int fuzz_##target(const uint8_t* data, size_t size);
FUZZ_TARGETS
#undef X

namespace {

using Target = int (*)(const uint8_t*, size_t);

Target target_named(const char* name) {
#define X(target) \
    if (std::strcmp(name, #target) == 0) return fuzz_##target;
    FUZZ_TARGETS
#undef X
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    const Target target = argc > 2 ? target_named(argv[1]) : nullptr;
    if (target == nullptr) {
        std::fprintf(stderr, "usage: fuzz_replay TARGET FILE...\n");
        return 2;
    }
    for (int i = 2; i < argc; ++i) {
        std::printf("%s\n", argv[i]);
        std::fflush(stdout);
        std::ifstream file(argv[i], std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        // memory of just its size, so that reading beyond is seen
        const std::vector<uint8_t> input(bytes.begin(), bytes.end());
        target(input.data(), input.size());
    }
    return 0;
}
