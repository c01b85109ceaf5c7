"""A guest of QEMU as a host: it boots, and runs scripts that it is given. All traffic stays on the
loopback of this machine."""

import re
import socket
import subprocess
import time

from imitation import free_port

MODE = "/sys/kernel/mm/transparent_hugepage/enabled"
# Emulated, beside others, and on a busy machine.
PATIENCE = 300


class Guest:
    """One host. `arm` is that of the plan that is tried, `usual` its setting before anything."""

    def __init__(self, unit, kernel, words, folder):
        self.unit, self.kernel, self.arm, self.usual = unit, kernel, None, None
        self.machine = kernel.split()[0]
        self.shell, self.metrics = free_port(), free_port()
        ports = f"hostfwd=tcp:127.0.0.1:{self.shell}-:22,hostfwd=tcp:127.0.0.1:{self.metrics}-:9974"
        network = ["-netdev", f"user,id=net,restrict=on,{ports}", "-device", "virtio-net-pci,netdev=net,romfile="]
        self.console = folder / f"{unit}.console"
        with self.console.open("w") as console:
            self.qemu = subprocess.Popen(
                [*words, *network], stdin=subprocess.DEVNULL, stdout=console, stderr=console)

    def end(self):
        self.qemu.kill()
        self.qemu.wait()

    def came_up(self):
        self.say("true")
        self.usual = self.mode()

    def raw(self, script):
        """What a script prints, as bytes. A script is tried again until the guest has read it."""
        sent, until = f"(\n{script}\n) </dev/null 2>&1; echo \"ended $?\"\n".encode(), time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert self.qemu.poll() is None, f"{self.unit} has ended, see {self.console}"
            said = self.asked(sent)
            if said is not None:
                text, code = re.fullmatch(rb"(.*)ended (\d+)\n", said, re.S).groups()
                assert code == b"0", f"{self.unit}, {self.kernel}: {script}\n{text.decode()}ended {code.decode()}"
                return text
            time.sleep(0.3)
        raise AssertionError(f"{self.unit} does not answer, see {self.console}")

    def asked(self, sent):
        """One connection; nothing where nobody listened."""
        try:
            with socket.create_connection(("127.0.0.1", self.shell), timeout=PATIENCE) as link:
                link.sendall(sent)
                link.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: link.recv(65536), b"")) or None
        except OSError:
            return None

    def say(self, script):
        return self.raw(script).decode()

    def mode(self):
        return re.search(r"\[(\w+)\]", self.say(f"cat {MODE}"))[1]

    def clock(self):
        return int(self.say("date +%s"))

    def write(self, path, text):
        self.say(f"mkdir -p $(dirname {path})\ncat > {path}.new <<'EOF'\n{text}EOF\nmv {path}.new {path}")

    def becomes(self, what, read, wanted, patience=PATIENCE):
        """Waits until `read` gives what is wanted."""
        until = time.monotonic() + patience
        while True:
            found = read()
            if found == wanted:
                return
            assert time.monotonic() < until, (
                f"{self.unit}, {self.kernel}: {what} is {found}, not {wanted}\n{self.say('cat /tmp/*.log')}")
            time.sleep(0.5)
