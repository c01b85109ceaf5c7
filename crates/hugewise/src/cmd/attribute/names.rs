//! Sites in words: where in the source they are, and their list.

use hugewise_attribute::{Attribution, Groups, Listed, Listing, Refusal, Screened};
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::site::Site;
use hugewise_experiment::run::trial::Frame;
use hugewise_linux::perf::symbols::Symbols;
use hugewise_observe::faults::Symbol;
use hugewise_text::number::counted;

/// As many sites are listed by name.
const LISTED: usize = 31;

/// Names the place of each site: a library by its file, all else by a line of source. That is of the
/// innermost call that no other site has, because a function that maps memory for several sites tells
/// nothing.
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
        // Where the size alone tells two sites apart, all calls are shared.
        let own = all[index].iter().find(is_own);
        site.place = own.or(all[index].first()).cloned();
    }
}

fn file(frame: &Frame) -> String {
    frame.file_name().to_owned()
}

/// `function file:line` of each call that debug information has, the innermost first, without the
/// modules of the function. A call that was made part of its caller is one of them.
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

/// Types may have modules of their own, so that a name with types stays whole.
fn last_part(function: &str) -> &str {
    match function.contains(['<', '(']) {
        true => function,
        false => function.rsplit("::").next().unwrap_or(function),
    }
}

/// The list of the sites, as it is told before anything is measured.
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

/// The sites that are left out because huge pages did not come; nothing where there are none.
pub(super) fn never_huge_text(sites: &[Site], huge: &[Site]) -> String {
    let never = sites.iter().filter(|site| !huge.contains(site));
    let never: Vec<String> = never.map(ToString::to_string).collect();
    match never.is_empty() {
        true => String::new(),
        false => format!("left out, because never huge: {}", never.join(", ")),
    }
}

/// What a screening is about to do.
pub(super) fn screening_text(groups: &Groups) -> String {
    let sites: usize = groups.groups().iter().map(Vec::len).sum();
    format!(
        "{sites} sites are more than a design tells apart: {} groups of them, by chance",
        groups.groups().len()
    )
}

/// What a screening has left.
pub(super) fn screened_text(screened: &Screened) -> String {
    let active = counted(screened.active as u64, "active group");
    let left = counted(screened.sites.len() as u64, "site");
    let dropped = match screened.dropped {
        0 => String::new(),
        dropped => format!("; the {dropped} weakest are left out"),
    };
    format!("{active}{dropped}: {left} left")
}
