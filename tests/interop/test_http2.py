"""TLS and HTTP/2 against node's http2 module. Without node or openssl these tests are skipped, loudly."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

import npm  # noqa: E402
from reefbox import Home, wait_for  # noqa: E402


def setUpModule():
    missing = [name for name in ("node", "openssl") if not shutil.which(name)]
    if missing:
        npm.skip_loudly("HTTP/2", f"{', '.join(missing)} not installed")


class Http2Test(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="h2", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.key, self.cert = os.path.join(self.folder, "key.pem"), os.path.join(self.folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=reef test",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.cert],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.backend = subprocess.Popen(["node", str(HERE / "h2_backend.mjs"), self.key, self.cert],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.backend.stdout.close)
        self.addCleanup(self.backend.wait)
        self.addCleanup(self.backend.kill)
        self.port = int(self.backend.stdout.readline())
        self.seen = []
        threading.Thread(target=lambda: self.seen.extend(iter(self.backend.stdout.readline, "")), daemon=True).start()

    def config(self, more=""):
        return ('default_model = "h2/m"\n[providers.h2]\nkind = "openai"\nretries_max = 0\n'
                f'base_url = "https://127.0.0.1:{self.port}/v1"\n{more}')

    def test_streams_share_one_connection_of_http2(self):
        with Home(self.config(f'ca_file = "{self.cert}"\n')) as home:
            self.assertEqual(home.reef("chat", "-p", "hi").out.strip(), "over HTTP/2")
            results = []
            threads = [threading.Thread(target=lambda n=n: results.append(home.reef("chat", "-s", f"s{n}", "-p", "hi").out))
                       for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([text.strip() for text in results], ["over HTTP/2"] * 8)
            wait_for(lambda: len(self.seen) == 9, "all requests")
            self.assertEqual(set(self.seen), {"2.0 1\n"}, "one connection, and it is kept")

    def test_a_certificate_nobody_vouches_for_is_refused(self):
        with Home(self.config()) as home:
            refused = home.reef("chat", "-p", "hi")
            self.assertNotEqual(refused.code, 0)
            self.assertIn("network", refused.err)
            self.assertRegex(refused.err, "(?i)certificate")
        self.assertEqual(self.seen, [], "nothing was sent")


if __name__ == "__main__":
    unittest.main()
