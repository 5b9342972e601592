# SPDX-License-Identifier: Apache-2.0
"""Five networks that are known, what `headway measure` makes of them, and what predictions and plans are worth."""
