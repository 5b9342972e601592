// SPDX-License-Identifier: MIT
#include "record/recording_file.hpp"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "object_text.hpp"
#include "operation.hpp"

namespace headway::glue {
namespace {

const char* operation_name(std::int64_t operation) {
    return operation < 0 ? "point_to_point" : name_of(static_cast<Operation>(operation));
}

/// While there is one, a write beyond the limit of file sizes (RLIMIT_FSIZE) fails
/// as on a full disk, and does not end the program by a signal.
class WithoutSizeSignal {
public:
    WithoutSizeSignal() {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    }
    WithoutSizeSignal(const WithoutSizeSignal&) = delete;
    WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;
    ~WithoutSizeSignal() {
        if (sigismember(&before_, SIGXFSZ) != 0) return;
        // the one that a write of this thread has left
        const timespec at_once{};
        while (sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) continue;
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t signal_{};
    sigset_t before_{};
};

/// Everything, or why not.
std::string write_all(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return std::strerror(errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int write_error = errno;
    if (std::fclose(file) != 0) return std::strerror(errno);
    return written ? "" : std::strerror(write_error);
}

}  // namespace

void RecordingFile::add(int source, const std::int64_t* numbers) {
    phases_[{numbers[0], numbers[1]}].push_back({source, numbers[2], numbers[3], numbers[4]});
}

std::string RecordingFile::text() const {
    std::string phases;
    for (const auto& [key, flows] : phases_) {
        std::string listed;
        for (const RecordedFlow& flow : flows) {
            ObjectText of_flow;
            of_flow.number("source", flow.source).number("destination", flow.destination);
            of_flow.number("bytes", flow.bytes).number("messages", flow.messages);
            listed += (listed.empty() ? "\n    " : ",\n    ") + of_flow.object();
        }
        ObjectText phase;
        phase.number("phase", key.first).text("operation", operation_name(key.second)).json("flows", "[" + listed + "]");
        phases += (phases.empty() ? "\n  " : ",\n  ") + phase.object();
    }
    ObjectText recording;
    recording.number("headway_recording", 1).number("ranks", hosts_.size()).texts("hosts", hosts_);
    recording.number("left_out", left_out_).json("phases", "[" + phases + "]");
    return recording.object() + "\n";
}

std::string RecordingFile::write(const std::string& path) const {
    const WithoutSizeSignal without_signal;
    const std::string unfinished = path + ".new";
    std::string trouble = write_all(unfinished, text());
    if (trouble.empty() && std::rename(unfinished.c_str(), path.c_str()) != 0)
        trouble = std::strerror(errno);
    if (!trouble.empty()) std::remove(unfinished.c_str());
    return trouble;
}

}  // namespace headway::glue
