"""The page of `ptyche view` and `ptyche live` in a real browser, where one is installed.

usage: page_test.py PTYCHE [TEST...]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser  # noqa: E402

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not browser.find_browser():
    print("skipped: no chromium in PATH")
    sys.exit(77)

PTYCHE = os.path.abspath(sys.argv[1])
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
PICTURES = os.environ.get("PTYCHE_PAGE_PICTURES")  # a folder to keep screenshots in, to look at


def ptyche(*words):
    done = subprocess.run([PTYCHE, *map(str, words)], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done


class Page(unittest.TestCase):
    """A result, and the same one moved, turned in phase, ramped, and with a mark in its middle."""

    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory(prefix="ptyche page ")
        cls.folder = pathlib.Path(cls.held.name)
        cls.scan = cls.folder / "scan.cxi"
        ptyche("simulate", "-o", cls.scan, "--N", 32, "--frames", 144, "--probe-diameter", 12, "--step", 4)
        ptyche("solve", cls.scan, "-o", cls.folder / "first", "--solver", "rpie:20", "--no-verdict", "--no-check")
        cls.second = cls.folder / "second.h5"
        shutil.copy(cls.folder / "first" / "reconstruction.h5", cls.second)
        with h5py.File(cls.second, "a") as file:
            one = file["object"][()]
            *_, rows, cols = one.shape
            row, col = np.mgrid[:rows, :cols]
            cls.mark = (rows // 2 + 4, cols // 2 + 8)
            moved = one * np.exp(1j * (1.2 + 0.01 * row - 0.02 * col))
            moved[..., cls.mark[0]:cls.mark[0] + 4, cls.mark[1]:cls.mark[1] + 4] *= 2
            file["object"][...] = np.roll(moved, (3, -2), (-2, -1))
        cls.browser = browser.Browser(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.held.cleanup()

    def serve(self, *words):
        process = subprocess.Popen([PTYCHE, *map(str, words), "--view", "0"], text=True, env=ENVIRONMENT,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        line = process.stdout.readline()
        found = re.match(r"(http://127.0.0.1:\d+/) ", line)
        self.assertTrue(found, line)
        self.browser.open(found.group(1))
        self.browser.wait_for("typeof sides !== 'undefined' && sides.length > 0 && piecesOf(sides[0]).length > 0")

    def box(self, id):
        return self.browser.value(f"(b => [b.left, b.top, b.width, b.height])(document.getElementById('{id}').getBoundingClientRect())")

    def divided_at(self):
        return int(self.browser.value("divider.getAttribute('aria-valuenow')"))

    def colour_at(self, row, col):
        """What the canvas shows there, once all is drawn."""
        return self.browser.value(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done([...pen.getImageData("
            f"({col} + .5 - left) * zoom | 0, ({row} + .5 - top_) * zoom | 0, 1, 1).data]))))")

    def picture(self, name):
        if PICTURES:
            self.browser.screenshot(pathlib.Path(PICTURES) / f"{name}.png")

    def two(self):
        self.browser.size(1280, 1000)
        self.serve("view", self.folder / "first", self.second)
        self.browser.wait_for("sides.length === 2 && sides.every(each => piecesOf(each).length > 0)")

    def test_a_second_result_lies_on_the_first_at_the_same_levels(self):
        self.two()
        value = "(share => { divide = share; return valueAt(%d, %d); })(%d)"
        row, col = self.mark[0] - 12, self.mark[1] - 12
        left, right = (self.browser.value(value % (row, col, share)) for share in (1, 0))
        self.assertAlmostEqual(left, right, delta=0.02)
        levels = [self.browser.value(f"(divideAt({share}), draw(), levels().join())") for share in (0, .5, 1)]
        self.assertEqual(len(set(levels)), 1, levels)

    def test_the_divider_shows_one_on_its_left_and_the_other_on_its_right(self):
        self.two()
        self.browser.value("(what => { what.value = 'amplitude'; what.dispatchEvent(new Event('input')); })(document.getElementById('what'))")
        self.browser.wait_for("sides.every(each => tiles.get(keyOf(each, 0, 0, 0)))")
        row, col = self.mark[0] + 1, self.mark[1] + 1
        self.browser.value("divideAt(1)")
        first = self.colour_at(row, col)
        self.browser.value("divideAt(0)")
        second = self.colour_at(row, col)
        self.assertGreater(abs(first[0] - second[0]), 50, "the mark is in the second one alone")
        self.browser.value("divideAt(.5)")
        self.picture("two")

    def test_the_divider_moves_by_mouse_keys_and_touch(self):
        self.two()
        x, y, width, height = self.box("image")
        middle = lambda share: (x + share * width, y + height / 3)  # noqa: E731
        self.assertEqual(self.divided_at(), 50)
        before = self.browser.value("[left, top_].join()")
        self.browser.drag(middle(.5), middle(.25))
        self.assertEqual(self.divided_at(), 25)
        for _ in range(3):
            self.browser.key("ArrowRight")
        self.assertEqual(self.divided_at(), 28)
        self.browser.key("End")
        self.assertEqual(self.divided_at(), 100)
        self.browser.key("PageDown")
        self.assertEqual(self.divided_at(), 90)
        self.browser.swipe(middle(.9), middle(.4))
        self.assertEqual(self.divided_at(), 40)
        self.assertEqual(self.browser.value("[left, top_].join()"), before, "the image stays where it is")

    def test_a_phone_shows_all_of_it_and_one_image_again_where_compare_is_pressed(self):
        self.two()
        for width in (390, 1280):
            self.browser.size(width, 900)
            self.browser.wait_for(f"document.documentElement.scrollWidth <= {width}")
            self.picture(f"width{width}")
        self.assertEqual(self.browser.value("document.getElementById('leftname').textContent"), str(self.folder / "first" / "reconstruction.h5"))
        self.browser.value("document.getElementById('compare').click()")
        self.browser.wait_for("sides.length === 1 && divider.hidden")

    def test_trust_is_shown_where_a_result_has_it_with_the_files_values(self):
        trusted = self.folder / "trusted.h5"
        shutil.copy(self.folder / "first" / "reconstruction.h5", trusted)
        with h5py.File(trusted, "a") as file:
            *_, rows, cols = file["object"].shape
            apart = np.linspace(0, .5, (rows - 7) * (cols - 9), dtype=np.float32).reshape(rows - 7, cols - 9)
            file["ptyche/verdict_map"] = apart
            file["ptyche/verdict_map"].attrs.update(first_row=3, first_col=5)
            file["ptyche/scores"].attrs.update(verdict="good", verdict_reasons="")
        self.serve("view", trusted)
        self.browser.value("(what => { what.value = 'trust'; what.dispatchEvent(new Event('input')); })(document.getElementById('what'))")
        self.browser.wait_for("tiles.get(keyOf(sides[0], 0, 0, 0))")
        self.assertAlmostEqual(self.browser.value("valueAt(13, 25)"), float(apart[10, 20]), delta=1e-6)
        self.browser.value("say(13, 25)")
        self.assertIn("of the contrast", self.browser.value("document.getElementById('cursor').textContent"))
        self.browser.value("say(0, 0)")
        self.assertIn("not known", self.browser.value("document.getElementById('cursor').textContent"))
        self.assertEqual(self.colour_at(0, 0)[3], 0, "nothing is drawn where nothing is known")
        self.picture("trust")

    def test_one_result_has_nothing_to_compare_with(self):
        self.serve("view", self.folder / "first")
        self.assertTrue(self.browser.value("document.getElementById('compare').disabled"))
        self.assertTrue(self.browser.value("divider.hidden"))
        self.assertTrue(self.browser.value("document.querySelector('[value=trust]').disabled"), "it was not judged")

    def test_a_run_shows_the_networks_and_the_solvers_image_side_by_side(self):
        self.serve("live", f"replay:{self.scan}?rate=30", "--like", self.folder / "first" / "reconstruction.h5",
                   "-o", self.folder / "live", "--overwrite", "--at-end", "none")
        self.browser.wait_for("!document.getElementById('compare').disabled")
        self.browser.value("document.getElementById('compare').click()")
        self.browser.wait_for("sides.length === 2 && sides.every(each => piecesOf(each).length > 0)")
        self.assertEqual(self.browser.value("sides.map(each => each.info.by).join()"), "single patterns,solver")
        self.picture("live")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
