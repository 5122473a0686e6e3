"""`ptyche live pva://...` beside a real server of EPICS PVs (pva_sender): the image is that of `infer` of the
frames, whatever joins the positions to them.

usage: pva_test.py PTYCHE PVA_SENDER [TEST...]
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import live_test  # noqa: E402
import senders  # noqa: E402

SENDER = sys.argv[2]
PLUGIN = pathlib.Path(sys.argv[1]).parent / "libptyche_pva.so"
if not os.path.exists(SENDER) or not PLUGIN.exists():
    print("skipped: the plug-in for pva:// is not built (./run build pva)")
    sys.exit(77)

import numpy as np  # noqa: E402

BEGIN = 1_800_000_000.0  # s since 1970, when the first frame is taken
EVERY = 0.01  # s between two frames


class Server:
    """The PVs, held as `kinds` says; those who ask find them by the environment that they are given here."""

    def __init__(self, **kinds):
        self.process = subprocess.Popen([SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        live_test.ENVIRONMENT.update(json.loads(self.process.stdout.readline()))
        for pv, kind in kinds.items():
            self.step(pv=pv, holds=kind)

    def step(self, blob=b"", **step):
        self.process.stdin.write(json.dumps(step).encode() + b"\n" + blob)
        self.process.stdin.flush()

    def image(self, index, image, blob=None, **more):
        blob = image.tobytes() if blob is None else blob
        self.step(blob, **{"pv": "IMAGE", "id": index, "sizes": image.shape[::-1], "type": image.dtype.name,
                           "bytes": len(blob), "time": BEGIN + EVERY * index, **more})

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Pva(live_test.Live):
    def watched(self, name, server, query, work, more=()):
        """A run that `work` sends to once it listens."""
        def beside():
            server.step(pv="IMAGE", wait=1)
            work()
            server.end()
        return self.run_live(name, f"pva://IMAGE?{query}", beside=beside, more=more)

    def samples_between(self):
        """Times and places of both axes every third of a frame's time, so that those of the frames lie on lines."""
        at = np.arange(-1, 301) / 3
        return BEGIN + EVERY * at, np.stack([np.interp(at, np.arange(100), axis) for axis in self.xy.T])

    def expect_positions(self, name, frames=slice(None)):
        kept = live_test.read(self.folder / name / "scan.cxi", "entry_1/data_1/translation")
        with live_test.h5py.File(self.scan) as file:
            given = file["entry_1/data_1/translation"][()]
        np.testing.assert_allclose(np.diff(kept, axis=0), np.diff(given[frames], axis=0), rtol=0, atol=1e-4 * np.ptp(given))

    def test_positions_are_attributes_of_the_image_and_gaps_of_its_numbers_are_frames_that_never_came(self):
        server = Server(IMAGE="image")
        came = np.delete(np.arange(100), [0, 17, 18, 63])

        def work():
            for i in np.concatenate([came[40:], came[:50]]):
                if i == 5:
                    server.image(99, self.counts[3], attributes={"X": 0, "Y": 0})  # repeated, and other counts
                x, y = map(float, self.xy[i])
                server.image(int(i), self.counts[i], attributes={"Y": y, "Dark": 7, "X": x}, time=0)
        found, said = self.watched("attributes", server, f"x=X&y=Y&unit={self.unit}&frames=100&quiet=2", work,
                                   more=["--record", self.folder / "record.h5"])
        self.assertEqual((found["joined"], found["missing_frames"]), (96, "0, 17-18, 63"))
        self.assertEqual((found["repeated_frames"], found["different_frames"]), (11, 1))
        self.expect_offline_image("attributes", came)
        self.expect_positions("attributes", came)
        self.run_live("played", f"replay:{self.folder / 'record.h5'}")
        self.assertEqual(*(live_test.object_of(self.folder / name).tobytes() for name in ("attributes", "played")))

    def test_positions_by_time_come_from_two_other_pvs_before_and_after_the_frames(self):
        server = Server(IMAGE="image", X="timed", Y="timed")
        times, (x, y) = self.samples_between()

        def work():
            for i in range(100):
                server.image(i, self.counts[i])
                if i == 40:
                    server.step(pv="Y", values=list(y[:200]), times=list(times[:200]))
            for first in range(0, 302, 50):
                server.step(pv="X", values=list(x[first:first + 50]), times=list(times[first:first + 50]))
            server.step(pv="Y", values=list(y[200:]), times=list(times[200:]))
        found, _ = self.watched("times", server, f"x-pv=X&y-pv=Y&unit={self.unit}&frames=100&quiet=5", work)
        self.assertEqual((found["joined"], found["damaged_messages"]), (100, 0), found)
        self.expect_offline_image("times")
        self.expect_positions("times")

    def test_an_axis_that_says_when_it_has_moved_is_where_it_was_before_the_frame(self):
        server = Server(IMAGE="image", X="number", Y="number")

        def work():
            for i in range(100):
                for pv, value in zip("XY", self.xy[i]):
                    server.step(pv=pv, value=float(value), time=BEGIN + EVERY * (i - 0.5))
            for i in range(100):
                server.image(i, self.counts[i])
        found, _ = self.watched("before", server, f"x-pv=X&y-pv=Y&match=before&unit={self.unit}&quiet=2", work)
        self.assertEqual((found["joined"], found["frames_without_position"]), (100, ""))
        self.expect_offline_image("before")
        self.expect_positions("before")

    def test_positions_by_index_and_every_packing_of_area_detector(self):
        server = Server(IMAGE="image", X="numbers", Y="numbers")
        packings = [("bslz4", lambda image: senders.bslz4(image)[12:]), ("bslz4", senders.bslz4),
                    ("lz4", lambda image: senders.lz4_block(image.tobytes())), ("lz4", lambda image: senders.hdf5_lz4(image.tobytes())),
                    ("blosc", senders.blosc)]

        def work():
            for pv, axis in zip("XY", self.xy.T):
                server.step(pv=pv, values=list(axis))
            if senders.blosc(self.counts[0]) is None:
                packings.pop()
            for i in range(100):
                codec, pack = packings[i % len(packings)]
                blob = pack(self.counts[i])
                server.image(i + 1, self.counts[i], blob + b"\0\0", type="uint8", codec=codec, parameter=6,
                             unpacked=self.counts[i].nbytes, packed=len(blob))
        found, _ = self.watched("index", server, f"x-pv=X&y-pv=Y&match=index&unit={self.unit}&first=1&frames=100", work)
        self.assertEqual((found["joined"], found["damaged_messages"]), (100, 0), found)
        self.expect_offline_image("index")

    def test_hostile_structures_are_counted_and_the_rest_is_right(self):
        server = Server(IMAGE="image", X="text", Y="numbers")
        one = np.ones((2, 2), np.uint16)
        bad = [dict(sizes=[-2, 2]), dict(sizes=[2**31 - 1, 2**31 - 1]), dict(sizes=[32768, 32768]), dict(sizes=[4]),
               dict(sizes=[2, 2, 3]), dict(sizes=[3, 3]), dict(sizes=[]), dict(codec="jpeg", parameter=6),
               dict(codec="lz4", parameter=6, unpacked=8), dict(codec="bslz4", parameter=77),
               dict(codec="blosc", parameter=6, packed=-5), dict(type="uint64", blob=b"\0" * 32), dict(id=-7)]

        def work():
            server.step(pv="Y", values=[1.0])
            for step in bad:
                server.image(500, one, **{"time": BEGIN - 1, **step})
            for i in range(100):
                server.image(i, self.counts[i])
                if i == 50:  # a number from nowhere, at the time that it would have
                    for step in bad:
                        server.image(2**31 - 1, one, **{"time": BEGIN + EVERY * 50.5, **step})
            for step in bad:
                server.image(501, one, **step)
        server_of_positions = senders.json_positions(0, self.xy, self.unit)
        ports, send = self.send([server_of_positions, senders.json_end("positions")])

        def beside():
            server.step(pv="IMAGE", wait=1)
            send()
            work()
            server.end()
        found, said = self.run_live("hostile", "pva://IMAGE?x-pv=X&y-pv=Y&quiet=2", f"zmq+json://127.0.0.1:{ports[0]}",
                                    beside=beside, more=["--patience", 1])
        self.assertEqual(found["joined"], 100, found)
        self.assertEqual(found["other_series"], 0, "a damaged image does not say that another series has begun")
        self.assertGreaterEqual(found["damaged_messages"], 3 * len(bad) - 3, said)
        self.expect_offline_image("hostile")

    def test_a_counter_that_is_set_back_begins_another_series(self):
        server = Server(IMAGE="image")

        def work():
            for i in range(60):
                server.image(i, self.counts[i], attributes={"X": self.xy[i][0], "Y": self.xy[i][1]})
            for i in range(20):
                server.image(i, self.counts[99 - i], time=BEGIN + 100 + i, attributes={"X": 0, "Y": 0})
        found, said = self.watched("series", server, f"x=X&y=Y&unit={self.unit}&quiet=2", work)
        self.assertEqual((found["joined"], found["other_series"], found["repeated_frames"]), (60, 20, 0))
        self.assertIn("series 1 began while series 0", said)
        self.expect_offline_image("series", np.arange(60))

    def test_updates_that_were_lost_are_listed(self):
        server = Server(IMAGE="image")

        def work():
            for i in range(100):
                server.image(i, self.counts[i], squash=i < 99, attributes={"X": self.xy[i][0], "Y": self.xy[i][1]})
        found, _ = self.watched("overrun", server, f"x=X&y=Y&unit={self.unit}&queue=2&frames=100&quiet=2", work)
        missing = [n for part in filter(None, found["missing_frames"].split(", "))
                   for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]
        self.assertEqual(found["joined"] + len(missing), 100)
        self.assertNotIn(99, missing, "the newest comes in any case")
        self.expect_offline_image("overrun", np.delete(np.arange(100), missing))

    def test_without_the_plug_in_one_line_says_what_to_do(self):
        environment = {**live_test.ENVIRONMENT, "PTYCHE_PVA_PLUGIN": str(self.folder / "none.so")}
        done = subprocess.run(self.command("none", "pva://IMAGE"), capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("./run build pva makes it", done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
