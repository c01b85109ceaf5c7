//! The user of the workload: under sudo the invoking user, else our own.

use anyhow::{Context, Result};
use hugewise_linux::machine::identity;
use hugewise_linux::machine::identity::Identity;

use crate::exit;

/// The invoking user when the program runs as root through sudo; `None` when nothing changes.
pub fn identity() -> Result<Option<Identity>> {
    let Some(text) = std::env::var_os("SUDO_UID").filter(|_| identity::is_root()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let uid: u32 = text.parse().map_err(|_| {
        exit::usage(format!(
            "SUDO_UID is `{text}`, which is not a user id; unset it"
        ))
    })?;
    if uid == 0 {
        return Ok(None);
    }
    identity::of_user(uid)
        .map(Some)
        .with_context(|| format!("looking up the invoking user {uid}"))
}
