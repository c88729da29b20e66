"""`reef backup` and `reef restore-backup`: everything into one file while the daemon runs, and back."""

import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import threading
import unittest

from reefbox import SEND, Home, assistant_entry, bind_entry, header_entry, jsonl, script, snapshot, turn, user_entry

REPLIES = script(*({"text": f"reply {n}"} for n in range(1, 5)))


def transcript(name, text="hello"):
    return jsonl(header_entry(name), bind_entry("e0", None, "reef", name), user_entry("u1", "e0", text),
                 assistant_entry("a1", "u1", "hi"))


FILES = {
    "config.toml": "# mine\n", "agents/cook.toml": 'model = "local"\n', "memory/cook.md": "salt\n",
    "statuses.toml": "", "hooks/run.sh": "#!/bin/sh\n",
    "sessions/one/session.jsonl": transcript("one"), "sessions/one/attachments/photo.png": b"\x89PNG\0" * 100,
    "sessions/two/session.jsonl": transcript("two"), "sessions/two/attachments/" + "n" * 200 + ".txt": b"long name",
    "trash/old/session.jsonl": transcript("old"),
    "catalog/rows.jsonl": "junk", "logs/x.log": "junk", "index/x": "junk", "staging/7/x": "junk", "run/secret": "junk",
}


def unpack(path):
    """{name: (bytes, mode)} of an archive, read by other programs than ours."""
    data = subprocess.run(["zstd", "-dc", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {m.name: (tar.extractfile(m).read(), m.mode) for m in tar.getmembers()}


def pack(path, members):
    """An archive of hand-made members: (TarInfo, bytes)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    subprocess.run(["zstd", "-q", "-f", "-o", path], input=data.getvalue(), check=True)


MANIFEST = json.dumps({"kind": "reef-backup", "version": 1}).encode()


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


class Case(unittest.TestCase):
    def home(self, **more):
        home = Home(**more)
        self.addCleanup(home.cleanup)
        if more.get("start", True):
            home.start()
        return home

    def backed_up(self):
        """A home with something of everything, stopped, and its archive."""
        home = self.home(files=FILES)
        os.chmod(home.file("hooks/run.sh"), 0o755)
        archive = os.path.join(home.base, "b.tar.zst")
        self.assertEqual(home.reef("backup", archive).code, 0)
        home.stop()
        return home, archive

    def refused(self, home, *args, says):
        before = self.everything(home)
        done = home.reef(*args)
        self.assertEqual(done.code, 1, done)
        self.assertRegex(done.err, r"\Areef: [^\n]+\n\Z")
        self.assertIn(says, done.err)
        self.assertEqual(self.everything(home), before, "the home was changed")

    def everything(self, home):
        """Every file except those that the daemon derives and mends by itself."""
        found = {}
        for where, _, names in os.walk(home.path):
            for name in names:
                path = os.path.join(where, name)
                if not os.path.relpath(path, home.path).startswith(("run/", "logs/", "catalog/", "index/")):
                    with open(path, "rb") as source:
                        found[os.path.relpath(path, home.path)] = source.read()
        return found


class Backup(Case):
    def test_what_is_in_it(self):
        home, archive = self.backed_up()
        held = unpack(archive)
        self.assertEqual(next(iter(held)), "reef-backup.json")
        names = set(held) - {"reef-backup.json"}
        kept = {n for n in FILES if n.split("/")[0] not in ("catalog", "logs", "index", "staging", "run")}
        self.assertEqual(names, kept)
        for name in kept:
            want = FILES[name] if isinstance(FILES[name], bytes) else FILES[name].encode()
            self.assertEqual(held[name][0], want, name)
            self.assertEqual(held[name][1], 0o700 if name == "hooks/run.sh" else 0o600, name)
        self.assertEqual(stat.S_IMODE(os.stat(archive).st_mode), 0o600)

    def test_json_and_existing_files(self):
        home = self.home(files=FILES)
        archive = os.path.join(home.base, "b.tar.zst")
        done = home.reef("backup", archive, "--json").json
        self.assertEqual((done["file"], done["sessions"], done["files"]), (archive, 2, 10))
        self.refused(home, "backup", archive, says="--force")
        self.assertEqual(home.reef("backup", archive, "--force").code, 0)
        self.refused(home, "backup", os.path.join(home.base, "no/such/b.tar.zst"), says="no/such")
        self.assertEqual(sorted(os.listdir(home.base)), ["b.tar.zst", "h", "stderr"])

    def test_while_turns_are_written_every_transcript_is_whole(self):
        home = self.home(script=REPLIES)
        stop = threading.Event()

        def talk(sender):
            with home.connect() as link:
                while not stop.is_set():
                    link.call(SEND, turn("scripted", "x" * 3000, sender))

        writers = [threading.Thread(target=talk, args=(f"w{i}",)) for i in range(3)]
        for writer in writers:
            writer.start()
        try:
            held = []
            for n in range(5):
                archive = os.path.join(home.base, f"{n}.tar.zst")
                done = home.reef("backup", archive)
                self.assertEqual(done.code, 0, done)
                held.append(unpack(archive))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        for archive in held:
            for name, (data, _) in archive.items():
                if not name.endswith("session.jsonl"):
                    continue
                self.assertTrue(data.endswith(b"\n"), name)
                for line in data.splitlines():
                    json.loads(line)
                with open(home.file(name), "rb") as source:
                    self.assertTrue(source.read().startswith(data), f"{name} is no prefix of what is there now")

    def test_a_half_written_line_stays_behind(self):
        home = self.home(files=FILES)
        with open(home.file("sessions/one/session.jsonl"), "ab") as out:
            out.write(b'{"type":"mess')
        archive = os.path.join(home.base, "b.tar.zst")
        self.assertEqual(home.reef("backup", archive).code, 0)
        self.assertEqual(unpack(archive)["sessions/one/session.jsonl"][0], FILES["sessions/one/session.jsonl"])

    def test_a_running_imports_files_are_left_out(self):
        home = self.home(files=FILES)
        half = home.file("staging/9/session.jsonl")
        os.makedirs(os.path.dirname(half))
        with open(half, "wb") as out:
            out.write(transcript("half"))
        archive = os.path.join(home.base, "b.tar.zst")
        self.assertEqual(home.reef("backup", archive).code, 0)
        self.assertTrue(os.path.exists(half))
        self.assertEqual([name for name in unpack(archive) if "staging" in name], [])
        other = self.home(name="other", start=False)
        self.assertEqual(other.reef("restore-backup", archive).code, 0)
        other.start()
        self.assertEqual({s["id"] for s in json.loads(other.reef("sessions", "--json").out)}, {"one", "two"})

    def test_links_are_left_out(self):
        home = self.home(files=FILES)
        os.symlink("/etc/passwd", home.file("sessions/one/attachments/passwd"))
        os.symlink("/etc", home.file("agents/etc"))
        archive = os.path.join(home.base, "b.tar.zst")
        self.assertEqual(home.reef("backup", archive).code, 0)
        self.assertFalse([n for n in unpack(archive) if "passwd" in n or "etc" in n])


class Restore(Case):
    def test_into_a_new_home_and_the_daemon_knows_every_session(self):
        old, archive = self.backed_up()
        new = self.home(start=False)
        done = new.reef("restore-backup", archive, "--json")
        self.assertEqual(done.code, 0, done)
        self.assertEqual((done.json["home"], done.json["sessions"], done.json["files"]), (new.path, 2, 10))
        self.assertEqual(snapshot(new), snapshot(old))
        for name in ("config.toml", "agents/cook.toml", "memory/cook.md", "hooks/run.sh"):
            self.assertEqual(new.read(name), old.read(name))
        self.assertTrue(os.access(new.file("hooks/run.sh"), os.X_OK))
        self.assertFalse(os.path.exists(new.file("staging")))
        self.assertFalse(os.path.exists(new.file("run/secret")))
        new.start()
        self.assertEqual(sorted(r["id"] for r in new.reef("sessions", "--json").json), ["one", "two"])
        self.assertEqual(new.reef("restore", "old").code, 0)
        self.assertEqual(new.reef("fsck").code, 0)

    def test_a_home_with_sessions_or_a_daemon_is_left_alone(self):
        old, archive = self.backed_up()
        self.refused(old, "restore-backup", archive, says="--merge")
        new = self.home()
        self.refused(new, "restore-backup", archive, says="reef stop")
        self.assertTrue(new.ping())

    def test_merge_adds_what_is_missing_and_changes_nothing(self):
        _, archive = self.backed_up()
        mine = transcript("one", "MINE")
        new = self.home(start=False, files={"sessions/one/session.jsonl": mine, "config.toml": "# other\n",
                                            "trash/two/session.jsonl": transcript("two", "thrown away")})
        done = new.reef("restore-backup", archive, "--merge")
        self.assertEqual(done.code, 0, done)
        self.assertIn("left as it was: sessions/one", done.out)
        with open(new.file("sessions/one/session.jsonl"), "rb") as source:
            self.assertEqual(source.read(), mine)
        self.assertFalse(os.path.exists(new.file("sessions/one/attachments")))
        self.assertFalse(os.path.exists(new.file("sessions/two")), "what was thrown away came back")
        self.assertEqual(new.read("config.toml"), "# other\n")
        self.assertTrue(os.path.exists(new.file("trash/old/session.jsonl")))
        self.assertEqual(new.read("memory/cook.md"), "salt\n")

    def test_a_damaged_archive_changes_nothing(self):
        old, archive = self.backed_up()
        with open(archive, "rb") as source:
            data = source.read()
        new = self.home(start=False)
        bad = os.path.join(new.base, "bad.tar.zst")
        cuts = [data[:n] for n in (0, 1, 10, len(data) // 2, len(data) - 5, len(data) - 1)]
        flips = [data[:n] + bytes([data[n] ^ 0x40]) + data[n + 1:] for n in range(5, len(data), max(1, len(data) // 20))]
        for broken in cuts + flips:
            with open(bad, "wb") as out:
                out.write(broken)
            done = new.reef("restore-backup", bad)
            if broken in flips and done.code == 0:
                # Some bits do not matter for the content, which has a checksum; then everything must be restored.
                self.assertEqual(snapshot(new), snapshot(old))
                shutil.rmtree(new.path)
                os.mkdir(new.path)
                continue
            self.assertEqual(done.code, 1, done)
            self.assertRegex(done.err, r"\Areef: restore-backup: [^\n]+\n\Z")
            self.assertEqual(self.everything(new), {})
            self.assertFalse(os.path.exists(new.file("staging")))

    def test_hostile_archives(self):
        new = self.home(start=False)
        bad = os.path.join(new.base, "bad.tar.zst")
        good = member("sessions/x/session.jsonl"), transcript("x")
        hostile = {
            "escape": [(member("../evil"), b"x")], "absolute": [(member("/tmp/evil"), b"x")],
            "inside": [(member("sessions/x/../../../evil"), b"x")], "link": [(member("a", tarfile.SYMTYPE, "/etc"), b"")],
            "hard link": [(member("a", tarfile.LNKTYPE, "/etc/passwd"), b"")], "device": [(member("a", tarfile.CHRTYPE), b"")],
            "pipe": [(member("a", tarfile.FIFOTYPE), b"")], "twice": [good, good],
            "a file as a folder": [(member("a"), b"x"), (member("a/b"), b"x")],
            "control": [(member("a\nb"), b"x")],
            "no transcript": [(member("sessions/y/attachments/z"), b"x")],
        }
        for name, members in hostile.items():
            with self.subTest(name):
                pack(bad, [(member("reef-backup.json"), MANIFEST), *members])
                self.refused(new, "restore-backup", bad, says="")
                self.assertEqual(sorted(os.listdir(new.base)), ["bad.tar.zst", "h"])
        pack(bad, [good])
        self.refused(new, "restore-backup", bad, says="not a backup")
        pack(bad, [(member("reef-backup.json"), b'{"kind":"reef-backup","version":99}'), good])
        self.refused(new, "restore-backup", bad, says="newer")
        self.refused(new, "restore-backup", os.path.join(new.base, "nothing"), says="nothing")

    def test_derived_files_are_not_restored(self):
        new = self.home(start=False)
        archive = os.path.join(new.base, "b.tar.zst")
        pack(archive, [(member("reef-backup.json"), MANIFEST), (member("run/token"), b"known"),
                       (member("catalog/rows.jsonl"), b"lies"), (member("sessions/x/session.jsonl"), transcript("x"))])
        self.assertEqual(new.reef("restore-backup", archive).code, 0)
        self.assertEqual(set(self.everything(new)), {"sessions/x/session.jsonl"})

    def test_a_file_larger_than_the_disk(self):
        new = self.home(start=False)
        bad = os.path.join(new.base, "bad.tar.zst")
        info = member("sessions/x/session.jsonl")
        info.size = 1 << 39
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
            first = member("reef-backup.json")
            first.size = len(MANIFEST)
            tar.addfile(first, io.BytesIO(MANIFEST))
            data.write(info.tobuf(tarfile.PAX_FORMAT))
        subprocess.run(["zstd", "-q", "-f", "-o", bad], input=data.getvalue()[:], check=True)
        self.refused(new, "restore-backup", bad, says="room")


if __name__ == "__main__":
    unittest.main()
