// SPDX-License-Identifier: Apache-2.0
// What clang++ reads for nlohmann's header (CMakeLists.txt).  Up to 3.11.3 that asks in a way which clang does not
// answer whether there is [[no_unique_address]], so that an ordered object has 32 bytes there, and 24 in what g++ has
// compiled and these tests are linked with.
#include <nlohmann/thirdparty/hedley/hedley.hpp>

#undef JSON_HEDLEY_HAS_ATTRIBUTE
#define JSON_HEDLEY_HAS_ATTRIBUTE(attribute) (__has_attribute(attribute) || __has_cpp_attribute(attribute))

#include_next <nlohmann/json.hpp>

static_assert(sizeof(nlohmann::ordered_json::object_t) == sizeof(std::vector<nlohmann::ordered_json>), "as for g++");
