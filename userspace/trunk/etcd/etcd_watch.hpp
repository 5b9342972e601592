// SPDX-License-Identifier: Apache-2.0
// What is in the store, told to headwayd: a snapshot, then every change.
//
// A watch is a stream from one server.  It is believed only if the same server
// answers on it after a read that says what the watch goes on from: so the read
// and the watch are of one store, and not of one and of another that has taken
// its place.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trunk/etcd/etcd_connection.hpp"
#include "trunk/etcd/etcd_keys.hpp"
#include "trunk/etcd/etcd_requests.hpp"
#include "trunk/etcd/report_sink.hpp"

namespace headway {

class WatchStream;

class EtcdWatch {
public:
    /// The references must outlive this object.
    EtcdWatch(EtcdConnection& connection, const EtcdOptions& options, const StoreProgress& progress,
              const ReportSink& sink)
        : connection_(connection),
          options_(options),
          keys_{options.prefix},
          progress_(progress),
          sink_(sink) {}

    /// Goes on for ever, with pauses that grow as long as no server does.
    [[noreturn]] void run();

private:
    using Responses = std::vector<etcd::WatchResponse>;

    void complain(const std::string& why);
    /// Why it ended; sets watched_.
    std::string watch(EtcdEndpoint& endpoint);
    std::optional<std::string> begin(EtcdEndpoint& endpoint, WatchStream& stream, Responses& early);
    std::optional<std::string> read_snapshot(EtcdEndpoint& endpoint,
                                             std::vector<std::string>& packets, Revision& revision);
    std::optional<std::string> check_settled(EtcdEndpoint& endpoint);
    grpc::Status read(EtcdEndpoint& endpoint, const std::string& key, const std::string& end,
                      etcd::RangeResponse& response);
    std::optional<std::string> tell(const etcd::WatchResponse& response);
    std::string why_ended(WatchStream& stream);
    std::string need_snapshot(std::string why);

    EtcdConnection& connection_;
    const EtcdOptions& options_;
    EtcdKeys keys_;
    const StoreProgress& progress_;
    const ReportSink& sink_;

    Revision told_ = 0;       ///< all changes up to here; 0: a snapshot is needed
    LeaseId settled_by_ = 0;  ///< what the snapshot and the changes since say
    std::uint64_t cluster_ = 0;
    bool watched_ = false;  ///< since the last pause
    std::set<std::string> complaints_;  ///< told since it was watched
};

}  // namespace headway
