"""containerd on its own, with the Node Resource Interface: its folder, its processes, one image, and no network."""

import hashlib
import io
import itertools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import tarfile
import time

CONTAINERD, CRI_TOOLS = "2.2.9", "1.34.0"
MODULES = {
    "containerd": f"github.com/containerd/containerd/v2/cmd/containerd@v{CONTAINERD}",
    "containerd-shim-runc-v2": f"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2@v{CONTAINERD}",
    "ctr": f"github.com/containerd/containerd/v2/cmd/ctr@v{CONTAINERD}",
    "crictl": f"sigs.k8s.io/cri-tools/cmd/crictl@v{CRI_TOOLS}",
}
SOURCE = pathlib.Path("xtask/fleet/container.go")
IMAGE = "localhost/hugewise-try:1"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
PARENT = "hugewise-try"


def build(folder, plugin):
    """Builds what is not there, and the sources of this repository; returns why it cannot."""
    for needed in ("go", "runc", "setpriv", "unshare"):
        if not shutil.which(needed):
            return f"there is no {needed}"
    with (folder / "build.log").open("w") as log:
        try:
            for name, module in MODULES.items():
                if not (folder / name).exists():
                    go(log, folder, "install", "-trimpath", "-ldflags", "-s -w", module)
            go(log, folder, "build", "-o", folder / "container", SOURCE)
            go(log, folder, "-C", plugin, "build", "-trimpath", "-ldflags", "-s -w", "-o", folder / "hugewise-nri", ".")
        except subprocess.CalledProcessError:
            return f"go cannot build it, see {log.name}"
    return None


def go(log, folder, *words):
    variables = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOBIN": str(folder)}
    subprocess.run(["go", *words], env=variables, check=True, stdout=log, stderr=log)


def write_image(program, path):
    """An image with one program, and the C library that others would use, as `docker save` writes it."""
    libraries = pathlib.Path("/").glob(f"usr/lib/{platform.machine()}-linux-gnu/libc.so.6")
    layer = tar({"container": program.read_bytes(), **{str(it)[1:]: it.read_bytes() for it in libraries}})
    digest = hashlib.sha256(layer).hexdigest()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()], "os": "linux",
        "config": {"Entrypoint": ["/container"], "Cmd": ["wait"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    path.write_bytes(tar({
        "layer.tar": layer, "config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}))


def tar(files):
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return bytes_.getvalue()


def configuration(programs, folder):
    cri = "plugins.'io.containerd.cri.v1"
    return f"""
version = 3
root = '{folder}/root'
state = '{folder}/state'
[grpc]
address = '{folder}/containerd.sock'
[ttrpc]
address = '{folder}/ttrpc.sock'
[{cri}.images'.pinned_images]
sandbox = '{IMAGE}'
[{cri}.runtime']
disable_apparmor = true
# A lower score needs a capability that machines which are containers do not give.
restrict_oom_score_adj = true
cdi_spec_dirs = []
[{cri}.runtime'.cni]
conf_dir = '{folder}/cni'
[{cri}.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
runtime_path = '{programs}/containerd-shim-runc-v2'
[plugins.'io.containerd.nri.v1.nri']
socket_path = '{folder}/nri.sock'
plugin_path = '{folder}/plugins'
plugin_config_path = '{folder}/plugins'
"""


class Runtime:
    """containerd in a process namespace of its own: with it end its shims and containers. Its /run is its own too."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.numbers = itertools.count()
        folder.mkdir(mode=0o700, parents=True)
        socket = f"unix://{folder}/containerd.sock"
        (folder / "containerd.toml").write_text(configuration(programs, folder))
        (folder / "crictl.json").write_text(json.dumps({"runtime-endpoint": socket, "image-endpoint": socket, "timeout": 60}))

    def __enter__(self):
        serve = f"mount -t tmpfs tmpfs /run && exec {self.programs}/containerd -c {self.folder}/containerd.toml"
        with (self.folder / "containerd.log").open("w") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",
                 "sh", "-c", serve], stdout=log, stderr=log)
        try:
            self.wait_until("containerd answers", lambda: self.crictl("version").returncode == 0)
            self.import_image()
        except BaseException:
            self.__exit__()
            raise
        return self

    def import_image(self):
        write_image(self.programs / "container", self.folder / "image.tar")
        address = f"{self.folder}/containerd.sock"
        ctr = [self.programs / "ctr", "-a", address, "-n", "k8s.io", "images", "import", self.folder / "image.tar"]
        subprocess.run(ctr, check=True, capture_output=True)

    def __exit__(self, *_):
        self.crictl("rmp", "--all", "--force")
        self.process.kill()
        self.process.wait()
        for controller in [CGROUPS, *CGROUPS.iterdir()]:
            left = controller / PARENT
            for group in sorted(left.glob("**/"), reverse=True) if left.is_dir() else []:
                group.rmdir()

    def crictl(self, *words):
        return subprocess.run(
            [self.programs / "crictl", "--config", self.folder / "crictl.json", *words],
            capture_output=True, text=True, timeout=120)

    def told(self, *words):
        """What crictl says where it must succeed."""
        done = self.crictl(*words)
        assert done.returncode == 0, f"crictl {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout.strip()

    def wait_until(self, what, true, seconds=60):
        end = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, f"containerd ended, see {self.folder}/containerd.log"
            assert time.monotonic() < end, f"not in {seconds} s: {what}, see {self.folder}"
            time.sleep(0.1)

    def pod(self, name, annotations, security=None):
        """Runs a pod with one container, `say`, and returns what that says and complains of."""
        pod = Pod(self, name, annotations, ["say", "a b"], security or {})
        self.wait_until(f"{name} ends", pod.has_ended)
        said, complaint = pod.lines("stdout"), pod.lines("stderr")
        code = pod.status()["exitCode"]
        assert code == 0, f"{name} ends with {code}: {complaint}"
        pod.remove()
        return json.loads(said), complaint

    def stopped(self, name, annotations):
        """Has the container of a pod wait, and stops it; returns its exit code, which is 137 after the grace."""
        pod = Pod(self, name, annotations, ["wait"], {})
        self.wait_until(f"{name} waits", lambda: pod.lines("stdout"))
        self.told("stop", "--timeout", "10", pod.container)
        code = pod.status()["exitCode"]
        pod.remove()
        return code


class Pod:
    """A pod with one container that has been started."""

    def __init__(self, runtime, name, annotations, words, security):
        self.runtime, self.folder = runtime, runtime.folder / f"pod-{next(runtime.numbers)}"
        self.folder.mkdir()
        # A network of its own would need plugins of another project, and process numbers are each container's own.
        namespaces = {"network": 2, "pid": 1}
        pod = self.write("pod", {
            "metadata": {"name": name, "namespace": "default", "uid": self.folder.name}, "annotations": annotations,
            "log_directory": str(self.folder),
            "linux": {"cgroup_parent": f"/{PARENT}", "security_context": {"namespace_options": namespaces}}})
        container = self.write("container", {
            "metadata": {"name": "only"}, "image": {"image": IMAGE}, "args": words, "log_path": "only.log",
            "linux": {"security_context": {"namespace_options": namespaces, **security}}})
        self.pod = runtime.told("runp", pod)
        self.container = runtime.told("create", self.pod, container, pod)
        runtime.told("start", self.container)

    def write(self, name, content):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(content))
        return path

    def status(self):
        return json.loads(self.runtime.told("inspect", self.container))["status"]

    def has_ended(self):
        return self.status()["state"] == "CONTAINER_EXITED"

    def lines(self, stream):
        """What it wrote, without the time and the stream that the runtime puts before each line."""
        words = [line.split(" ", 3) for line in (self.folder / "only.log").read_text().splitlines()]
        return "\n".join(text for _, of, _, text in words if of == stream)

    def remove(self):
        self.runtime.told("rmp", "--force", self.pod)
