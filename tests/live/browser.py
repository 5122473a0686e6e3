"""A real browser without a window, driven through its debugging pipe: no package is needed for it."""
import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import time


def find_browser():
    return next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)


class Browser:
    """One page. `ask` sends a command of the DevTools protocol and returns its result."""

    def __init__(self, folder, width=1280, height=1000):
        (here_out, there_in), (there_out, here_in) = os.pipe(), os.pipe()
        commands, answers = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (here_out, here_in))
        self.numbers, self.out = itertools.count(1), os.fdopen(there_in, "wb")
        self.back = os.fdopen(there_out, "rb")

        def descriptors():
            os.dup2(commands, 3)
            os.dup2(answers, 4)
        self.process = subprocess.Popen(
            [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/profile", f"--window-size={width},{height}", "--touch-events=enabled", "about:blank"],
            close_fds=False, preexec_fn=descriptors, env={**os.environ, "HOME": str(folder)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (here_out, here_in, commands, answers):
            os.close(fd)
        self.session, self.rest = None, b""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.size(width, height)

    def ask(self, method, **words):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        self.out.flush()
        while True:
            answer = json.loads(self.message())
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.back.fileno(), 1 << 16)
            assert more, "the browser has ended"
            self.rest += more
        first, self.rest = self.rest.split(b"\0", 1)
        return first

    def size(self, width, height, seconds=30):
        """Asked for until the page has it: on a busy machine Chromium may lose one that comes while it draws."""
        end = time.time() + seconds
        while True:
            self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
            time.sleep(0.3)
            if self.value(f"innerWidth === {width}"):
                return
            assert time.time() < end, f"the page does not become {width} px wide"

    def open(self, url):
        self.ask("Page.navigate", url=url)

    def value(self, expression):
        """Of JavaScript in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, (expression, found)
        return found["result"].get("value")

    def wait_for(self, expression, seconds=30):
        end = time.time() + seconds
        while not self.value(expression):
            assert time.time() < end, expression
            time.sleep(0.1)

    def mouse(self, kind, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def drag(self, start, end):
        self.mouse("Pressed", *start)
        self.mouse("Moved", *end)
        self.mouse("Released", *end)

    def swipe(self, start, end):
        for kind, points in (("Start", [start]), ("Move", [end]), ("End", [])):
            self.ask("Input.dispatchTouchEvent", type="touch" + kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def key(self, name):
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def screenshot(self, file):
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        self.session = None
        try:
            self.ask("Browser.close")
        except (AssertionError, OSError):
            pass
        self.process.wait(timeout=20)
        self.out.close()
        self.back.close()
