// SPDX-License-Identifier: Apache-2.0
// A watch that ends when it hangs: when the server says nothing although it is
// asked for its progress, or when it does not come to where the store is.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "trunk/etcd/etcd_connection.hpp"
#include "trunk/etcd/etcd_requests.hpp"

namespace headway {

class WatchStream {
public:
    WatchStream(EtcdConnection& connection, EtcdEndpoint& endpoint, const StoreProgress& progress,
                std::chrono::milliseconds silence);
    WatchStream(const WatchStream&) = delete;
    WatchStream& operator=(const WatchStream&) = delete;
    ~WatchStream();

    bool create(const EtcdKeys& keys, Revision from);
    bool ask_progress();
    /// Blocks; false: it has ended.
    bool read(etcd::WatchResponse& response);
    /// How often progress was asked for, and has been told.
    [[nodiscard]] std::uint64_t asked() const { return asked_; }
    [[nodiscard]] std::uint64_t answered() const { return answered_; }
    /// All changes up to there have come.
    void told(Revision revision) { StoreProgress::raise(told_, revision); }
    /// Returns the status of the stream that has ended.
    grpc::Status finish();

private:
    using Clock = std::chrono::steady_clock;
    void guard(const std::stop_token& stop);
    [[nodiscard]] bool lags() const;

    const StoreProgress& progress_;
    std::chrono::milliseconds silence_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<etcd::WatchRequest, etcd::WatchResponse>> stream_;
    grpc::Status refused_;
    std::mutex writing_;
    std::atomic<std::uint64_t> asked_{0};
    std::atomic<std::uint64_t> answered_{0};
    std::atomic<Revision> told_{0};
    std::atomic<Revision> server_at_{0};
    std::atomic<Clock::rep> heard_;
    std::atomic<bool> hangs_{false};
    std::mutex ending_;
    std::condition_variable_any ended_;
    std::jthread guard_;  ///< last: it uses the others
};

}  // namespace headway
