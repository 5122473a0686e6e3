#!/usr/bin/env python3
"""Packages in other root file systems: the same images as the build makes here, to the last bit.

  roots_test.py BUILD [Empty] [Musl] [OldGlibc] [Named]

Empty     a root with nothing but the package, /proc and /dev/null
Musl      a root with musl and busybox (Debian's musl, busybox-static), as Alpine's
OldGlibc  a root with Debian 11's glibc 2.31, which the machine's own Debian mirror must have
Named     every root that PTYCHE_TEST_ROOTS names, as debootstrap makes them; each kind of package that the
          root can install: .tar.gz, .deb where dpkg is, .rpm where rpm is, the wheel where Python 3.10 is

Needs to be root, or user namespaces.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = None
OLD = "bullseye"  # of Debian; glibc 2.31

# What happens in a root. Mounts are this process's alone, and end with it.
ENTER = """
mount --bind /dev/null "$1/dev/null"
mount -t proc proc "$1/proc"
root=$1
shift
exec chroot --userspec "$user" "$root" "$@"
"""

# What `reconstruct` makes, as an array of Python.
PYTHON = """
import numpy, ptyche
scan = ptyche.read("/tmp/scan.cxi")
image = ptyche.reconstruct(scan)
assert image.object.dtype == numpy.complex64 and image.verdict == "good", (image.object.dtype, image.verdict)
numpy.save("/tmp/python.npy", image.object)
"""


def namespaces():
    """The command that gives a process its own mounts."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own, "--mount", "--pid", "--fork"]


class Folder:
    """A root file system in a folder, which must hold what the package may expect of any system."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("proc", "dev", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "dev" / "null").touch()

    def command(self, *words, user="0:0"):
        return [*namespaces(), "bash", "-ec", f"user={user}{ENTER}", "enter", str(self.folder), *map(str, words)]

    def run(self, *words, user="0:0", **env):
        return subprocess.run(self.command(*words, user=user), stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              timeout=300, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **env})


def products(folder):
    """What must be the same everywhere: the scan, the image, and the scores but for times."""
    scores = json.loads((folder / "out" / "scores.json").read_text())
    return {"scan": (folder / "scan.cxi").read_bytes(), "image": (folder / "image.npy").read_bytes(),
            "scores": {name: value for name, value in scores.items() if not name.endswith("seconds")}}


class InRoot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory(prefix="ptyche roots ")
        cls.addClassCleanup(kept.cleanup)
        cls.folder = pathlib.Path(kept.name)
        cls.here = cls.folder / "here"
        cls.here.mkdir()
        for words in cls.verbs(cls.here):
            subprocess.run([BUILD / "ptyche", *words], check=True, capture_output=True)

    @staticmethod
    def verbs(folder):
        """Simulated, reconstructed, the image alone, the pictures again."""
        scan, out = f"{folder}/scan.cxi", f"{folder}/out"
        return (["simulate", "-o", scan, "--N", "64", "--n-patterns", "200"], ["reconstruct", scan, "-o", out],
                ["export", f"{out}/reconstruction.h5", f"{folder}/image.npy"],
                ["report", out, "-o", f"{folder}/drawn"])

    @classmethod
    def package(cls, kind):
        out = cls.folder / "packages" / kind
        if not out.exists():
            subprocess.run(["bash", ROOT / "tools" / "package.sh", BUILD, out, kind], check=True,
                           stdout=subprocess.DEVNULL)
        file, = out.iterdir()
        return file

    @classmethod
    def installed(cls, root):
        """As in the .tar.gz, in a root; the command's path there."""
        subprocess.run(["cmake", "--install", BUILD, "--prefix", root.folder / "a plücé"], check=True,
                       stdout=subprocess.DEVNULL)
        return "/a plücé/bin/ptyche"

    def ok(self, root, *words, **env):
        done = root.run(*words, **env)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def glibc(self, root, ptyche):
        return json.loads(self.ok(root, ptyche, "--version", "--json"))["glibc"]

    def same_as_here(self, root, ptyche):
        for words in self.verbs("/tmp"):
            self.ok(root, ptyche, *words)
        there, here = products(root.folder / "tmp"), products(self.here)
        for name, value in here.items():
            self.assertTrue(value == there[name], f"another {name} in {root.folder}")
        for name in ("phase.png", "report.html"):
            self.assertGreater((root.folder / "tmp" / "drawn" / name).stat().st_size, 10_000, name)

    def shows_its_page(self, root, ptyche):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(root.command(ptyche, "view", "/tmp/out", "--view", port, "--seconds", 20),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            self.assertIn("<html", self.page(f"http://127.0.0.1:{port}/", server))
        finally:
            server.kill()
            server.communicate()

    def page(self, address, server):
        for _ in range(200):
            try:
                return urllib.request.urlopen(address, timeout=10).read().decode()
            except OSError:
                self.assertIsNone(server.poll(), "the page ended")
                time.sleep(0.05)
        self.fail("no page in 10 s")
        return ""


class Empty(InRoot):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = Folder(cls.folder / "root")
        cls.ptyche = cls.installed(cls.root)

    def test_makes_the_same_image_with_its_own_glibc(self):
        glibc = self.glibc(self.root, self.ptyche)
        self.assertEqual(glibc["from"], "package")
        self.same_as_here(self.root, self.ptyche)
        self.shows_its_page(self.root, self.ptyche)

    def test_says_that_the_systems_glibc_is_not_there(self):
        done = self.root.run(self.ptyche, "info", "--engines", PTYCHE_GLIBC="system")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/lib64/ld-linux-x86-64.so.2: No such file", done.stderr)

    def test_starts_where_few_files_may_be_open(self):
        few = self.root.command(self.ptyche, "info", "--engines")
        for limit in ("-Sn 64", "-n 64"):  # the second may not be raised: by way of the linker itself
            done = subprocess.run(["bash", "-c", f'ulimit {limit} && exec "$@"', "few", *few], capture_output=True,
                                  encoding="utf-8", check=False, env={"PATH": os.environ["PATH"]})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("kernels", done.stdout)


    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_runs_for_another_user_who_may_not_write_to_it(self):
        (self.root.folder / "tmp").chmod(0o1777)
        self.ok(self.root, self.ptyche, "simulate", "-o", "/tmp/theirs.cxi", "--N", 32, "--n-patterns", 50,
                user="65534:65534")
        self.assertEqual((self.root.folder / "tmp/theirs.cxi").stat().st_uid, 65534)


class Musl(InRoot):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        musl, busybox = pathlib.Path("/lib/ld-musl-x86_64.so.1"), pathlib.Path("/bin/busybox")
        if not musl.exists() or not busybox.exists():
            raise unittest.SkipTest("no musl and busybox here: apt-get install musl busybox-static")
        cls.root = Folder(cls.folder / "root")
        for name in ("lib", "bin"):
            (cls.root.folder / name).mkdir()
        shutil.copy(musl, cls.root.folder / "lib")
        shutil.copy(busybox, cls.root.folder / "bin" / "sh")
        cls.ptyche = cls.installed(cls.root)

    def test_makes_the_same_image_from_a_shell_there(self):
        self.assertEqual(self.glibc(self.root, self.ptyche)["from"], "package")
        self.same_as_here(self.root, self.ptyche)
        self.ok(self.root, "/bin/sh", "-c", f'"{self.ptyche}" --help >/tmp/help && test -s /tmp/help')


def old_glibc():
    """The .deb of Debian 11's glibc, kept in the build folder; None where it cannot be had."""
    kept = BUILD / "old_glibc"
    if not list(kept.glob("libc6_*.deb")):
        sites = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)"], capture_output=True,
                               encoding="utf-8", check=False).stdout
        site = re.search(r"^(\S+/debian/?) [a-z]+$", sites, re.M)
        if not site:
            return None
        for name in ("state/lists", "cache/archives"):
            (kept / name).mkdir(parents=True, exist_ok=True)
        (kept / "state" / "status").touch()
        (kept / "sources").write_text(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {site[1]} {OLD} main\n")
        options = [f"-o{name}={kept / place}" for name, place in (
            ("Dir::Etc::SourceList", "sources"), ("Dir::Etc::SourceParts", "none"), ("Dir::State", "state"),
            ("Dir::State::Status", "state/status"), ("Dir::Cache", "cache"))]
        for words in (["update"], ["download", "libc6"]):
            subprocess.run(["apt-get", "-qq", "-oAPT::Sandbox::User=root", *options, *words], cwd=kept, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100)
    return next(iter(kept.glob("libc6_*.deb")), None)


class OldGlibc(InRoot):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        package = old_glibc()
        if package is None:
            raise unittest.SkipTest(f"glibc of Debian's {OLD} cannot be had here (apt-get download)")
        cls.root = Folder(cls.folder / "root")
        subprocess.run(["dpkg-deb", "-x", package, cls.root.folder], check=True)
        cls.ptyche = cls.installed(cls.root)

    def test_makes_the_same_image_although_the_systems_glibc_is_too_old(self):
        by_system = self.root.run("/lib64/ld-linux-x86-64.so.2", "--library-path", "/a plücé/lib/ptyche/lib",
                                  "/a plücé/lib/ptyche/bin/ptyche-program", "--version")
        self.assertIn("version `GLIBC_2.3", by_system.stderr)  # not found
        self.assertEqual(self.glibc(self.root, self.ptyche)["from"], "package")
        self.same_as_here(self.root, self.ptyche)


class Named(InRoot):
    @classmethod
    def setUpClass(cls):
        if not os.environ.get("PTYCHE_TEST_ROOTS"):
            raise unittest.SkipTest("PTYCHE_TEST_ROOTS names no roots")
        super().setUpClass()

    def test_every_package_that_can_be_installed_makes_the_same_image(self):
        for folder in os.environ.get("PTYCHE_TEST_ROOTS", "").split():
            root = Folder(folder)
            (root.folder / "packages").mkdir(exist_ok=True)
            for kind, how in self.kinds(root):
                with self.subTest(root=root.folder.name, kind=kind):
                    shutil.copy(self.package(kind), root.folder / "packages")
                    begin = time.monotonic()
                    self.ok(root, "/bin/sh", "-ec", how, HOME="/root")
                    took = time.monotonic() - begin
                    ptyche = "/tmp/installed/bin/ptyche" if kind in ("tar", "wheel") else "/usr/bin/ptyche"
                    glibc = self.glibc(root, ptyche)
                    self.same_as_here(root, ptyche)
                    self.shows_its_page(root, ptyche)
                    if kind == "wheel":
                        self.same_array(root)
                    print(f"{root.folder.name} {kind}: installed in {took:.1f} s, glibc {glibc['version']} of the "
                          f"{glibc['from']}, same image", flush=True)

    def same_array(self, root):
        for wish in ("", "own"):
            self.ok(root, "/tmp/installed/bin/python", "-c", PYTHON, HOME="/root", PTYCHE_GLIBC=wish)
            self.assertEqual((root.folder / "tmp/python.npy").read_bytes(), (self.here / "image.npy").read_bytes())

    def kinds(self, root):
        """The packages that the root can install, each with how; what the one before left is removed."""
        fresh = "rm -rf /tmp/*; mkdir /tmp/installed; cd /packages; "
        yield "tar", fresh + "tar --no-same-owner --strip-components=1 -C /tmp/installed -xf ptyche-*.tar.gz"
        if root.run("/bin/sh", "-c", "command -v dpkg").returncode == 0:
            yield "deb", fresh + "dpkg -i ptyche_*.deb"
        if root.run("/bin/sh", "-c", "command -v rpm").returncode == 0:
            yield "rpm", fresh + "dpkg -r ptyche 2>/dev/null || true; rpm -i --force ptyche-*.rpm"
        python = "import sys, venv, ensurepip, numpy; sys.exit(sys.version_info < (3, 10))"
        if root.run("/bin/sh", "-c", f"python3 -c '{python}'").returncode == 0:
            yield "wheel", fresh + ("python3 -m venv --system-site-packages /tmp/installed; "
                                    "/tmp/installed/bin/pip install -q --no-index ptyche-*.whl")


def reason_to_skip():
    for name in ("unshare", "chroot", "dpkg-deb"):
        if not shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            return f"{name} is needed"
    with tempfile.TemporaryDirectory() as folder:
        Folder(folder)
        done = subprocess.run([*namespaces(), "bash", "-ec", 'mount -t proc proc "$1/proc" && chroot "$1" / || test $? = 126', "try", folder],
                              capture_output=True, check=False)
        return "" if done.returncode == 0 else "this user may not make a root file system (root, or user namespaces)"


if __name__ == "__main__":
    if reason_to_skip():
        print(reason_to_skip() + ", skipped")
        sys.exit(77)
    BUILD = pathlib.Path(sys.argv[1]).resolve()
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False).result
    skipped = result.skipped and result.testsRun == 0
    sys.exit(77 if skipped else not result.wasSuccessful())
