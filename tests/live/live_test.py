"""`ptyche live` beside real senders: whatever the way of the frames, the image is that of `infer` of them.

usage: live_test.py PTYCHE [TEST...]
"""
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

try:
    import cbor2  # noqa: F401
    import h5py
    import numpy as np
    import zmq
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import senders  # noqa: E402

PTYCHE = os.path.abspath(sys.argv[1])
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def ptyche(*words):
    done = subprocess.run([PTYCHE, *map(str, words)], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done


def read(file, name):
    with h5py.File(file, "r") as found:
        return found[name][()]


def object_of(folder):
    return read(folder / "reconstruction.h5", "object")


class Live(unittest.TestCase):
    """A scan of 100 patterns, a probe, and a network that has seen it for a moment."""

    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory(prefix="ptyche live ")
        cls.folder = pathlib.Path(cls.held.name)
        cls.scan = cls.folder / "scan.cxi"
        ptyche("simulate", "-o", cls.scan, "--N", 32, "--frames", 100, "--probe-diameter", 12, "--step", 4)
        ptyche("train", cls.scan, "-o", cls.folder / "model", "--epochs", 1)
        ptyche("solve", cls.scan, "-o", cls.folder / "like", "--solver", "rpie:3", "--no-verdict", "--no-check")
        cls.counts = read(cls.scan, "entry_1/data_1/data").astype(np.uint16)
        xyz = read(cls.scan, "entry_1/data_1/translation")
        cls.xy = np.ascontiguousarray((xyz if xyz.shape[1] == 3 else xyz.T)[:, :2].astype(np.float64))
        with h5py.File(cls.scan) as file:
            units = file["entry_1/data_1/translation"].attrs.get("units", "m")
        cls.unit = "px" if "pixel" in str(units) else "m"

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    def command(self, name, *sources, more=()):
        return [PTYCHE, "live", *map(str, sources), "-o", str(self.folder / name), "--model", str(self.folder / "model"),
                "--like", str(self.folder / "like" / "reconstruction.h5"), "--at-end", "infer", "--threads", "1",
                "--background-solver", "false", "--overwrite", *map(str, more)]

    def run_live(self, name, *sources, more=(), beside=None):
        process = subprocess.Popen(self.command(name, *sources, more=more), text=True, env=ENVIRONMENT,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        helper = threading.Thread(target=beside or (lambda: None))
        helper.start()
        out, error = process.communicate(timeout=100)
        helper.join()
        self.assertEqual(process.returncode, 0, error)
        return json.loads((self.folder / name / "live.json").read_text()), out + error

    def expect_offline_image(self, name, frames=None):
        """The image is that of `infer` of the frames that came, which are those of the scan."""
        found = self.folder / name
        ptyche("infer", found / "scan.cxi", "-m", self.folder / "model", "-o", found / "offline", "--threads", 1)
        here, there = object_of(found), object_of(found / "offline")
        self.assertEqual(here.shape, there.shape)
        self.assertLess(np.abs(here - there).max(), 1e-6)
        kept = read(found / "scan.cxi", "entry_1/data_1/data")
        expected = self.counts if frames is None else self.counts[frames]
        np.testing.assert_array_equal(kept, expected)

    def send(self, messages, positions=()):
        """Two sockets that send; returns the ports and what sends."""
        context = zmq.Context.instance()
        pair = [context.socket(zmq.PUSH) for _ in range(2)]
        ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in pair]

        def work():
            for socket, list_of in zip(pair, (messages, positions)):
                for each in list_of:
                    socket.send_multipart(each if isinstance(each, list) else [each])
            for socket in pair:
                socket.close(linger=5000)
        return ports, work

    def positions(self):
        blocks = [senders.json_positions(first, self.xy[first:first + 10], self.unit) for first in range(0, 100, 10)]
        return blocks[::-1] + [senders.json_end("positions")]


class Quick(Live):
    def test_losses_disorder_repeats_and_late_positions_change_nothing_but_what_is_missing(self):
        found, said = self.run_live("faults", f"replay:{self.scan}?loss=0.05&shuffle=32&duplicates=0.1&late=0.1&seed=3")
        numbers = [int(n) for part in found["missing_frames"].split(", ") for n in
                   (range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1))]
        self.assertGreater(len(numbers), 0)
        self.assertGreater(found["repeated_frames"], 0)
        self.assertEqual(found["different_frames"], 0)
        self.assertEqual(found["joined"], 100 - len(numbers))
        self.assertIn(f"{len(numbers)} frames never came", said)
        self.expect_offline_image("faults", np.delete(np.arange(100), numbers))

    def test_eiger_stream_v2_and_positions_apart(self):
        order = np.random.default_rng(1).permutation(100)
        messages = [senders.eiger2_start(100)] + [
            senders.eiger2_image(int(i), self.counts[i], packing=["bslz4", "lz4", None][i % 3]) for i in order]
        ports, work = self.send(messages + [senders.eiger2_end()], self.positions())
        found, _ = self.run_live("eiger2", f"zmq+eiger2://127.0.0.1:{ports[0]}", f"zmq+json://127.0.0.1:{ports[1]}", beside=work)
        self.assertEqual((found["joined"], found["damaged_messages"]), (100, 0))
        self.expect_offline_image("eiger2")

    def test_the_page_stops_a_run_only_with_its_token(self):
        process = subprocess.Popen(self.command("page", f"replay:{self.scan}?rate=5", more=["--view", "0", "--token", "so-secret"]),
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        address = re.match(r"(http://127.0.0.1:\d+/) ", process.stdout.readline()).group(1)

        def post(token):
            request = urllib.request.Request(address + "api/stop", data=b"", headers={"X-Ptyche-Token": token})
            try:
                return urllib.request.urlopen(request, timeout=5).status
            except urllib.error.HTTPError as error:
                return error.code
        self.assertEqual(post("no"), 403)
        time.sleep(1.5)
        self.assertIsNone(process.poll())
        self.assertEqual(json.load(urllib.request.urlopen(address + "api/state"))["state"], "running")
        self.assertEqual(post("so-secret"), 200)
        self.assertNotIn("so-secret", pathlib.Path(f"/proc/{process.pid}/cmdline").read_text(), "who lists processes sees it not")
        process.communicate(timeout=60)
        found = json.loads((self.folder / "page" / "live.json").read_text())
        self.assertEqual(found["ended_by"], "viewer")
        for file in (self.folder / "page").iterdir():
            self.assertNotIn(b"so-secret", file.read_bytes(), file)
        self.assertTrue(0 < found["joined"] < 100)

    def stopped(self, name, url):
        """A run that a rule ends, and who is told of it: live.json, and what was said."""
        found, said = self.run_live(name, f"replay:{self.scan}?rate=20",
                                    more=["--stop-when", "deviance=1e6", "--stop-notify", url, "--at-end", "none"])
        self.assertEqual(found["ended_by"], "deviance=1e+06")
        return found, said

    def expect_notice(self, notice, found, name):
        self.assertEqual((notice["htype"], notice["why"]), ("ptyche-stop-1.0", "deviance=1e+06"))
        self.assertTrue(0 < notice["frames"] <= found["joined"])
        self.assertTrue(0 < notice["frames"] <= notice["index"] + 1 <= 100)
        self.assertLessEqual(notice["scores"]["network_deviance"], 1e6)
        self.assertEqual(notice["folder"], str(self.folder / name))
        self.assertEqual(found["stop_notice"]["told"], True)

    def test_a_control_system_hears_by_http_that_it_may_stop(self):
        heard = []

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                heard.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *words):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found, _ = self.stopped("http", f"http://localhost:{server.server_port}/stop?scan=1")
        server.shutdown()
        server.server_close()
        self.assertEqual([path for path, _ in heard], ["/stop?scan=1"])
        self.expect_notice(heard[0][1], found, "http")

    def test_a_control_system_hears_by_zeromq_that_it_may_stop(self):
        receiver = zmq.Context.instance().socket(zmq.PULL)
        port = receiver.bind_to_random_port("tcp://127.0.0.1")
        found, _ = self.stopped("zmq", f"zmq+push://127.0.0.1:{port}")
        self.assertTrue(receiver.poll(1000))
        self.expect_notice(json.loads(receiver.recv()), found, "zmq")
        self.assertFalse(receiver.poll(100), "it is told once")
        receiver.close(linger=0)

    def test_a_control_system_that_does_not_answer_holds_up_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            found, said = self.stopped("silent", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        self.assertEqual(said.count("--stop-notify"), 1, said)
        self.assertEqual(found["stop_notice"]["told"], False)
        self.assertGreaterEqual(found["stop_notice"]["failures"], 1)
        self.assertTrue((self.folder / "silent" / "reconstruction.h5").exists())

    def test_ctrl_c_keeps_all_that_came(self):
        process = subprocess.Popen(self.command("stopped", f"replay:{self.scan}?rate=20"), text=True, env=ENVIRONMENT,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        joined = json.loads((self.folder / "stopped" / "live.json").read_text())["joined"]
        self.assertTrue(5 < joined < 100)
        self.assertEqual(len(read(self.folder / "stopped" / "scan.cxi", "entry_1/data_1/data")), joined)
        self.assertTrue((self.folder / "stopped" / "reconstruction.h5").exists())


class Slow(Live):
    def test_eiger_stream_v1_json_frames_and_a_restarted_sender(self):
        first = [senders.eiger1_start(100)] + [senders.eiger1_image(i, self.counts[i]) for i in range(60)]
        again = [senders.eiger1_start(100)] + [senders.eiger1_image(i, self.counts[i]) for i in range(40, 100)]
        ports, work = self.send(first + again + [senders.eiger1_end()], self.positions())
        found, _ = self.run_live("eiger1", f"zmq+eiger1://127.0.0.1:{ports[0]}", f"zmq+json://127.0.0.1:{ports[1]}", beside=work)
        self.assertEqual((found["joined"], found["repeated_frames"], found["different_frames"]), (100, 20, 0))
        self.expect_offline_image("eiger1")
        frames = [senders.json_image(i, self.counts[i]) for i in range(100)] + [senders.json_end()]
        ports, work = self.send(self.positions() + frames)
        found, _ = self.run_live("json", f"zmq+json://127.0.0.1:{ports[0]}", beside=work)
        self.expect_offline_image("json")

    def test_another_series_ends_the_run_and_is_not_mixed_in(self):
        messages = [senders.eiger2_start(100)] + [senders.eiger2_image(i, self.counts[i]) for i in range(50)]
        messages += [senders.eiger2_start(100, series=2)] + [senders.eiger2_image(i, self.counts[99 - i], series=2) for i in range(9)]
        ports, work = self.send(messages, self.positions())
        found, said = self.run_live("aborted", f"zmq+eiger2://127.0.0.1:{ports[0]}", f"zmq+json://127.0.0.1:{ports[1]}",
                                    beside=work, more=["--patience", 1])
        self.assertEqual((found["joined"], found["other_series"]), (50, 9))
        self.assertIn("series 2 began while series 1", said)
        self.expect_offline_image("aborted", np.arange(50))

    def test_a_series_that_goes_on_after_the_one_that_is_taken_keeps_nobody_waiting(self):
        socket, later = zmq.Context.instance().socket(zmq.PUSH), 400
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        ports, send_positions = self.send(self.positions())

        def work():
            send_positions()
            for message in [senders.eiger2_start(100)] + [senders.eiger2_image(i, self.counts[i]) for i in range(50)]:
                socket.send_multipart([message])
            try:
                socket.send_multipart([senders.eiger2_start(later, series=2)])
                for i in range(later):
                    time.sleep(.05)
                    socket.send_multipart([senders.eiger2_image(i, self.counts[0], series=2)], zmq.NOBLOCK)
            except zmq.Again:  # nobody listens any more
                pass
            socket.close(linger=0)
        found, _ = self.run_live("goes on", f"zmq+eiger2://127.0.0.1:{port}", f"zmq+json://127.0.0.1:{ports[0]}",
                                 beside=work, more=["--patience", 1])
        self.assertEqual(found["joined"], 50)
        self.assertTrue(0 < found["other_series"] < later, "it ended while the other one went on")

    def test_a_record_gives_the_same_bits_and_goes_on_after_kill_9(self):
        record = self.folder / "record.h5"
        source = f"replay:{self.scan}?rate=25&shuffle=8&loss=0.02"
        process = subprocess.Popen(self.command("killed", source, more=["--record", record]), env=ENVIRONMENT,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3.5)
        process.kill()
        process.wait()
        found, _ = self.run_live("killed", source, more=["--record", record, "--resume"], )
        self.assertEqual(found["joined"], 100 - (found["missing_frames"].count(",") + 1 if found["missing_frames"] else 0))
        self.assertGreater(found["repeated_frames"], 10, "the killed run's frames come first")
        played, _ = self.run_live("played", f"replay:{record}")
        self.assertEqual(played["joined"], found["joined"])
        self.assertEqual(object_of(self.folder / "killed").tobytes(), object_of(self.folder / "played").tobytes())

    def growing(self, name, sources, write):
        found, _ = self.run_live(name, *sources, beside=write, more=["--patience", 3])
        self.assertEqual(found["joined"], 100, found)
        self.expect_offline_image(name)

    def test_a_file_that_is_written_to_while_it_is_read(self):
        file = self.folder / "swmr.h5"
        with h5py.File(file, "w", libver="latest") as made:
            made.create_dataset("frames", (0, 32, 32), "u2", maxshape=(None, 32, 32), chunks=(1, 32, 32))
            made.create_dataset("xy", (0, 2), "f8", maxshape=(None, 2), chunks=(10, 2))

        def write():
            with h5py.File(file, "a", libver="latest") as made:
                made.swmr_mode = True
                for i in range(100):
                    for name, value in (("frames", self.counts[i]), ("xy", self.xy[i])):
                        made[name].resize(i + 1, axis=0)
                        made[name][i] = value
                        made[name].flush()
                    time.sleep(0.01)
        self.growing("swmr", [f"{file}?patterns=frames&positions=xy&unit={self.unit}&quiet=3"], write)

    def test_an_eiger_master_whose_data_files_appear_and_a_table_that_grows(self):
        master, table = self.folder / "run_master.h5", self.folder / "positions.csv"
        with h5py.File(master, "w") as made:
            for k in range(1, 5):
                made.require_group("entry/data")[f"data_{k:06d}"] = h5py.ExternalLink(f"run_data_{k:06d}.h5", "entry/data/data")
        table.write_text("x, y\n")

        def write():
            with open(table, "a") as lines:
                for k in range(4):
                    part = self.folder / "part.h5"
                    with h5py.File(part, "w") as made:
                        made["entry/data/data"] = self.counts[25 * k:25 * k + 25]
                    os.rename(part, self.folder / f"run_data_{k + 1:06d}.h5")
                    for x, y in self.xy[25 * k:25 * k + 25]:
                        lines.write(f"{x!r}, {y!r}\n".replace("np.float64(", "").replace(")", ""))
                    lines.flush()
                    time.sleep(0.2)
        self.growing("master", [f"{master}?quiet=3", f"{table}?unit={self.unit}&quiet=3"], write)

    def test_a_folder_of_tiff_files(self):
        folder = self.folder / "tiffs"
        folder.mkdir()

        def write():
            for i in np.random.default_rng(2).permutation(100):
                (folder / "half").write_bytes(senders.tiff(self.counts[i]))
                os.rename(folder / "half", folder / f"image_{i:05d}.tif")
        table = self.folder / "all.csv"
        table.write_text("".join(f"{i},{float(x)!r},{float(y)!r}\n" for i, (x, y) in enumerate(self.xy)))
        self.growing("tiff", [f"{folder}?quiet=3", f"{table}?unit={self.unit}&quiet=3"], write)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
