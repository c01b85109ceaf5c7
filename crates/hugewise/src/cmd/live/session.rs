//! The blocks of an experiment: found, switched, and put back.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use hugewise_experiment::run::plan::{Skip, Skipped};
use hugewise_linux::live::{Halt, Keeper, Member, Pages, Room, Switched, Work, switch};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_live::{
    Block, Blocks, Exposure, Layout, Longest, Pace, Placebos, SwitchedSite, thinned,
};

use super::unit::Unit;
use super::{Arguments, sites};
use crate::exit;
use crate::stderr::message;

/// The most blocks of one call.
const BLOCKS_PER_CALL: usize = 64;
/// A block with a larger share of zeros is left as it is: its memory changes too much.
const MOST_ZERO: f64 = 0.5;

/// The blocks of one process in one part of the layout.
#[derive(Debug)]
struct Part {
    member: Rc<Member>,
    /// The index of that part.
    of: usize,
    /// All blocks that it ever switched, with their first state.
    found: BTreeMap<u64, bool>,
    /// The blocks of the next switch.
    blocks: Vec<u64>,
    /// Those that refused, and why.
    refused: BTreeMap<u64, Skip>,
    paces: [Pace; 2],
}

/// The blocks of all processes. They are put back when it is dropped.
#[derive(Debug)]
pub(super) struct Session<'a> {
    root: &'a Root,
    layout: Layout,
    parts: Vec<Part>,
    room: Room<'a>,
    keeper: Option<Keeper>,
    huge_bytes: u64,
    max_stall: Duration,
    skipped: BTreeMap<Skip, u64>,
    /// The most blocks that are switched, once there is a limit.
    most: Option<u64>,
    /// Blocks that could be switched and are not.
    left_out: u64,
    /// The pages of each part of the layout, if all have them.
    in_force: Option<Vec<Work>>,
    placebos: Placebos,
    left: Vec<String>,
}

/// The switched memory of a part of the layout, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// All of it.
    pub switched: u64,
    /// The huge part.
    pub huge: u64,
}

/// A switch before a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Move {
    /// True if the blocks had the right pages already, and went away and back.
    pub is_sham: bool,
    /// Time that it took.
    pub took: Duration,
    /// The longest call and hold.
    pub longest: Longest,
}

impl<'a> Session<'a> {
    /// Finds the blocks and has a keeper hold their state.
    pub(super) fn begin(
        root: &'a Root,
        unit: &Unit,
        most: Option<u64>,
        arguments: &Arguments,
    ) -> Result<Self> {
        let found = sites::look(root, unit)?;
        let layout = sites::layout(arguments.by, &found);
        sites::check(&layout, unit.huge_bytes)?;
        let keeper = Keeper::start().map_err(exit::refused)?;
        let mut session = Self {
            root,
            layout,
            parts: Vec::new(),
            room: Room::new(root, unit.page_bytes, unit.huge_bytes),
            keeper: Some(keeper),
            huge_bytes: unit.huge_bytes,
            max_stall: arguments.max_stall(),
            skipped: BTreeMap::new(),
            most,
            left_out: 0,
            in_force: None,
            placebos: Placebos::with_seed(arguments.seed.unwrap_or_else(unix_ms)),
            left: Vec::new(),
        };
        let all = found.iter().map(|(_, (it, _))| it.able.len() as u64).sum();
        for (member, (blocks, _)) in found {
            session.add(&member, blocks, all)?;
        }
        if session.blocks() == 0 {
            return Err(exit::refused(nothing(unit, &session.skipped())));
        }
        Ok(session)
    }

    /// Adds the blocks of a process, out of `all` of all processes.
    fn add(&mut self, member: &Rc<Member>, found: Blocks, all: u64) -> Result<()> {
        for (why, blocks) in found.skipped {
            *self.skipped.entry(why).or_default() += blocks;
        }
        for of in 0..self.layout.parts() {
            let able = self.of_part(of, member, &found.able);
            let count = able.len() as u64;
            // Each part has the same share of what may be switched.
            let room = self
                .most
                .map_or(count, |most| count * most.min(all) / all.max(1));
            let able = chosen(able, room, member);
            self.left_out += count - able.len() as u64;
            self.hold(member, &able)?;
            let pace = |work: Work| Pace::new(work.hold(), self.max_stall, BLOCKS_PER_CALL);
            self.parts.push(Part {
                member: Rc::clone(member),
                of,
                found: able.iter().map(|it| (it.start, it.is_huge)).collect(),
                blocks: able.iter().map(|it| it.start).collect(),
                refused: BTreeMap::new(),
                paces: [pace(Work::Split), pace(Work::Collapse)],
            });
        }
        Ok(())
    }

    /// The blocks of a process that belong to a part of the layout.
    fn of_part(&self, of: usize, member: &Member, blocks: &[Block]) -> Vec<Block> {
        let is_own = |it: &&Block| self.layout.part_of(member.pid(), it.start) == Some(of);
        blocks.iter().filter(is_own).copied().collect()
    }

    /// Has the keeper hold the state of blocks before they are switched.
    fn hold(&mut self, member: &Member, blocks: &[Block]) -> Result<()> {
        let (Some(keeper), false) = (&mut self.keeper, blocks.is_empty()) else {
            return Ok(());
        };
        keeper
            .hold(member, blocks, self.max_stall)
            .map_err(exit::refused)
    }

    /// The number of switched blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.parts.iter().map(|it| it.blocks.len() as u64).sum()
    }

    /// The number of switched blocks that were huge at first.
    pub(super) fn found_huge(&self) -> u64 {
        let huge = |part: &Part| {
            let blocks = part.blocks.iter();
            blocks
                .filter(|it| part.found.get(it) == Some(&true))
                .count() as u64
        };
        self.parts.iter().map(huge).sum()
    }

    /// Blocks that could be switched and are left out.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Blocks that cannot be switched, by reason.
    pub(super) fn skipped(&self) -> Vec<Skipped> {
        let mut all = self.skipped.clone();
        for why in self.parts.iter().flat_map(|it| it.refused.values()) {
            *all.entry(*why).or_default() += 1;
        }
        let all = all.into_iter();
        all.map(|(why, blocks)| Skipped { why, blocks }).collect()
    }

    /// Those reasons in words.
    pub(super) fn reasons(&self) -> String {
        reasons(&self.skipped())
    }

    /// Leaves out all but a share of the blocks, at random, and puts those back as they were found.
    pub(super) fn thin(&mut self, share: f64, seed: u64) -> Result<(), Halt> {
        for part in &mut self.parts {
            let block = |start: &u64| Block {
                start: *start,
                is_huge: part.found.get(start) == Some(&true),
            };
            let all: Vec<Block> = part.blocks.iter().map(block).collect();
            let kept: BTreeSet<u64> = thinned(all.clone(), share, seed)
                .iter()
                .map(|it| it.start)
                .collect();
            let dropped: Vec<Block> = all
                .into_iter()
                .filter(|it| !kept.contains(&it.start))
                .collect();
            part.member.put_back(self.root, &dropped, self.max_stall)?;
            self.left_out += dropped.len() as u64;
            part.blocks = kept.into_iter().collect();
        }
        Ok(())
    }

    /// Drops blocks without memory, and takes others in their place.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let mut now: BTreeMap<u32, Vec<Block>> = BTreeMap::new();
        for index in 0..self.parts.len() {
            let Part { member, of, .. } = &self.parts[index];
            let able = match now.entry(member.pid()) {
                Entry::Occupied(it) => it.into_mut(),
                Entry::Vacant(it) => {
                    let blocks = member.blocks(self.root).map_err(exit::trial_failed)?;
                    it.insert(blocks.able)
                }
            };
            let able = self.of_part(*of, member, able);
            self.parts[index].keep(&able);
            self.replace(index, able)?;
        }
        Ok(())
    }

    /// Takes blocks that were not there before, as many as went. Their state is held first.
    fn replace(&mut self, index: usize, mut able: Vec<Block>) -> Result<()> {
        let part = &self.parts[index];
        let member = Rc::clone(&part.member);
        able.retain(|it| !part.found.contains_key(&it.start));
        let all = able.len() as u64;
        let room = self
            .most
            .map_or(all, |most| most.saturating_sub(self.blocks()));
        let able = chosen(able, room, &member);
        self.hold(&member, &able)?;
        let part = &mut self.parts[index];
        part.found
            .extend(able.iter().map(|it| (it.start, it.is_huge)));
        part.blocks.extend(able.iter().map(|it| it.start));
        part.blocks.sort_unstable();
        Ok(())
    }

    /// The most blocks that are switched, if there is a limit.
    pub(super) fn most(&self) -> Option<u64> {
        self.most
    }

    /// Sets the number of blocks that are switched now as the most.
    pub(super) fn settle(&mut self) {
        self.most = Some(self.blocks());
    }

    /// The sites that are switched separately; empty if all memory is switched as one.
    pub(super) fn sites(&self) -> &[SwitchedSite] {
        self.layout.sites()
    }

    /// Makes the blocks of each part of the layout huge or small before a period. Blocks with the right pages go away
    /// and back, so that every period follows a switch of the same direction.
    pub(super) fn begin_period(&mut self, works: &[Work], stop: &AtomicBool) -> Result<Move, Halt> {
        let is_sham = self.in_force.as_deref() == Some(works) && self.placebos.draw();
        let mut all = Move {
            is_sham,
            ..Move::default()
        };
        if is_sham {
            let others: Vec<Work> = works.iter().map(|it| other(*it)).collect();
            let away = self.make(&others, stop)?;
            all.took += away.took;
            all.longest = away.longest;
        }
        let here = self.make(works, stop)?;
        all.took += here.took;
        all.longest = all.longest.or(here.longest);
        Ok(all)
    }

    /// Makes all blocks huge or small.
    pub(super) fn make_all(&mut self, work: Work, stop: &AtomicBool) -> Result<Move, Halt> {
        self.make(&vec![work; self.layout.parts()], stop)
    }

    /// Makes the blocks of each part of the layout huge or small. Blocks that refuse take part no more.
    fn make(&mut self, works: &[Work], stop: &AtomicBool) -> Result<Move, Halt> {
        let mut all = Move::default();
        self.room.begin();
        self.in_force = None;
        for part in &mut self.parts {
            let work = works[part.of];
            let pace = &mut part.paces[usize::from(work == Work::Collapse)];
            let blocks = &part.blocks;
            let room = &mut self.room;
            let done = switch(
                &*part.member,
                work,
                blocks,
                self.huge_bytes,
                pace,
                room,
                stop,
            )?;
            all.took += done.took;
            all.longest = all.longest.or(done.longest);
            part.leave_out(work, &done);
        }
        self.in_force = Some(works.to_vec());
        Ok(all)
    }

    /// Returns the memory of each part of the layout.
    pub(super) fn held(&self) -> Vec<Held> {
        let mut all = vec![Held::default(); self.layout.parts()];
        for part in &self.parts {
            let huge = part.member.huge(&part.blocks).len() as u64;
            all[part.of].switched += part.blocks.len() as u64 * self.huge_bytes;
            all[part.of].huge += huge * self.huge_bytes;
        }
        all
    }

    /// Returns true while all processes run.
    pub(super) fn lives(&self) -> bool {
        self.parts.iter().all(|it| it.member.lives())
    }

    /// The exposure of each part of the layout in a period that ends now.
    pub(super) fn exposures(&self, begin: &[Held]) -> Vec<Exposure> {
        let ends = self.held().into_iter();
        let exposure = |(end, begin): (Held, &Held)| Exposure {
            switched: end.switched,
            begin: begin.huge,
            end: end.huge,
        };
        ends.zip(begin).map(exposure).collect()
    }

    /// Puts everything back. Returns what is not as it was found, in words.
    pub(super) fn end(&mut self) -> Vec<String> {
        self.put_back();
        std::mem::take(&mut self.left)
    }

    fn put_back(&mut self) {
        let Some(keeper) = self.keeper.take() else {
            return;
        };
        for part in &self.parts {
            let found = part.found.iter();
            let found: Vec<Block> = found
                .map(|(&start, &is_huge)| Block { start, is_huge })
                .collect();
            self.left
                .extend(part.put_back(self.root, &found, self.max_stall));
        }
        keeper.done();
        self.left.iter().for_each(message);
    }
}

impl Part {
    /// Drops the blocks that can be switched no more. A block of which a split gave back pages of zeros stays, unless
    /// they are most of it.
    fn keep(&mut self, able: &[Block]) {
        let able: BTreeSet<u64> = able.iter().map(|it| it.start).collect();
        let others = self.blocks.iter().filter(|it| !able.contains(it));
        let zero = others.filter_map(|it| Some((*it, self.member.zero_share(*it)?)));
        let (much, little): (Vec<_>, Vec<_>) = zero.partition(|(_, share)| *share > MOST_ZERO);
        let stay: BTreeSet<u64> = little.into_iter().map(|(start, _)| start).collect();
        let refused = much.into_iter().map(|(start, _)| (start, Skip::ZeroFilled));
        self.refused.extend(refused);
        self.blocks
            .retain(|it| able.contains(it) || stay.contains(it));
    }

    fn leave_out(&mut self, work: Work, done: &Switched) {
        let why = match work {
            Work::Collapse => Skip::CollapseRefused,
            Work::Split => Skip::NotSplit,
        };
        let first = done
            .refused
            .keys()
            .filter(|it| self.blocks.binary_search(it).is_ok());
        self.refused.extend(first.map(|it| (*it, why)));
        self.blocks.retain(|it| !done.refused.contains_key(it));
    }

    fn put_back(&self, root: &Root, found: &[Block], max_stall: Duration) -> Option<String> {
        let pid = self.member.pid();
        match self.member.put_back(root, found, max_stall) {
            Ok(0) => None,
            Ok(left) => Some(format!(
                "{left} of {} blocks of process {pid} do not have the pages that they were found with",
                found.len()
            )),
            Err(Halt::Short(short)) => Some(format!(
                "blocks of process {pid} that were huge stay small: {short}; hugewise collapse {pid} makes \
                 them huge"
            )),
            Err(_) => None,
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Chooses as many blocks as there is room for, at random.
fn chosen(able: Vec<Block>, room: u64, member: &Member) -> Vec<Block> {
    let all = able.len() as u64;
    match room.min(all) {
        0 => Vec::new(),
        room => thinned(able, room as f64 / all as f64, u64::from(member.pid())),
    }
}

fn other(work: Work) -> Work {
    match work {
        Work::Collapse => Work::Split,
        Work::Split => Work::Collapse,
    }
}

/// Returns the reasons of blocks with their counts.
fn reasons(skipped: &[Skipped]) -> String {
    let reasons = skipped.iter();
    let reasons: Vec<String> = reasons
        .map(|it| format!("{} {}", it.blocks, it.why))
        .collect();
    reasons.join(", ")
}

/// Returns the refusal of a process without a block to switch.
fn nothing(unit: &Unit, skipped: &[Skipped]) -> String {
    let size = hugewise_base::units::bytes_text(unit.huge_bytes);
    match skipped {
        [] => format!("{} has no whole block of {size} in memory", unit.name()),
        _ => format!(
            "{} has no block of {size} that can be switched; blocks by reason: {}",
            unit.name(),
            reasons(skipped)
        ),
    }
}
