//! Describes sites in words: their place in the source, and their list.

use hugewise_attribute::{Attribution, Groups, Listed, Listing, Refusal, Screened};
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::site::Site;
use hugewise_experiment::run::trial::Frame;
use hugewise_linux::perf::symbols::Symbols;
use hugewise_observe::faults::Symbol;
use hugewise_text::number::counted;

/// The number of sites to list by name.
const LISTED: usize = 31;

/// Names the place of each site: a library by its file, others by a source line. The line is that of the innermost call
/// that no other site shares, because a function that maps memory for several sites does not identify any of them.
pub(super) fn name_places(attribution: &mut Attribution) {
    let symbols = Symbols::default();
    let sites = attribution.sites.iter();
    let all = sites.map(|it| match it.site {
        Site::Library { .. } => it.chain.first().map(file).into_iter().collect(),
        _ => places(&symbols, &it.chain),
    });
    let all: Vec<Vec<String>> = all.collect();
    for (index, site) in attribution.sites.iter_mut().enumerate() {
        let others = || all.iter().enumerate().filter(|(it, _)| *it != index);
        let is_own = |place: &&String| !others().any(|(_, places)| places.contains(place));
        // If only the size distinguishes two sites, all calls are shared.
        let own = all[index].iter().find(is_own);
        site.place = own.or(all[index].first()).cloned();
    }
}

fn file(frame: &Frame) -> String {
    frame.file_name().to_owned()
}

/// `function file:line` for each call with debug information, innermost first, without the function's modules. Inlined
/// calls are included.
fn places(symbols: &Symbols, chain: &[Frame]) -> Vec<String> {
    let found = chain.iter().flat_map(|frame| {
        let found = symbols.look_up(&frame.file, &[frame.offset]);
        found.into_iter().flatten()
    });
    let place = |symbol: Symbol| {
        let function = last_part(&symbol.name);
        Some(format!("{function} {}", symbol.place?))
    };
    found.filter_map(place).collect()
}

/// A name with types stays whole, because the types can contain module paths.
fn last_part(function: &str) -> &str {
    match function.contains(['<', '(']) {
        true => function,
        false => function.rsplit("::").next().unwrap_or(function),
    }
}

/// The list of the sites, shown before the measurement.
pub(super) fn listing_text(listing: &Listing) -> String {
    let count = counted(listing.tried.len() as u64, "site");
    let mut lines = vec![format!("{count} of large memory")];
    lines.extend(listing.tried.iter().take(LISTED).map(line));
    let more = listing.tried.len().saturating_sub(LISTED);
    lines.extend((more > 0).then(|| format!("  and {}", counted(more as u64, "smaller site"))));
    let of = |refusal: Refusal| {
        let refused = listing.refused.iter();
        refused.filter(move |(_, why)| *why == refusal)
    };
    lines.extend(of(Refusal::DoesNotRecur).take(LISTED).map(|(it, _)| {
        let recurs = 100.0 * it.recurrence;
        let line = line(it);
        format!("{line}: not tried, because it recurs in {recurs:.0} % of its bytes")
    }));
    for (refusal, why) in [
        (Refusal::HoldsNothing, "without memory that could be huge"),
        (Refusal::TooMany, "behind the largest"),
    ] {
        let count = of(refusal).count() as u64;
        let sites = counted(count, "site");
        lines.extend((count > 0).then(|| format!("  not tried: {sites} {why}")));
    }
    lines.join("\n")
}

fn line(site: &Listed) -> String {
    let name = site.name.as_ref().map(|name| format!(", {name}"));
    let bytes = bytes_text(site.held_bytes());
    format!("  {}: {bytes}{}", site.site, name.unwrap_or_default())
}

/// The sites that are left out because they never became huge; empty if there are none.
pub(super) fn never_huge_text(sites: &[Site], huge: &[Site]) -> String {
    let never = sites.iter().filter(|site| !huge.contains(site));
    let never: Vec<String> = never.map(ToString::to_string).collect();
    match never.is_empty() {
        true => String::new(),
        false => format!("left out, because never huge: {}", never.join(", ")),
    }
}

/// Announces a screening.
pub(super) fn screening_text(groups: &Groups) -> String {
    let sites: usize = groups.groups().iter().map(Vec::len).sum();
    format!(
        "{sites} sites are too many for one design: {} random groups of them",
        groups.groups().len()
    )
}

/// Reports the result of a screening.
pub(super) fn screened_text(screened: &Screened) -> String {
    let active = counted(screened.active as u64, "active group");
    let left = counted(screened.sites.len() as u64, "site");
    let dropped = match screened.dropped {
        0 => String::new(),
        dropped => format!("; the {dropped} weakest are left out"),
    };
    format!("{active}{dropped}: {left} left")
}
