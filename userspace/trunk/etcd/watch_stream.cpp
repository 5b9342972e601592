// SPDX-License-Identifier: Apache-2.0
#include "trunk/etcd/watch_stream.hpp"

namespace headway {

WatchStream::WatchStream(EtcdConnection& connection, EtcdEndpoint& endpoint,
                         const StoreProgress& progress, std::chrono::milliseconds silence)
    : progress_(progress), silence_(silence), heard_(Clock::now().time_since_epoch().count()) {
    refused_ = connection.authorise(endpoint, context_);
    if (!refused_.ok()) return;
    // a server that is cut off from the others ends the watch instead of saying nothing
    context_.AddMetadata("hasleader", "true");
    stream_ = endpoint.watch->Watch(&context_);
    guard_ = std::jthread([this](const std::stop_token& stop) { guard(stop); });
}

WatchStream::~WatchStream() {
    if (!stream_) return;
    context_.TryCancel();
    etcd::WatchResponse rest;
    while (stream_->Read(&rest)) {
    }
    (void)finish();
}

bool WatchStream::create(const EtcdKeys& keys, Revision from) {
    if (!stream_) return false;
    etcd::WatchRequest request;
    auto* create = request.mutable_create_request();
    create->set_key(keys.prefix);
    create->set_range_end(keys.end());
    create->set_start_revision(from);
    const std::lock_guard lock(writing_);
    return stream_->Write(request);
}

bool WatchStream::ask_progress() {
    etcd::WatchRequest request;
    request.mutable_progress_request();
    const std::lock_guard lock(writing_);
    ++asked_;
    return stream_->Write(request);
}

bool WatchStream::read(etcd::WatchResponse& response) {
    if (!stream_->Read(&response)) return false;
    heard_ = Clock::now().time_since_epoch().count();
    StoreProgress::raise(server_at_, response.header().revision());
    if (!response.created() && !response.canceled() && response.events().empty()) ++answered_;
    return true;
}

grpc::Status WatchStream::finish() {
    if (!stream_) return refused_;
    guard_.request_stop();
    guard_.join();
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    if (hangs_) return {grpc::StatusCode::DEADLINE_EXCEEDED, "the watch showed no progress"};
    return status;
}

bool WatchStream::lags() const {
    return progress_.put > told_ || progress_.known > server_at_;
}

/// Asks for progress twice in the time after which silence means that it hangs.
void WatchStream::guard(const std::stop_token& stop) {
    std::unique_lock lock(ending_);
    auto in_step = Clock::now();
    while (!ended_.wait_for(lock, stop, silence_ / 6, [&] { return stop.stop_requested(); })) {
        const auto now = Clock::now();
        if (!lags()) in_step = now;
        if (now - Clock::time_point(Clock::duration(heard_)) > silence_ || now - in_step > silence_) {
            hangs_ = true;
            context_.TryCancel();
            return;
        }
        if (server_at_ > 0) (void)ask_progress();
    }
}

}  // namespace headway
