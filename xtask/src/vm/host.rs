//! `xtask hosts`: guests of the matrix as hosts of a fleet. They keep running, have a network, and run each script sent
//! to their port 22.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::boot::qemu;
use super::kernels::{Kernel, kernels};
use super::programs::{Builds, HOST};
use super::store::{Store, When};
use super::tree::Tree;

const INIT: &str = include_str!("host.sh");
/// The modules of a virtio network, in loading order.
const MODULES: [&str; 8] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
];
/// In MiB: twelve guests fit into a small machine.
const MEMORY: &str = "384";

/// Make guests as hosts of a fleet, and print how each is started
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Their kernels by name, for example `x86_64 6.12` [default: all]
    kernels: Vec<String>,
    /// Folder for kernels, the root for cross-building and programs
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
}

/// A line of the output.
#[derive(Serialize)]
struct Host {
    kernel: String,
    /// QEMU's command line, without the network; or the reason why there is none.
    start: std::result::Result<Vec<String>, String>,
}

/// Prints a line of JSON for each kernel.
///
/// # Errors
/// `kernels.toml` has a mistake, or the cache cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    let named =
        |kernel: &Kernel| arguments.kernels.is_empty() || arguments.kernels.contains(&kernel.name);
    let kernels = kernels(&arguments.kernels, None)?.into_iter().filter(named);
    fs::create_dir_all(&arguments.cache)?;
    let mut maker = Maker::new(arguments.cache.canonicalize()?)?;
    for kernel in kernels {
        let start = maker.start(&kernel).map_err(|error| format!("{error:#}"));
        let host = Host {
            kernel: kernel.name,
            start,
        };
        println!("{}", serde_json::to_string(&host)?);
    }
    Ok(())
}

/// The state shared by all hosts.
struct Maker {
    store: Store,
    builds: Builds,
    cache: PathBuf,
}

impl Maker {
    fn new(cache: PathBuf) -> Result<Self> {
        Ok(Self {
            store: Store::new(&cache, When::Lacking),
            builds: Builds::new(HOST, &cache)?,
            cache,
        })
    }

    /// Makes the disk, and returns QEMU's command line.
    fn start(&mut self, kernel: &Kernel) -> Result<Vec<String>> {
        let image = self.store.image(kernel)?;
        let programs = self.builds.of(kernel.machine)?;
        let folder = self.cache.join("hosts").join(kernel.slug());
        fs::create_dir_all(&folder)?;
        let initramfs = self.initramfs(kernel, &programs, &folder)?;
        let command = qemu(kernel.machine, &image, &initramfs, MEMORY);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Ok(words
            .map(|word| word.to_string_lossy().into_owned())
            .collect())
    }

    fn initramfs(&mut self, kernel: &Kernel, programs: &Path, folder: &Path) -> Result<PathBuf> {
        let busybox = self.store.busybox(kernel.machine)?;
        let modules = self.store.modules(kernel, &MODULES)?;
        let programs = HOST.names().map(|name| programs.join(name));
        let tree = Tree::new(folder, INIT, &busybox, programs)?;
        fs::create_dir_all(tree.at("modules"))?;
        for module in fs::read_dir(modules)? {
            let module = module?;
            fs::copy(module.path(), tree.at("modules").join(module.file_name()))?;
        }
        fs::write(tree.at("modules/order"), MODULES.join("\n"))?;
        tree.archive()
    }
}
