// SPDX-License-Identifier: Apache-2.0
// A loop whose cost is known, with which tests/cost/run tests its counting:
//
//   loop_cost TURNS
#include <cstdlib>

#include "counted.hpp"

namespace {

void loop(long turns) {
    for (long left = turns; left > 0; --left) asm volatile("" : "+r"(left));
}

}  // namespace

int main(int, char** argv) {
    const long turns = std::atol(argv[1]);
    headway::cost::count("loop/" + std::string(argv[1]) + "/counted", [=] { loop(turns); });
    headway::cost::count("loop/" + std::string(argv[1]) + "/uncounted", [=] {
        const headway::cost::Uncounted uncounted;
        loop(turns);
    });
    loop(turns);
    return 0;
}
