//! Hosts for tests, changed in one respect.

use hugewise_base::host::{Host, User};
use hugewise_base::missing::Missing;

/// A host, changed in one respect.
pub trait Changed: Sized {
    /// The same on a machine that allows tracing of programs.
    fn traceable(self) -> Self;
    /// The same on a machine with a preloadable library.
    fn preloading(self) -> Self;
    /// The same after `change`.
    fn with(self, change: impl FnOnce(&mut Self)) -> Self;
    /// The same with one per-size file changed.
    fn size(self, kib: u64, mode: &str) -> Self;
    /// The same machine as an ordinary user sees it.
    fn unprivileged(self) -> Self;
    /// A kernel from before `PR_THP_DISABLE_EXCEPT_ADVISED` and per-size settings.
    fn old(self) -> Self;
    /// A kernel without transparent huge pages.
    fn without_thp(self) -> Self;
}

impl Changed for Host {
    fn traceable(self) -> Self {
        self.with(|host| host.can_trace = true)
    }

    fn preloading(self) -> Self {
        self.with(|host| host.library = Some("/tmp/libhugewise.so".to_owned()))
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn size(self, kib: u64, mode: &str) -> Self {
        self.with(|host| {
            if let Ok(thp) = &mut host.thp {
                thp.sizes.insert(kib, mode.to_owned());
            }
        })
    }

    fn unprivileged(self) -> Self {
        self.with(|host| {
            host.user = User {
                uid: 1000,
                workload_uid: 1000,
                can_write_thp: false,
            };
        })
    }

    fn old(self) -> Self {
        self.with(|host| {
            host.except_advised = false;
            host.glibc = Some((2, 31));
            if let Ok(thp) = &mut host.thp {
                thp.sizes.clear();
                thp.shmem_sizes.clear();
            }
        })
    }

    fn without_thp(self) -> Self {
        self.with(|host| {
            host.thp = Err(Missing::not_supported("transparent huge pages"));
        })
    }
}
