// SPDX-License-Identifier: MIT
#include "record/record_wrappers.hpp"

namespace headway::glue::by_hand {
namespace {

int before_recording(int status) {
    recorder().begin();
    return status;
}

}  // namespace

int Init(int* argc, char*** argv) { return before_recording(real::Init(argc, argv)); }

int Init_thread(int* argc, char*** argv, int required, int* provided) {
    return before_recording(real::Init_thread(argc, argv, required, provided));
}

int Start(MPI_Request* request) {
    if (request != nullptr) recorder().started(*request);
    return real::Start(request);
}

int Startall(int count, MPI_Request* requests) {
    for (int at = 0; requests != nullptr && at < count; ++at) recorder().started(requests[at]);
    return real::Startall(count, requests);
}

int Request_free(MPI_Request* request) {
    if (request != nullptr) recorder().forget(*request);
    return real::Request_free(request);
}

int Pcontrol(int level) {
    recorder().enter_phase(level);
    return real::Pcontrol(level);
}

}  // namespace headway::glue::by_hand
