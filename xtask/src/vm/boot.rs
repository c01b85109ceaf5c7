//! Boots a kernel under QEMU and reads its output.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::machine::Machine;

/// The time limit of a guest: under emulation one takes one to four minutes.
const PATIENCE: Duration = Duration::from_secs(1200);
/// Enough for two 32 MiB huge pages in each of several processes, and for the defaults of a machine with more than 512
/// MiB.
const MEMORY: &str = "2048";

/// How a guest ended.
pub struct Ended {
    /// The lines of its console.
    pub lines: Vec<String>,
    /// True if it ended without being stopped.
    pub in_time: bool,
}

/// Boots a kernel and waits until it has ended. It is emulated, never run with KVM: results do not depend on the
/// machine.
///
/// # Errors
/// QEMU is not installed.
pub fn boot(machine: Machine, image: &Path, initramfs: &Path) -> Result<Ended> {
    let mut qemu = qemu(machine, image, initramfs, MEMORY);
    let mut child = qemu
        .args(["-nic", "none"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {}", qemu.get_program().to_string_lossy()))?;
    let ended = listen(&mut child)?;
    let _ = child.kill();
    child.wait()?;
    Ok(ended)
}

/// Returns QEMU with a guest of this memory size in MiB, with all output on stdout, and without a network.
pub fn qemu(machine: Machine, image: &Path, initramfs: &Path, memory: &str) -> Command {
    let mut command = Command::new(format!("qemu-system-{}", machine.name()));
    // On x86, one processor, on a machine type that allows two. With two, QEMU 7.2 executes breakpoints that the
    // other's kernel has just patched away. If only one were allowed, it would emulate atomic instructions by a load
    // and a store, which fault differently. Without cmpxchg16b, because QEMU sets wrong flags for it, and the kernel's
    // allocator uses it.
    // On Arm, both processors share one thread, for the opposite reason. Real LSE instructions fault for a read first,
    // and with one thread per processor QEMU requests the write first. Pointers are signed by a cheap hash: each kernel
    // function signs one, and the architecture's cipher would take most of the time of an emulated guest.
    let console = match machine {
        Machine::x86_64 => {
            command.args(["-machine", "pc", "-cpu", "max,-cx16"]);
            command.args(["-accel", "tcg,thread=multi", "-smp", "1,maxcpus=2"]);
            // The kernel tests if the timer ticks for a fixed number of loops. A busy machine may not run an emulated
            // guest within them.
            "ttyS0 no_timer_check"
        }
        Machine::aarch64 => {
            command.args(["-machine", "virt", "-cpu", "max,pmu=on,pauth-impdef=on"]);
            command.args(["-accel", "tcg,thread=single", "-smp", "2"]);
            "ttyAMA0"
        }
    };
    command
        .args(["-m", memory])
        .args([
            "-display",
            "none",
            "-monitor",
            "none",
            "-serial",
            "stdio",
            "-no-reboot",
        ])
        .arg("-nodefaults")
        .arg("-kernel")
        .arg(image)
        .arg("-initrd")
        .arg(initramfs)
        .arg("-append")
        .arg(format!(
            "console={console} quiet loglevel=1 panic=-1 rdinit=/init"
        ));
    command
}

fn listen(child: &mut Child) -> Result<Ended> {
    let stream = child.stdout.take().context("QEMU has no stdout")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|bytes| bytes > 0)
        {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + PATIENCE;
    let mut lines = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(line) => lines.push(line),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Ended {
                    lines,
                    in_time: true,
                });
            }
            Err(RecvTimeoutError::Timeout) => {
                return Ok(Ended {
                    lines,
                    in_time: false,
                });
            }
        }
    }
}
