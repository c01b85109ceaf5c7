//! The user who runs the workload: under sudo the invoking user, else our own.

use std::sync::OnceLock;

use anyhow::{Context, Result};
use hugewise_linux::file::rights::Rights;
use hugewise_linux::machine::identity;
use hugewise_linux::machine::identity::Identity;

use crate::exit;

/// The invoking user if the program runs as root through sudo; `None` if the user stays the same.
pub fn identity() -> Result<Option<Identity>> {
    let Some(text) = std::env::var_os("SUDO_UID").filter(|_| identity::is_root()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let uid: u32 = text
        .parse()
        .map_err(|_| exit::usage(format!("SUDO_UID is `{text}`, not a user id; unset it")))?;
    if uid == 0 {
        return Ok(None);
    }
    identity::of_user(uid)
        .map(Some)
        .with_context(|| format!("looking up the invoking user {uid}"))
}

/// The user whose permissions apply to files that the user names. Under sudo these are the invoking user's, because any
/// process of that user, such as the workload, can replace the files.
pub fn rights() -> Result<Rights> {
    static KNOWN: OnceLock<Rights> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let rights = Rights::of(identity()?.as_ref());
    Ok(KNOWN.get_or_init(|| rights).clone())
}

/// Explains why root under sudo cannot access a file that root could access otherwise.
pub fn rights_hint() -> &'static str {
    match rights() {
        Ok(rights) if rights.are_lent() => {
            " (under sudo files are those of the invoking user; `env -u SUDO_UID` makes them root's)"
        }
        _ => "",
    }
}
