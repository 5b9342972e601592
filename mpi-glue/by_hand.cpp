// SPDX-License-Identifier: MIT
#include "by_hand.hpp"

#include <vector>

#include "helper.hpp"
#include "pattern_player.hpp"
#include "pending_requests.hpp"
#include "real.hpp"
#include "recorder.hpp"
#include "sending_rate.hpp"

namespace headway::glue::by_hand {
namespace {

int around_init(const auto& init) {
    helper().before_init();
    const int status = init();
    helper().after_init();
    recorder().begin();
    return status;
}

/// The handles as they are before MPI takes those back that it completes.
std::vector<MPI_Request> copy_of(int count, const MPI_Request* requests) {
    if (count <= 0 || requests == nullptr) return {};
    return {requests, requests + count};
}

void complete(const std::vector<MPI_Request>& requests) {
    for (const MPI_Request request : requests) pending_requests().complete(request);
}

/// `outcount` may be MPI_UNDEFINED, a negative number.
void complete_some(const std::vector<MPI_Request>& requests, int outcount, const int* indices) {
    for (int at = 0; at < outcount; ++at)
        pending_requests().complete(requests[static_cast<std::size_t>(indices[at])]);
}

/// An error of one request does not mean that others were not completed.
bool may_have_completed(int status) {
    int error_class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) PMPI_Error_class(status, &error_class);
    return error_class == MPI_SUCCESS || error_class == MPI_ERR_IN_STATUS;
}

void before_start(MPI_Request request) {
    recorder().started(request);
    if (pending_requests().has_persistent()) pending_requests().start(request);
}

}  // namespace

int Init(int* argc, char*** argv) {
    return around_init([&] { return real::Init(argc, argv); });
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
    return around_init([&] { return real::Init_thread(argc, argv, required, provided); });
}

int Start(MPI_Request* request) {
    if (request != nullptr) before_start(*request);
    const int status = real::Start(request);
    if (status != MPI_SUCCESS && request != nullptr) pending_requests().complete(*request);
    return status;
}

int Startall(int count, MPI_Request* requests) {
    const auto started = copy_of(count, requests);
    for (const MPI_Request request : started) before_start(request);
    const int status = real::Startall(count, requests);
    if (status != MPI_SUCCESS) complete(started);
    return status;
}

int Request_free(MPI_Request* request) {
    if (request != nullptr) {
        pending_requests().forget(*request);
        recorder().forget(*request);
    }
    return real::Request_free(request);
}

int Wait(MPI_Request* request, MPI_Status* status) {
    if (pending_requests().is_quiet() || request == nullptr) return real::Wait(request, status);
    const MPI_Request waited = *request;
    const int result = real::Wait(request, status);
    pending_requests().complete(waited);
    return result;
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    if (pending_requests().is_quiet()) return real::Waitall(count, requests, statuses);
    const auto waited = copy_of(count, requests);
    const int result = real::Waitall(count, requests, statuses);
    if (may_have_completed(result)) complete(waited);
    return result;
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    if (pending_requests().is_quiet()) return real::Waitany(count, requests, index, status);
    const auto waited = copy_of(count, requests);
    const int result = real::Waitany(count, requests, index, status);
    if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) complete_some(waited, 1, index);
    return result;
}

int Waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    if (pending_requests().is_quiet())
        return real::Waitsome(count, requests, outcount, indices, statuses);
    const auto waited = copy_of(count, requests);
    const int result = real::Waitsome(count, requests, outcount, indices, statuses);
    if (may_have_completed(result)) complete_some(waited, *outcount, indices);
    return result;
}

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (pending_requests().is_quiet() || request == nullptr)
        return real::Test(request, flag, status);
    const MPI_Request waited = *request;
    const int result = real::Test(request, flag, status);
    if (result != MPI_SUCCESS || *flag != 0) pending_requests().complete(waited);
    return result;
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    if (pending_requests().is_quiet()) return real::Testall(count, requests, flag, statuses);
    const auto waited = copy_of(count, requests);
    const int result = real::Testall(count, requests, flag, statuses);
    if (may_have_completed(result) && *flag != 0) complete(waited);
    return result;
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    if (pending_requests().is_quiet()) return real::Testany(count, requests, index, flag, status);
    const auto waited = copy_of(count, requests);
    const int result = real::Testany(count, requests, index, flag, status);
    if (result == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED)
        complete_some(waited, 1, index);
    return result;
}

int Testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    if (pending_requests().is_quiet())
        return real::Testsome(count, requests, outcount, indices, statuses);
    const auto waited = copy_of(count, requests);
    const int result = real::Testsome(count, requests, outcount, indices, statuses);
    if (may_have_completed(result)) complete_some(waited, *outcount, indices);
    return result;
}

int Comm_set_info(MPI_Comm comm, MPI_Info info) {
    const int status = real::Comm_set_info(comm, info);
    if (status == MPI_SUCCESS) sending_rate().set(comm, info);
    return status;
}

int Comm_get_info(MPI_Comm comm, MPI_Info* info) {
    const int status = real::Comm_get_info(comm, info);
    if (status == MPI_SUCCESS) sending_rate().add_to(*info, comm);
    return status;
}

namespace {

/// `end` is given the handle, which it may change.
int around_end(MPI_Comm* comm, const auto& end) {
    const MPI_Comm ended = comm != nullptr ? *comm : MPI_COMM_NULL;
    const int status = end(comm);
    if (status == MPI_SUCCESS) sending_rate().forget(ended);
    return status;
}

}  // namespace

int Comm_free(MPI_Comm* comm) { return around_end(comm, real::Comm_free); }

int Comm_disconnect(MPI_Comm* comm) { return around_end(comm, real::Comm_disconnect); }

int Pcontrol(int level) {
    recorder().enter_phase(level);
    pattern_player().enter_phase(level);
    return real::Pcontrol(level);
}

}  // namespace headway::glue::by_hand
