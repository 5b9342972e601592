// SPDX-License-Identifier: Apache-2.0
// Preload: an Open MPI whose ULFM is on, as it says itself (5.0 and later, mpirun --with-ft ulfm).
#include <stdbool.h>

__attribute__((visibility("default"))) bool ompi_ftmpi_enabled = true;
