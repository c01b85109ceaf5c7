"""A control plane of Kubernetes on the loopback: etcd, API server, controllers and scheduler, and no kubelet."""

import csv
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import time

from imitation import free_port

VERSION = "1.37.0"
SOURCE = pathlib.Path(__file__).with_suffix(".go")
# Who signs in, and the groups besides; what they may do are the roles that the API server itself makes.
USERS = {"admin": "system:masters", "system:kube-controller-manager": "", "system:kube-scheduler": ""}


def build(folder):
    """Builds the program unless it is there; returns its path and why there is none."""
    for needed in ("openssl", "setpriv"):
        if not shutil.which(needed):
            return None, f"there is no {needed}"
    program = folder / f"controlplane-{VERSION}"
    if program.exists() and program.stat().st_mtime >= SOURCE.stat().st_mtime:
        return program, None
    if not shutil.which("go"):
        return None, "there is no go"
    with (folder / "build.log").open("w") as log:
        try:
            compile_to(program.absolute(), folder / "source", log)
        except subprocess.CalledProcessError as error:
            # Where it speaks JSON, go says there why it failed.
            log.write(error.stdout)
            return None, f"go cannot build it, see {log.name}"
    return program, None


def compile_to(program, source, log):
    variables = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": os.environ.get("GOFLAGS", "") + " -mod=mod"}

    def go(*words):
        return subprocess.run(["go", *words], cwd=source, env=variables, check=True, stdout=subprocess.PIPE, stderr=log, text=True)

    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    shutil.copy(SOURCE, source / "main.go")
    module = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}").stdout)
    (source / "go.mod").write_text(requirements(pathlib.Path(module["GoMod"]).read_text()))
    go("mod", "tidy")
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion=v{VERSION}"
    go("build", "-buildvcs=false", "-trimpath", "-ldflags", flags, "-o", program)


def requirements(kubernetes):
    """A go.mod. That of Kubernetes names parts by folders of its own, which are modules elsewhere."""
    go, = re.findall(r"^go .*$", kubernetes, re.M)
    parts = re.findall(r"^\s*(\S+) => \./staging/", kubernetes, re.M)
    replaced = [f"replace {part} => {part} v0{VERSION[1:]}" for part in parts]
    return "\n".join(["module controlplane", go, f"require k8s.io/kubernetes v{VERSION}", *replaced, ""])


class ControlPlane:
    """The processes, which end with this one, and what they keep in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder, self.processes = program, folder, []
        folder.mkdir(mode=0o700, parents=True)
        self.address = f"https://127.0.0.1:{free_port()}"

    def __enter__(self):
        try:
            self.start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start_all(self):
        etcd, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        key = self.folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        self.sign_in()
        self.start(
            "etcd", f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync",
            f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}")
        self.start(
            "kube-apiserver", f"--etcd-servers={etcd}", "--authorization-mode=RBAC", "--allow-privileged", "--bind-address=127.0.0.1",
            f"--secure-port={self.address.rsplit(':')[-1]}", "--advertise-address=127.0.0.1",
            # Loopback is no address that a cluster's own service may have.
            "--endpoint-reconciler-type=none", f"--cert-dir={self.folder}", f"--token-auth-file={self.folder}/tokens",
            "--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}")
        self.wait_until("the API server is ready", lambda: self.kubectl("get", "--raw", "/readyz").stdout == "ok")
        self.start(
            "kube-controller-manager", *self.as_user("system:kube-controller-manager"),
            "--use-service-account-credentials", f"--service-account-private-key-file={key}",
            # Nodes without a kubelet say nothing, and are healthy all the same.
            "--node-monitor-grace-period=1h")
        self.start("kube-scheduler", *self.as_user("system:kube-scheduler"))

    def sign_in(self):
        """Makes a token and a kubeconfig for each user."""
        tokens = {user: secrets.token_hex(16) for user in USERS}
        with (self.folder / "tokens").open("w") as file:
            csv.writer(file).writerows([token, user, user, USERS[user]] for user, token in tokens.items())
        for user, token in tokens.items():
            (self.folder / user).write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "here",
                "clusters": [{"name": "here", "cluster": {
                    "server": self.address, "certificate-authority": f"{self.folder}/apiserver.crt"}}],
                "users": [{"name": user, "user": {"token": token}}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": user}}],
            }))

    def as_user(self, user):
        file = self.folder / user
        return [
            f"--kubeconfig={file}", f"--authentication-kubeconfig={file}", f"--authorization-kubeconfig={file}",
            "--leader-elect=false", "--secure-port=0"]

    def start(self, name, *words):
        command = ["setpriv", "--pdeathsig", "KILL", self.program, name, *words]
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=self.variables()))

    def variables(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": f"{self.folder}/admin"}

    def kubectl(self, *words, given=None):
        """Calls kubectl; `given` is an object for its standard input."""
        given = json.dumps(given) if given else ""
        return subprocess.run(
            [self.program, "kubectl", *words], input=given, env=self.variables(), capture_output=True, text=True,
            timeout=60)

    def told(self, *words, given=None):
        """What kubectl says where it must succeed."""
        done = self.kubectl(*words, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def objects(self, *words):
        found = json.loads(self.told("get", *words, "-o", "json"))
        return found.get("items", found)

    def wait_until(self, what, true, seconds=180):
        end = time.monotonic() + seconds
        while not true():
            dead = [process.args[4] for process in self.processes if process.poll() is not None]
            assert not dead, f"{dead} ended, see {self.folder}"
            assert time.monotonic() < end, f"not in {seconds} s: {what}, see {self.folder}"
            time.sleep(0.5)
