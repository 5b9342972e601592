# SPDX-License-Identifier: Apache-2.0
"""Real etcd servers for tests: on loopback ports that the kernel chooses, with
data in a folder that goes with them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request

ETCD, ETCDCTL = "/usr/bin/etcd", "/usr/bin/etcdctl"
HANGS_S = 600   # ends what hangs, and nothing else


class Port:
    """A port of loopback.  It is held as long as this exists: also while no etcd has it, nobody
    else gets it, and no connection to it begins at itself.  etcd shares it, because both allow
    that (SO_REUSEADDR) and this one does not listen."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]


class Certificates:
    """A certificate authority, and what it signed for a server and a client."""

    def __init__(self, folder):
        self.folder = folder
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                      "-subj", "/CN=test authority", "-keyout", self["ca.key"],
                      "-out", self["ca.pem"])
        self._sign("server", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth")
        self._sign("client", "extendedKeyUsage=clientAuth")

    def __getitem__(self, name):
        return os.path.join(self.folder, name)

    def _sign(self, name, extensions):
        with open(self[name + ".ext"], "w", encoding="ascii") as file:
            file.write(extensions + "\n")
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", self[name + ".key"], "-out", self[name + ".csr"])
        self._openssl("x509", "-req", "-days", "1", "-in", self[name + ".csr"],
                      "-CA", self["ca.pem"], "-CAkey", self["ca.key"], "-CAcreateserial",
                      "-extfile", self[name + ".ext"], "-out", self[name + ".pem"])

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


class Etcd:
    """A cluster of one server or of several."""

    def __init__(self, servers=1, certificates=None):
        self.folder = tempfile.mkdtemp(prefix="headway-etcd-")
        self.certificates = certificates
        self.scheme = "https" if certificates else "http"
        self.clients, self.peers = ([Port() for _ in range(servers)] for _ in range(2))
        self.processes = [None] * servers
        for number in range(servers):
            self.start(number)
        while self.run_ctl("endpoint", "health").returncode:
            pass    # before it has a leader

    def endpoint(self, number=0):
        return f"{self.scheme}://127.0.0.1:{self.clients[number].number}"

    @property
    def endpoints(self):
        return [self.endpoint(number) for number in range(len(self.clients))]

    def start(self, number=0):
        peers = ",".join(f"s{i}=http://127.0.0.1:{port.number}" for i, port in enumerate(self.peers))
        peer = f"http://127.0.0.1:{self.peers[number].number}"
        command = [ETCD, "--name", f"s{number}", "--data-dir", self.data(number),
                   "--listen-client-urls", self.endpoint(number),
                   "--advertise-client-urls", self.endpoint(number),
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", peers, "--heartbeat-interval", "50",
                   "--election-timeout", "500", "--unsafe-no-fsync", "--logger", "zap"]
        if self.certificates:
            command += ["--client-cert-auth", "--trusted-ca-file", self.certificates["ca.pem"],
                        "--cert-file", self.certificates["server.pem"],
                        "--key-file", self.certificates["server.key"]]
        with open(os.path.join(self.folder, f"s{number}.log"), "ab") as log:
            self.processes[number] = subprocess.Popen(command, stdout=log, stderr=log)

    def data(self, number=0):
        return os.path.join(self.folder, f"s{number}")

    def kill(self, number=0):
        self.processes[number].kill()
        self.processes[number].wait()

    def stop(self, number=0):
        """It goes on existing, and says nothing more."""
        self.processes[number].send_signal(signal.SIGSTOP)

    def lose_everything(self, number=0):
        self.kill(number)
        shutil.rmtree(self.data(number))
        self.start(number)

    def run_ctl(self, *arguments):
        command = [ETCDCTL, "--endpoints", ",".join(self.endpoints),
                   "--command-timeout", f"{HANGS_S}s", "--dial-timeout", f"{HANGS_S}s"]
        if self.certificates:
            command += ["--cacert", self.certificates["ca.pem"],
                        "--cert", self.certificates["client.pem"],
                        "--key", self.certificates["client.key"]]
        return subprocess.run(command + list(arguments), check=False, capture_output=True, text=True,
                              env={**os.environ, "ETCDCTL_API": "3"})

    def ctl(self, *arguments):
        done = self.run_ctl(*arguments)
        done.check_returncode()
        return done.stdout

    def renewed_leases(self):
        with urllib.request.urlopen(f"{self.endpoint()}/metrics") as answer:
            return float(re.search(rb"(?m)^etcd_debugging_lease_renewed_total (.*)$", answer.read())[1])

    def close(self):
        for number, process in enumerate(self.processes):
            process.send_signal(signal.SIGCONT)
            self.kill(number)
        for port in self.clients + self.peers:
            port.socket.close()
        shutil.rmtree(self.folder)
