"""Files of a session: attach, files, cat through `reef`, and uploads on the wire."""

import hashlib
import os
import subprocess
import unittest

from reefbox import ERROR, Home, binary, environment, read_lines, request, wait_for

ATTACH_FILE, ATTACH_DATA, LIST_FILES, READ_FILE = 230, 231, 232, 233
UPLOAD, ATTACHED, FILE_LIST, FILE_DATA = 230, 231, 232, 233
LIMITED = "[session]\nattachment_bytes_max = 1000\n"


def new_session(home):
    return home.reef("new", "--json").json["id"]


def records(home, session):
    return [e["data"] for e in read_lines(home.file(f"sessions/{session}/session.jsonl"))
            if e.get("customType") == "reef.attachment"]


def incoming(home):
    path = home.file("sessions/.incoming")
    return os.listdir(path) if os.path.isdir(path) else []


class Commands(unittest.TestCase):
    def attach(self, home, session, name, data):
        path = os.path.join(home.base, name)
        with open(path, "wb") as out:
            out.write(data)
        done = home.reef("attach", session, path, "--json")
        self.assertEqual(done.code, 0, done)
        return done.json[0]

    def test_a_file_goes_in_is_listed_and_comes_out_the_same(self):
        with Home() as home:
            session = new_session(home)
            data = os.urandom(3_000_000)
            got = self.attach(home, session, "blob.bin", data)
            sha = hashlib.sha256(data).hexdigest()
            self.assertEqual((got["path"], got["name"], got["bytes"], got["sha"]),
                             ("attachments/blob.bin", "blob.bin", len(data), sha))
            listed = home.reef("files", session, "--json").json
            self.assertEqual([(f["path"], f["type"], f["bytes"]) for f in listed],
                             [("attachments/blob.bin", "application/octet-stream", len(data))])
            self.assertEqual(subprocess.run(
                [binary("reef"), "--home", home.path, "cat", session, "attachments/blob.bin"], env=environment(),
                capture_output=True, timeout=30).stdout, data)
            self.assertEqual(records(home, session), [{"path": "attachments/blob.bin", "name": "blob.bin",
                                                       "type": "application/octet-stream", "bytes": len(data),
                                                       "sha": sha}])
            self.assertEqual(incoming(home), [])

    def test_empty_files_twins_and_collisions(self):
        with Home() as home:
            session = new_session(home)
            self.assertEqual(self.attach(home, session, "empty", b"")["bytes"], 0)
            self.assertEqual(self.attach(home, session, "a.txt", b"one")["path"], "attachments/a.txt")
            self.assertEqual(self.attach(home, session, "a.txt", b"two")["path"], "attachments/a-2.txt")
            twin = self.attach(home, session, "other.txt", b"one")
            self.assertEqual((twin["path"], twin["name"], twin["existed"]), ("attachments/a.txt", "other.txt", True))
            self.assertEqual(len(os.listdir(home.file(f"sessions/{session}/attachments"))), 3)
            self.assertEqual([r["name"] for r in records(home, session)], ["empty", "a.txt", "a.txt", "other.txt"])

    def test_the_limit_is_told_and_nothing_is_left(self):
        with Home(config=LIMITED) as home:
            session = new_session(home)
            path = os.path.join(home.base, "big")
            with open(path, "wb") as out:
                out.write(b"x" * 1001)
            done = home.reef("attach", session, path)
            self.assertEqual(done.code, 1)
            self.assertIn("at most 1000", done.err)
            self.assertEqual(records(home, session), [])
            self.attach(home, session, "fits", b"x" * 1000)

    def test_pipes_folders_and_other_paths_are_refused(self):
        with Home() as home:
            session = new_session(home)
            os.mkfifo(os.path.join(home.base, "pipe"))
            for path in (os.path.join(home.base, "pipe"), home.base, "/dev/zero", home.base + "/none"):
                self.assertEqual(home.reef("attach", session, path).code, 1, path)
            for path in ("session.jsonl", "../x", "attachments/../session.jsonl", "attachments", "/etc/passwd", "data/x"):
                self.assertEqual(home.reef("cat", session, path).code, 1, path)
            self.assertIn("plans", home.reef("files", session, "nowhere").err)
            self.assertEqual(home.reef("files", session).out, "no files\n")

    def test_links_lead_nowhere(self):
        with Home() as home:
            session = new_session(home)
            home.write("../outside", "SECRET")
            os.makedirs(home.file(f"sessions/{session}/data"))
            os.symlink(home.file("../outside"), home.file(f"sessions/{session}/data/link"))
            self.assertEqual(home.reef("files", session, "--json").json, [])
            done = home.reef("cat", session, "data/link")
            self.assertEqual(done.code, 1)
            self.assertNotIn("SECRET", done.out)

    def test_pages(self):
        with Home() as home:
            session = new_session(home)
            for number in range(7):
                home.write(f"sessions/{session}/data/f{number}", "x")
            first = home.reef("files", session, "data", "--limit", "3", "--json")
            self.assertEqual([f["path"] for f in first.json], ["data/f0", "data/f1", "data/f2"])
            self.assertIn("--cursor 'data/f2'", first.err)
            rest = home.reef("files", session, "data", "--cursor", "data/f2", "--json")
            self.assertEqual([f["path"] for f in rest.json], ["data/f3", "data/f4", "data/f5", "data/f6"])

    def test_forks_trash_and_restore_take_them_along(self):
        with Home() as home:
            session = new_session(home)
            start = read_lines(home.file(f"sessions/{session}/session.jsonl"))[-1]["id"]
            self.attach(home, session, "a.txt", b"one")
            fork = home.reef("fork", session, "--json").json["id"]
            self.assertEqual(home.reef("cat", fork, "attachments/a.txt").out, "one")
            before = home.reef("fork", session, "--at", start, "--json").json["id"]
            self.assertEqual(home.reef("files", before, "--json").json, [])
            self.assertEqual(home.reef("rm", session).code, 0)
            self.assertEqual(home.reef("cat", session, "attachments/a.txt").code, 1)
            self.assertEqual(home.reef("restore", session).code, 0)
            self.assertEqual(home.reef("cat", session, "attachments/a.txt").out, "one")


class Wire(unittest.TestCase):
    def begin(self, link, session, name, number=1):
        reply = link.call(ATTACH_FILE, {1: session, 2: name}, request_id=number)
        self.assertEqual(reply.tag, UPLOAD, reply)
        return reply.body.int(1)

    def upload(self, link, session, name, data):
        """The FileInfo of a whole upload in one piece."""
        upload = self.begin(link, session, name)
        link.send(request(ATTACH_DATA, {1: upload, 2: 0, 3: data, 4: True}, 2))
        replies = {r.request_id: r for r in (link.recv(), link.recv())}
        self.assertEqual(replies[1].tag, ATTACHED, replies)
        return replies[1].body

    def test_hostile_names_stay_in_the_folder_and_are_written_down_exactly(self):
        names = ["..", ".", "", "/", "../../../x", "a/b/c", "a\x00b", "a\nb", "\x1b[2J", "x" * 10_240 + ".txt", "CON", "-rf",
                 "\u202egnp.exe"]
        with Home() as home, home.connect() as link:
            session = new_session(home)
            for number, name in enumerate(names):
                with self.subTest(name=name[:20]):
                    got = self.upload(link, session, name, f"content {number}".encode())
                    path = got.fields[1][-1].decode()
                    self.assertTrue(os.path.isfile(home.file(f"sessions/{session}/{path}")))
                    self.assertEqual(os.path.dirname(path), "attachments")
            self.assertEqual([r["name"] for r in records(home, session)], names)
            self.assertEqual(sorted(os.listdir(home.file(f"sessions/{session}"))), ["attachments", "session.jsonl"])
            got = self.upload(link, session, b"caf\xe9.txt", b"latin")
            self.assertEqual(records(home, session)[-1]["nameHex"], b"caf\xe9.txt".hex())
            self.assertEqual(link.call(ATTACH_FILE, {1: session, 2: "x" * 20_000}, 9).code, 400)

    def test_a_client_that_leaves_leaves_nothing(self):
        with Home() as home:
            session = new_session(home)
            with home.connect() as link:
                upload = self.begin(link, session, "half")
                self.assertEqual(link.call(ATTACH_DATA, {1: upload, 2: 0, 3: b"x" * 100_000}, 2).body.int(2), 100_000)
                self.assertEqual(len(incoming(home)), 1)
            wait_for(lambda: incoming(home) == [], "the half file to go")
            self.assertEqual(records(home, session), [])
            with home.connect() as link:
                self.assertEqual(link.call(ATTACH_DATA, {1: upload, 2: 100_000, 3: b"x"}, 1).code, 404)

    def test_a_killed_daemon_leaves_nothing_either(self):
        with Home() as home:
            session = new_session(home)
            with home.connect() as link:
                upload = self.begin(link, session, "half")
                link.call(ATTACH_DATA, {1: upload, 2: 0, 3: b"x"}, 2)
                home.kill9()
            self.assertEqual(len(incoming(home)), 1)
            home.start()
            self.assertEqual(incoming(home), [])
            self.assertEqual(home.reef("files", session, "--json").json, [])

    def test_wrong_uploads_are_refused(self):
        with Home(config=LIMITED) as home, home.connect() as link:
            session = new_session(home)
            self.assertEqual(link.call(ATTACH_FILE, {1: session, 2: "x"}).code, 400)  # no request_id
            self.assertEqual(link.call(ATTACH_FILE, {1: "nobody", 2: "x"}, 1).code, 404)
            self.assertEqual(link.call(ATTACH_FILE, {1: session, 2: "x", 3: 1001}, 1).code, 413)
            upload = self.begin(link, session, "x")
            self.assertEqual(link.call(ATTACH_DATA, {1: upload, 2: 5, 3: b"x"}, 2).code, 409)
            # A piece that exceeds the limit is refused in two answers, one for the piece and one for the upload.
            link.send(request(ATTACH_DATA, {1: upload, 2: 0, 3: b"x" * 1001}, 3))
            self.assertEqual([link.recv().code, link.recv().code], [413, 413])
            self.assertEqual(incoming(home), [])

    def test_ranges(self):
        with Home() as home, home.connect() as link:
            session = new_session(home)
            home.write(f"sessions/{session}/plans/p.md", "0123456789")
            reply = link.call(READ_FILE, {1: session, 2: "plans/p.md", 3: 3, 4: 4})
            self.assertEqual(reply.tag, FILE_DATA)
            self.assertEqual((reply.body.fields[2][0], reply.body.int(3)), (b"3456", 1))
            self.assertEqual(reply.body.sub(1).int(4), 10)
            reply = link.call(READ_FILE, {1: session, 2: "plans/p.md", 3: 50})
            self.assertEqual((reply.body.fields.get(2), reply.body.int(3)), (None, 1))
            self.assertEqual(link.call(READ_FILE, {1: session, 2: "plans/../session.jsonl"}).tag, ERROR)


if __name__ == "__main__":
    unittest.main()
