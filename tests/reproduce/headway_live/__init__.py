# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments in the emulated cluster: what is measured, and the page about it."""
