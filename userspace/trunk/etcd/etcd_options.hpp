// SPDX-License-Identifier: Apache-2.0
// How headway-etcd reaches the store, as on its command line.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace headway {

struct EtcdOptions {
    std::vector<std::string> endpoints;  ///< http://HOST:PORT, https://HOST:PORT, unix:PATH
    std::string prefix;                  ///< of all keys of the trunk; ends with '/'
    std::string host;                    ///< whose record and acknowledgement are ours
    std::string ca_file;                 ///< empty: the system's
    std::string cert_file;               ///< empty: none shown
    std::string key_file;
    std::string user;                    ///< empty: none
    std::string password_file;
    std::chrono::milliseconds timeout{1000};  ///< of a request
    std::chrono::milliseconds silence{3000};  ///< after which a watch counts as hanging
};

}  // namespace headway
