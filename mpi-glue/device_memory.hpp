// SPDX-License-Identifier: MIT
// Memory of accelerators, which MPI libraries built for them send from and receive
// into, and which a processor cannot touch.
#pragma once

namespace headway::glue {

/// By what the CUDA or HIP runtime of this process says; false if it has none, or if
/// it does not know the address.  Level Zero tells only who has its context, so its
/// memory is not recognised.  Null and MPI's own addresses are in no device.
[[nodiscard]] bool is_device_memory(const void* address) noexcept;

}  // namespace headway::glue
