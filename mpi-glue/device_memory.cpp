// SPDX-License-Identifier: MIT
#include "device_memory.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace headway::glue {
namespace {

/// A function of a library that the process may load at any time, and never because
/// of us: looked for until it is there.
class OptionalFunction {
public:
    constexpr OptionalFunction(const char* library, const char* name)
        : library_(library), name_(name) {}

    template <class Function>
    [[nodiscard]] Function* find() noexcept {
        void* known = found_.load(std::memory_order_acquire);
        if (known == nullptr) {
            known = look();
            found_.store(known, std::memory_order_release);
        }
        return reinterpret_cast<Function*>(known);
    }

private:
    [[nodiscard]] void* look() const noexcept {
        if (void* const symbol = ::dlsym(RTLD_DEFAULT, name_)) return symbol;
        // loaded for itself only, as by an interpreter; the handle keeps it loaded, so
        // that what has been found stays
        void* const handle = ::dlopen(library_, RTLD_LAZY | RTLD_NOLOAD);
        return handle != nullptr ? ::dlsym(handle, name_) : nullptr;
    }

    const char* library_;
    const char* name_;
    std::atomic<void*> found_{nullptr};
};

// From cuda.h, without which this is built.
using CuPointerGetAttribute = int(void* data, int attribute, unsigned long long pointer);
constexpr int cu_memory_type_attribute = 2;
constexpr unsigned cu_memory_is_device = 2;

bool is_of_cuda(const void* address) noexcept {
    static constinit OptionalFunction function{"libcuda.so.1", "cuPointerGetAttribute"};
    const auto ask = function.find<CuPointerGetAttribute>();
    unsigned type = 0;
    return ask != nullptr &&
           ask(&type, cu_memory_type_attribute, reinterpret_cast<std::uintptr_t>(address)) == 0 &&
           type == cu_memory_is_device;
}

// From hip_runtime_api.h.  Its numbers of memory types changed between versions, but not
// where the addresses are: a processor has none for the memory of a device.
struct HipPointerAttributes {
    int type = 0;
    int device = 0;
    void* device_address = nullptr;
    void* host_address = nullptr;
    std::array<char, 256> more{};
};
using HipPointerGetAttributes = int(HipPointerAttributes* attributes, const void* pointer);

bool is_of_hip(const void* address) noexcept {
    static constinit OptionalFunction function{"libamdhip64.so", "hipPointerGetAttributes"};
    const auto ask = function.find<HipPointerGetAttributes>();
    HipPointerAttributes attributes;
    return ask != nullptr && ask(&attributes, address) == 0 &&
           attributes.device_address != nullptr && attributes.host_address == nullptr;
}

}  // namespace

bool is_device_memory(const void* address) noexcept {
    return address != nullptr && (is_of_cuda(address) || is_of_hip(address));
}

}  // namespace headway::glue
