//! Known memory for the readings of a server: pages shared with a child, and used stacks.

use std::thread;

/// Returns fresh memory without huge pages.
pub fn small_pages(bytes: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, and advice only for this mapping.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE);
        at.cast()
    }
}

/// Pages shared with a child, until each answer writes to some of these pages.
pub struct Shared {
    at: *mut u8,
    written: usize,
}

/// The number of pages written per answer, and the total.
pub const COPIED_EACH: usize = 10;
pub const SHARED: usize = 1024;

impl Shared {
    /// Fills the pages, and forks a child that keeps the pages until the server ends.
    pub fn fork() -> Self {
        let bytes = SHARED * rustix::param::page_size();
        let at = small_pages(bytes);
        // SAFETY: the fresh mapping is written within its bounds; the child of the only thread only waits in system
        // calls.
        unsafe {
            std::ptr::write_bytes(at, 1, bytes);
            if libc::fork() == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                loop {
                    libc::pause();
                }
            }
        }
        Self { at, written: 0 }
    }

    pub fn write(&mut self) {
        let page = rustix::param::page_size();
        for index in self.written..self.written + COPIED_EACH {
            assert!(index < SHARED);
            // SAFETY: within the mapping, which lasts as long as the process.
            unsafe { self.at.add(index * page).write_volatile(2) };
        }
        self.written += COPIED_EACH;
    }
}

pub const THREADS: usize = 3;
pub const STACK: usize = 1 << 20;
pub const USED: usize = 256 << 10;

/// Starts threads that use this much of their stacks, and wait.
pub fn threads() {
    let (told, ready) = std::sync::mpsc::channel();
    for _ in 0..THREADS {
        let told = told.clone();
        let used = move || {
            let mut used = [0_u8; USED];
            std::hint::black_box(used.as_mut_slice()).fill(1);
            told.send(used[USED - 1]).unwrap();
            loop {
                thread::park();
            }
        };
        let thread = thread::Builder::new().stack_size(STACK);
        thread.spawn(used).unwrap();
    }
    for _ in 0..THREADS {
        assert_eq!(ready.recv(), Ok(1));
    }
}
