# SPDX-License-Identifier: GPL-2.0
"""A plugin of tdc: a wire for all cases, $WIRE and its peer, both down."""
import subprocess

from TdcPlugin import TdcPlugin
from tdc_config import NAMES


class SubPlugin(TdcPlugin):
    def __init__(self):
        self.sub_class = "simwire/SubPlugin"
        super().__init__()

    def pre_suite(self, testcount, testidlist):
        super().pre_suite(testcount, testidlist)
        self._ip("add", "type", "simwire")

    def post_suite(self, index):
        super().post_suite(index)
        self._ip("del")

    @staticmethod
    def _ip(verb, *options):
        subprocess.run([NAMES["IP"], "link", verb, "dev", NAMES["WIRE"], *options], check=True)
