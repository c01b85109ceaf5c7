//! Reads the settings that tuned makes, from its active profile and the profiles that it includes.

use hugewise_advise::fact::Facts;

use crate::machine::root::Root;

/// The file that names the active profiles; later ones override earlier ones.
const ACTIVE: &str = "etc/tuned/active_profile";

/// Profile directories in search order: the user's profiles hide the system's.
const FOLDERS: [&str; 4] = [
    "etc/tuned/profiles",
    "etc/tuned",
    "usr/lib/tuned/profiles",
    "usr/lib/tuned",
];

/// The maximum nesting of included profiles.
const DEEPEST: usize = 8;

/// Returns `tuned.profile`, and the THP mode that it sets (`tuned.thp`); both are empty if no profile is active.
pub(super) fn facts(root: &Root) -> Facts {
    let mut facts = Facts::default();
    let active = root.read_trimmed(ACTIVE).unwrap_or_default();
    let names = active.split_ascii_whitespace();
    let mut modes = names.filter_map(|name| mode_of(root, name, DEEPEST));
    facts.set("tuned.thp", modes.next_back().unwrap_or_default());
    facts.set("tuned.profile", active);
    facts
}

/// Returns the mode that a profile sets, either directly or through an included profile.
fn mode_of(root: &Root, name: &str, deepest: usize) -> Option<String> {
    if deepest == 0 || name.contains('/') {
        return None;
    }
    let mut places = FOLDERS.iter();
    let text = places.find_map(|folder| {
        root.read_trimmed(format!("{folder}/{name}/tuned.conf"))
            .ok()
    })?;
    let own = options(&text, "vm")
        .filter(|(option, _)| matches!(*option, "transparent_hugepages" | "transparent_hugepage"));
    let own = own.last().map(|(_, value)| value.to_owned());
    own.or_else(|| {
        let includes = options(&text, "main").filter(|(option, _)| *option == "include");
        let names = includes.flat_map(|(_, names)| names.split([',', ';', ' ']));
        let modes = names.filter_map(|name| mode_of(root, name.trim(), deepest - 1));
        modes.last()
    })
}

/// Returns the options of a section.
fn options<'a>(text: &'a str, section: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut is_inside = false;
    let lines = text.lines().map(str::trim);
    lines.filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            is_inside = name.strip_suffix(']') == Some(section);
        }
        let is_comment = line.starts_with(['#', ';']);
        let (option, value) = line.split_once('=').filter(|_| is_inside && !is_comment)?;
        Some((option.trim(), value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;

    #[test]
    fn a_mode_is_found_in_what_a_profile_includes() {
        let (_folder, root) = machine_of(&[
            ("etc/tuned/active_profile", "mine\n"),
            (
                "etc/tuned/mine/tuned.conf",
                "[main]\nsummary=x\ninclude=latency\n\n[sysctl]\ntransparent_hugepages=always\n",
            ),
            (
                "usr/lib/tuned/profiles/latency/tuned.conf",
                "[vm]\n# transparent_hugepages=always\ntransparent_hugepages = never\n",
            ),
        ]);
        let found = facts(&root);
        assert_eq!(found.text("tuned.profile"), Some("mine"));
        assert_eq!(found.text("tuned.thp"), Some("never"));
    }

    #[test]
    fn profiles_in_a_circle_and_machines_without_tuned_set_nothing() {
        let (_folder, root) = machine_of(&[
            ("etc/tuned/active_profile", "a b"),
            ("etc/tuned/a/tuned.conf", "[main]\ninclude=b\n"),
            ("etc/tuned/b/tuned.conf", "[main]\ninclude=a\n"),
        ]);
        assert_eq!(facts(&root).text("tuned.thp"), Some(""));
        let (_folder, root) = machine_of(&[("proc/x", "")]);
        assert_eq!(facts(&root).text("tuned.profile"), Some(""));
    }
}
