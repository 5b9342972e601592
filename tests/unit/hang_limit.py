# SPDX-License-Identifier: Apache-2.0
HANGS_S = 600   # ends a test that hangs; none takes so long, however busy the machine is
