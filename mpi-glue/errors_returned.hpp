// SPDX-License-Identifier: MIT
// Errors of MPI that are ours to cope with: until the end of the scope the program's
// error handler, which may end the job, does not hear of what goes wrong on a
// communicator.
#pragma once

#include <mpi.h>

namespace headway::glue {

class ErrorsReturned {
public:
    explicit ErrorsReturned(MPI_Comm communicator) : communicator_(communicator) {
        if (PMPI_Comm_get_errhandler(communicator_, &programs_) != MPI_SUCCESS) return;
        PMPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    }
    ErrorsReturned(const ErrorsReturned&) = delete;
    ErrorsReturned& operator=(const ErrorsReturned&) = delete;
    ~ErrorsReturned() {
        if (programs_ == MPI_ERRHANDLER_NULL) return;
        PMPI_Comm_set_errhandler(communicator_, programs_);
        // MPI's own are not counted in all libraries
        if (programs_ != MPI_ERRORS_ARE_FATAL && programs_ != MPI_ERRORS_RETURN)
            PMPI_Errhandler_free(&programs_);
    }

private:
    MPI_Comm communicator_;
    MPI_Errhandler programs_ = MPI_ERRHANDLER_NULL;
};

}  // namespace headway::glue
