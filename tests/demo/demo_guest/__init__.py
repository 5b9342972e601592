# SPDX-License-Identifier: Apache-2.0
"""The demo's part inside the guest: networks, contenders, mpiruns, counters."""
