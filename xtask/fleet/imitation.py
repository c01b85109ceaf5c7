"""An imitation of S3 (moto) on the loopback, and the command of contrib/systemd that sends rows to it."""

import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

SERVICE = pathlib.Path("contrib/systemd/hugewise-fleet-rows.service")
# A call that waits a minute is right on a host, and too long here.
IMPATIENT = ["--contimeout", "1s", "--timeout", "1s", "--retries", "1", "--low-level-retries", "1"]


def skip(name, reason):
    print(f"SKIP {name}: {reason}")
    sys.exit(0)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def lacking(folder):
    """Why there can be no imitation; nothing where it can."""
    if not shutil.which("rclone"):
        return "there is no rclone (apt install rclone)"
    python = folder.parent / "python"
    if not (python / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", python], check=True)
    log = (folder / "moto.log").open("w")
    command = [python / "bin/pip", "-q", "--disable-pip-version-check", "install", "moto[server]"]
    if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
        return f"moto is not installed, see {log.name}"
    return None


class Store:
    """The imitation as a process, with one bucket for rows."""

    def __init__(self, folder):
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        config = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": address, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}
        # What a service has, and /etc/hugewise/store.env with the address of the imitation.
        self.variables = {
            "PATH": os.environ["PATH"],
            **{f"RCLONE_CONFIG_STORE_{name}": value for name, value in config.items()},
            "HUGEWISE_STORE": "store:rows",
        }
        program = folder.parent / "python/bin/moto_server"
        with (folder / "server.log").open("w") as log:
            self.process = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
        wait_until_it_answers(address)
        self.rclone("mkdir", "store:rows")

    def rclone(self, *words):
        subprocess.run(["rclone", "--config", "", *words], env=self.variables, check=True)

    def move(self, rows):
        """Calls the command of the unit file once, for another folder."""
        start, = re.findall(r"^ExecStart=(.*)$", SERVICE.read_text(), re.M)
        words = [word.replace("${HUGEWISE_STORE}", "store:rows") for word in shlex.split(start)]
        assert words[0] == "/usr/bin/rclone" and words[-2] == "/var/lib/hugewise/fleet", words
        command = ["rclone", *words[1:-2], str(rows), words[-1], *IMPATIENT]
        return subprocess.run(command, env=self.variables, capture_output=True, text=True)


def wait_until_it_answers(address):
    for _ in range(100):
        try:
            return urllib.request.urlopen(address, timeout=1).close()
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{address} does not answer")
