// SPDX-License-Identifier: Apache-2.0
// Open MPI's monitoring files.
#include "formats/open_mpi_monitoring.hpp"
#include "fuzz_text.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway;
    const NamedText file{"f", fuzz::text_of(data, size)};
    fuzz::is_result(read_open_mpi_monitoring(std::span(&file, 1)));
  return 0;
}
