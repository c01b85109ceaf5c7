//! Sites in words: where in the source they are, and their list.

use hugewise_linux::perf::symbols::Symbols;
use hugewise_model::base::units::bytes_text;
use hugewise_model::run::attribute::{Attribution, Listed, Listing, Refusal};
use hugewise_model::run::trial::Frame;
use hugewise_model::text::number::counted;

/// Looks up the line of source of each site: of the innermost call that is not the same for all
/// sites, because the function that maps memory for all of them tells nothing.
pub(super) fn name_places(attribution: &mut Attribution) {
    let chains: Vec<Vec<Frame>> = attribution
        .sites
        .iter()
        .map(|it| it.chain.clone())
        .collect();
    let chains: Vec<&[Frame]> = chains
        .iter()
        .map(Vec::as_slice)
        .filter(|it| !it.is_empty())
        .collect();
    let shared = shared(&chains);
    let symbols = Symbols::default();
    for site in &mut attribution.sites {
        let own = site.chain.iter().skip(shared);
        let mut named = own.filter_map(|frame| place(&symbols, frame));
        site.place = named.next();
    }
}

/// How many of the innermost calls all chains have in common; none where there is one chain.
fn shared(chains: &[&[Frame]]) -> usize {
    let Some((first, others)) = chains
        .split_first()
        .filter(|(_, others)| !others.is_empty())
    else {
        return 0;
    };
    let is_shared = |&index: &usize| others.iter().all(|it| it.get(index) == first.get(index));
    (0..first.len()).take_while(is_shared).count()
}

/// `function file:line`, where debug information has it.
fn place(symbols: &Symbols, frame: &Frame) -> Option<String> {
    let found = symbols.look_up(&frame.file, &[frame.offset]);
    let with_line = found
        .into_iter()
        .flatten()
        .find(|symbol| symbol.place.is_some())?;
    Some(format!("{} {}", with_line.name, with_line.place?))
}

/// The list of the sites, as it is told before anything is measured.
pub(super) fn listing_text(listing: &Listing) -> String {
    let count = counted(listing.tried.len() as u64, "site");
    let line = |it: &Listed| format!("  {}: {}", it.site, bytes_text(it.bytes));
    let mut lines = vec![format!("{count} of large memory")];
    lines.extend(listing.tried.iter().map(line));
    lines.extend(listing.refused.iter().map(|(it, why)| {
        let why = match why {
            Refusal::DoesNotRecur => {
                format!(
                    "recurs in {:.0} % of its bytes from run to run",
                    100.0 * it.recurrence
                )
            }
            Refusal::TooMany => "is smaller than those that fit into a design".to_owned(),
        };
        format!("{}: not tried, because it {why}", line(it))
    }));
    lines.join("\n")
}
