#!/usr/bin/env python3
"""What ./run package and ./run install make, used as on a machine where nothing else is installed.

  package_test.py BUILD [Tar] [Wheel] [Deb] [Rpm] [Install]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = None


def run(*words, **how):
    how.setdefault("env", {})
    return subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True,
                          encoding="utf-8", timeout=300, check=False, **how)


def script(name, *words):
    """A script of tools/, in the environment of the build."""
    return run("bash", ROOT / "tools" / name, *words, env=None)


# A library that tells at the end of a process what it can see of its start.
AT_END = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
extern char** environ;
__attribute__((destructor)) static void tell(void) {
  char exe[4096] = "", name[17] = "";
  struct rlimit files;
  int launch = 0;
  for (char** word = environ; *word; ++word) launch += strncmp(*word, "PTYCHE_LAUNCH", 13) == 0;
  readlink("/proc/self/exe", exe, sizeof exe - 1);
  prctl(PR_GET_NAME, name);
  getrlimit(RLIMIT_NOFILE, &files);
  const char* path = getenv("LD_LIBRARY_PATH");
  printf("{\"exe\": \"%s\", \"name\": \"%s\", \"libraries\": \"%s\", \"launch\": %d, \"descriptors\": %d, "
         "\"stream\": %d}\n", exe, name, path ? path : "", launch, (int)files.rlim_cur, fcntl(1023, F_GETFD) >= 0);
}
"""


class InFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory(prefix="ptyche package ")
        cls.addClassCleanup(kept.cleanup)
        cls.folder = pathlib.Path(kept.name)

    @classmethod
    def made(cls, kind):
        """The package of that kind, which lies alone in the folder."""
        done = script("package.sh", BUILD, cls.folder / "out", kind)
        assert done.returncode == 0, done.stderr
        file, = (cls.folder / "out").iterdir()
        assert f"{file}  {file.stat().st_size // 1000000} MB" in done.stdout, done.stdout
        return file

    def ok(self, *words, **how):
        done = run(*words, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Tar(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run(["tar", "-C", cls.folder, "-xf", cls.made("tar")], check=True)
        cls.root, = (path for path in cls.folder.iterdir() if path.name != "out")
        cls.ptyche = cls.root / "bin" / "ptyche"

    def test_makes_an_image_in_an_empty_environment(self):
        scan, out = self.folder / "scan.cxi", self.folder / "an image"
        self.ok(self.ptyche, "simulate", "-o", scan, "--N", 32, "--n-patterns", 100,
                "--probe-diameter", 12, "--step", 3)
        done = run(self.ptyche, "reconstruct", scan, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Fontconfig", done.stderr)
        self.assertTrue((out / "report.html").exists() and (out / "verdict.png").exists())

    def test_runs_through_a_link_and_where_it_is_moved_to(self):
        version = run(BUILD / "ptyche", "--version", env=None).stdout
        moved = self.root.rename(self.folder / "moved to another place")
        try:
            link = self.folder / "link"
            link.symlink_to(moved / "bin" / "ptyche")
            self.assertEqual(self.ok(link, "--version"), version)
            self.assertIn("kernels", self.ok(link, "info", "--engines"))
        finally:
            moved.rename(self.root)

    def test_takes_no_library_from_outside_but_those_of_glibc(self):
        checked = script("check_bundle.sh", self.root)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_check_notices_a_library_that_is_not_in_the_package(self):
        library = self.root / "lib/ptyche/lib/libzip.so.4"
        away = library.rename(self.folder / "away")
        checked = script("check_bundle.sh", self.root)
        away.rename(library)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("takes libzip.so.4 from outside", checked.stderr)

    def test_takes_its_own_libraries_whatever_the_user_has_in_the_search_path(self):
        others = self.folder / "others"
        others.mkdir()
        for name in ("libgomp.so.1", "libcrypto.so.3", "libz.so.1", "libstdc++.so.6"):
            (others / name).write_text("no library")
        for glibc in ("own", "system"):
            self.ok(self.ptyche, "info", "--engines",
                    env={"LD_LIBRARY_PATH": str(others), "PTYCHE_GLIBC": glibc})

    def test_the_check_notices_a_program_that_names_the_systems_linker(self):
        program = self.root / "lib/ptyche/bin/ptyche-program"
        kept = program.read_bytes()
        program.write_bytes(kept.replace(b"/proc/self/fd/1023\0", b"/lib64/ld-linux.so\0", 1))
        checked = script("check_bundle.sh", self.root)
        program.write_bytes(kept)
        self.assertEqual(checked.returncode, 1)
        self.assertIn("names a dynamic linker of the system", checked.stderr)

    def test_says_which_glibc_it_takes(self):
        said = {wish: json.loads(self.ok(self.ptyche, "--version", "--json", env={"PTYCHE_GLIBC": wish}))
                for wish in ("own", "system")}
        self.assertEqual(said["own"]["glibc"]["from"], "package")
        self.assertEqual(said["system"]["glibc"]["from"], "system")
        here = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
        self.assertEqual(said["system"]["glibc"]["version"], here)
        self.assertIn(said["own"]["commit"], self.ok(self.ptyche, "--version"))
        wrong = run(self.ptyche, "info", "--engines", env={"PTYCHE_GLIBC": "mine"})
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("PTYCHE_GLIBC: expected own or system, found mine", wrong.stderr)

    def state_at_the_end(self, before, **env):
        """What AT_END prints when the program ends that was started with its own glibc after bash's `before`."""
        kept = tempfile.TemporaryDirectory()  # LD_PRELOAD takes no path with a blank
        self.addCleanup(kept.cleanup)
        source, library = pathlib.Path(kept.name, "at_end.c"), pathlib.Path(kept.name, "at_end.so")
        source.write_text(AT_END)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        said = self.ok("/bin/bash", "-c", f'{before}; exec "$@"', "started", self.ptyche, "info", "--engines",
                       env={"PTYCHE_GLIBC": "own", "LD_PRELOAD": str(library), **env})
        return json.loads(said.splitlines()[-1])

    @unittest.skipUnless(shutil.which("cc"), "no compiler here")
    def test_leaves_no_trace_of_how_it_was_started(self):
        for path in (None, "/some/where"):
            state = self.state_at_the_end("ulimit -Sn 64", **({} if path is None else {"LD_LIBRARY_PATH": path}))
            self.assertEqual(state, {"exe": str(self.root / "lib/ptyche/bin/ptyche-program"), "name": "ptyche-program",
                                     "libraries": path or "", "launch": 0, "descriptors": 64, "stream": 0})

    @unittest.skipUnless(shutil.which("cc"), "no compiler here")
    def test_leaves_a_descriptor_alone_that_has_the_linkers_number(self):
        """The linker loads the program then, which finds its fonts all the same."""
        state = self.state_at_the_end("ulimit -Sn 2000; exec 1023</dev/null")
        self.assertEqual(state, {"exe": str(self.root / "lib/ptyche/glibc/ld-linux-x86-64.so.2"),
                                 "name": "ld-linux-x86-64", "libraries": "", "launch": 0, "descriptors": 2000,
                                 "stream": 1})
        scan, out = self.folder / "drawn.cxi", self.folder / "drawn"
        self.ok(self.ptyche, "simulate", "-o", scan, "--N", 32, "--n-patterns", 100, "--probe-diameter", 12, "--step", 3)
        self.ok(self.ptyche, "reconstruct", scan, "-o", out)
        for name, before in (("one", ":"), ("other", "ulimit -Sn 2000; exec 1023</dev/null")):
            self.ok("/bin/bash", "-c", f'{before}; exec "$@"', "started", self.ptyche, "report", out, "-o",
                    self.folder / name, env={"PTYCHE_GLIBC": "own"})
        self.assertEqual((self.folder / "one/phase.png").read_bytes(), (self.folder / "other/phase.png").read_bytes())

    def test_has_the_completions_and_a_manual_page_for_every_verb(self):
        share = self.root / "share"
        for shell, place in (("bash", "bash-completion/completions/ptyche"),
                             ("zsh", "zsh/site-functions/_ptyche"),
                             ("fish", "fish/vendor_completions.d/ptyche.fish")):
            self.assertEqual(self.ok(self.ptyche, "completion", shell), (share / place).read_text())
        for line in self.ok(self.ptyche, "--help").splitlines():
            if line.startswith("  ") and not line.startswith("  ptyche"):
                self.assertTrue((share / f"man/man1/ptyche-{line.split()[0]}.1").exists(), line)


class Wheel(InFolder):
    """In a virtual environment that has NumPy, without a network, compiler or PATH."""

    LARGEST = 130_000_000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if subprocess.run([sys.executable, "-c", "import numpy, pytest, venv, ensurepip"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            raise unittest.SkipTest("python3-numpy, python3-pytest and python3-venv are not all there")
        cls.wheel = cls.made("wheel")
        cls.python = cls.folder / "env" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", cls.folder / "env"],
                       check=True)
        subprocess.run([cls.python, "-m", "pip", "install", "--quiet", "--no-index", cls.wheel],
                       check=True, env={"HOME": str(cls.folder)}, cwd=cls.folder)

    def test_is_small_enough_and_says_that_it_runs_on_any_linux(self):
        self.assertLess(self.wheel.stat().st_size, self.LARGEST)
        self.assertRegex(self.wheel.name,
                         r"^ptyche-[0-9.]+-py3-none-manylinux_2_17_x86_64\.musllinux_1_1_x86_64\.whl$")

    def test_is_whole_and_has_the_types(self):
        self.ok(self.python, "-c", "import importlib.metadata as m; assert m.requires('ptyche') == ["
                "'numpy>=1.23']; assert all(f.locate().exists() for f in m.files('ptyche')); "
                "assert any(f.name == 'py.typed' for f in m.files('ptyche'))", cwd=self.folder)

    def test_brings_the_command(self):
        version = run(BUILD / "ptyche", "--version", env=None).stdout
        self.assertEqual(self.ok(self.folder / "env" / "bin" / "ptyche", "--version"), version)
        self.assertEqual(run(self.folder / "env" / "bin" / "ptyche", "nonsense").returncode, 2)

    def test_passes_the_tests_of_the_interface(self):
        done = run(self.python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow",
                   ROOT / "tests/python/test_interface.py", ROOT / "tests/python/test_jobs.py",
                   cwd=self.folder, env={"HOME": str(self.folder), "LD_LIBRARY_PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Deb(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deb = cls.made("deb")

    def test_has_everything_where_debian_looks_for_it(self):
        names = {line.split()[5] for line in self.ok("dpkg-deb", "-c", self.deb).splitlines()}
        for name in ("bin/ptyche", "lib/ptyche/bin/ptyche-program", "share/man/man1/ptyche.1.gz",
                     "share/bash-completion/completions/ptyche", "share/doc/ptyche/copyright",
                     "share/zsh/vendor-completions/_ptyche", "share/doc/ptyche/changelog.gz",
                     "share/fish/vendor_completions.d/ptyche.fish"):
            self.assertIn("./usr/" + name, names)

    def test_needs_nothing(self):
        self.assertEqual(self.ok("dpkg-deb", "-f", self.deb, "Depends", "Pre-Depends"), "")

    def test_runs_from_where_it_is_unpacked_and_has_the_sums_of_its_files(self):
        root = self.folder / "root"
        self.ok("dpkg-deb", "-R", self.deb, root, env={"PATH": "/usr/bin:/bin"})
        self.ok(root / "usr/bin/ptyche", "info", "--engines")
        self.ok("md5sum", "--quiet", "-c", "DEBIAN/md5sums", cwd=root)

    @unittest.skipUnless(shutil.which("lintian"), "no lintian here")
    def test_has_no_faults_that_lintian_finds(self):
        done = run("lintian", "--allow-root", "--fail-on", "error,warning", self.deb, env=None)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(shutil.which("rpmbuild"), "no rpmbuild here")
class Rpm(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rpm = cls.made("rpm")

    def test_needs_nothing_but_an_rpm_that_can_unpack_it(self):
        needed = self.ok("rpm", "-qp", "--requires", self.rpm, env={"PATH": "/usr/bin:/bin"}).split("\n")
        self.assertEqual([each for each in needed if each and not each.startswith("rpmlib(")], [])

    def test_runs_from_where_it_is_installed_and_is_removed_whole(self):
        root = self.folder / "root"
        how = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.ok("rpm", "--root", root, "-i", self.rpm, env=how)
        self.assertEqual(self.ok("rpm", "--root", root, "-V", "ptyche", env=how), "")
        self.ok(root / "usr/bin/ptyche", "info", "--engines")
        self.ok("rpm", "--root", root, "-e", "ptyche", env=how)
        self.assertEqual([path for path in (root / "usr").rglob("*ptyche*")], [])


class Install(InFolder):
    def test_leaves_a_whole_program_and_nothing_else_when_it_is_done_twice(self):
        prefix = self.folder / "a prefix"
        for _ in range(2):
            done = script("install.sh", BUILD, prefix)
            self.assertEqual(done.returncode, 0, done.stderr)
            (prefix / "lib/ptyche/of_an_older_version").touch()
        self.assertIn(f"as {prefix}/bin/ptyche", done.stdout)
        (prefix / "lib/ptyche/of_an_older_version").unlink()
        self.assertEqual({path.name for path in prefix.iterdir()}, {"bin", "lib", "share"})
        self.assertEqual({path.name for path in (prefix / "lib/ptyche").iterdir()},
                         {"bin", "lib", "fonts", "glibc", "source"})
        self.ok(prefix / "bin/ptyche", "info", "--engines")

    def test_leaves_the_old_program_where_the_new_one_cannot_be_laid_out(self):
        prefix = self.folder / "kept"
        old = prefix / "lib/ptyche/bin/ptyche"
        old.parent.mkdir(parents=True)
        old.write_text("old")
        done = script("install.sh", self.folder / "no build", prefix)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(old.read_text(), "old")
        self.assertEqual([path.name for path in prefix.iterdir()], ["lib"])


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        print("dpkg-deb is needed, skipped")
        sys.exit(77)
    BUILD = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
