//! Compares how much memory the default policies make huge in the warm-up. If two show the same about huge pages, only
//! the cheaper one is run.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hugewise_base::units::Unit;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::policy::{Policy, Settings, Thp};
use hugewise_experiment::run::record::{Header, RemovalReason};
use hugewise_experiment::run::trial::Trial;
use hugewise_text::number::quantity;

/// The share of another policy's huge memory at which a policy shows the same.
const AS_MUCH: f64 = 0.9;

/// Peak huge memory in the first trial of each policy, in bytes; `None` if unknown.
#[derive(Debug, Default)]
pub(super) struct UsualReach {
    huge: RefCell<BTreeMap<String, Option<f64>>>,
}

/// The policies that this comparison decides between.
struct Rivals<'a> {
    /// Sets the system-wide mode, or has a tracer or a library advise the mappings.
    always: &'a Policy,
    /// Makes malloc advise its mappings, which also changes how malloc works.
    malloc: &'a Policy,
    malloc_alone: &'a Policy,
}

impl UsualReach {
    /// Returns true if a rival has not run yet.
    pub(super) fn is_open(&self, header: &Header) -> bool {
        let known = self.huge.borrow();
        let rivals = Rivals::of(&header.plan);
        let is_known = |policy: &Policy| known.contains_key(&policy.name);
        rivals.is_some_and(|it| !is_known(it.always) || !is_known(it.malloc))
    }

    /// Learns from a trial; returns the policies that need not run, with the reasons.
    pub(super) fn learn(&self, header: &Header, trial: &Trial) -> BTreeMap<String, RemovalReason> {
        let was_open = self.is_open(header);
        let huge = trial.value(MetricId::HugeAnonPeakBytes);
        let huge = huge.filter(|_| trial.succeeded());
        self.huge
            .borrow_mut()
            .entry(trial.policy.clone())
            .or_insert(huge);
        match was_open && !self.is_open(header) {
            true => self.spared(header).unwrap_or_default(),
            false => BTreeMap::new(),
        }
    }

    fn spared(&self, header: &Header) -> Option<BTreeMap<String, RemovalReason>> {
        let huge = |policy: &Policy| self.huge.borrow().get(&policy.name).copied().flatten();
        let rivals = Rivals::of(&header.plan)?;
        let (always, malloc) = (huge(rivals.always)?, huge(rivals.malloc)?);
        let realisation = header.realisations.get(&rivals.always.name)?;
        let means = match (realisation.is_traced(), &realisation.library) {
            (true, _) => Some("a tracer"),
            (false, Some(_)) => Some("a preloaded library"),
            (false, None) => None,
        };
        let page = header.host.pmd_bytes()? as f64;
        let [of_malloc, of_always] = [malloc, always].map(|it| quantity(&Unit::Bytes, it));
        let (left_out, why) = match means {
            Some(means) if malloc > page && malloc >= AS_MUCH * always => (
                means_of_always(&header.plan, rivals.always),
                format!(
                    "{} makes {of_malloc} huge without {means}, {} {of_always} with it, which costs \
                     time; to run it: --policy {}",
                    rivals.malloc.name, rivals.always.name, rivals.always.name
                ),
            ),
            None if always > page && always >= AS_MUCH * malloc => (
                vec![rivals.malloc_alone],
                format!(
                    "{} makes {of_always} huge, {} {of_malloc}",
                    rivals.always.name, rivals.malloc.name
                ),
            ),
            _ => return None,
        };
        let reason = |policy: &Policy| {
            let why = RemovalReason::TellsNoMore(why.clone());
            (policy.name.clone(), why)
        };
        Some(left_out.into_iter().map(reason).collect())
    }
}

/// The policy, and the controls that measure the cost of its mechanism.
fn means_of_always<'a>(plan: &'a Plan, always: &'a Policy) -> Vec<&'a Policy> {
    let idle = plan.policies.iter().filter(|it| it.is_idle_means());
    std::iter::once(always).chain(idle).collect()
}

impl<'a> Rivals<'a> {
    fn of(plan: &'a Plan) -> Option<Self> {
        let always = Settings {
            thp: Some(Thp::Always),
            ..Settings::default()
        };
        let policies = || plan.policies.iter();
        let pair = |malloc: &'a Policy| Some((malloc, plan.malloc_alone(malloc)?));
        let (malloc, malloc_alone) = policies().find_map(pair)?;
        Some(Self {
            always: policies().find(|it| it.settings == always)?,
            malloc,
            malloc_alone,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hugewise_experiment::run::policy::realise::TreeTracer;
    use hugewise_experiment::run::record::Record;
    use hugewise_experiment::run::trial::Reading;

    use super::*;
    use crate::experiment::recorder::read;

    const MIB: f64 = 1_048_576.0;

    /// The default policies of an ordinary user, with `thp=always` realised by this tracer.
    fn record(tracer: TreeTracer) -> Record {
        let kept = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/records/python-dict.jsonl"
        );
        let mut record = read(Path::new(kept)).expect("a kept record");
        let header = &mut record.header;
        let names = [
            "as-is",
            "thp=never",
            "thp=always",
            "malloc=thp",
            "tracer=idle",
            "thp=never,malloc=thp",
        ];
        let policies = names.iter().map(|name| name.parse().expect("a policy"));
        header.plan.policies = policies.collect();
        let always = header.realisations.get_mut("thp=always");
        let always = always.expect("it was run");
        always.tracer = tracer;
        always.files.clear();
        record
    }

    /// The policies dropped when `thp=always` and `malloc=thp` make this many MiB huge.
    fn spared(tracer: TreeTracer, always: f64, malloc: f64) -> Vec<String> {
        let record = record(tracer);
        let reach = UsualReach::default();
        let mut spared = Vec::new();
        for (policy, huge) in [
            ("malloc=thp", malloc),
            ("as-is", 0.0),
            ("thp=always", always),
        ] {
            assert!(reach.is_open(&record.header) && spared.is_empty());
            let mut trial = record.trials[0].clone();
            trial.policy = policy.to_owned();
            let name = MetricId::HugeAnonPeakBytes.name();
            trial
                .readings
                .insert(name.to_owned(), Reading::of(huge * MIB));
            spared.extend(reach.learn(&record.header, &trial).into_keys());
        }
        assert!(!reach.is_open(&record.header));
        spared
    }

    #[test]
    fn a_tracer_is_spared_where_malloc_reaches_as_much() {
        let both = ["thp=always", "tracer=idle"];
        assert_eq!(spared(TreeTracer::Huge, 26.0, 224.0), both);
        assert_eq!(spared(TreeTracer::Huge, 224.0, 220.0), both);
        assert!(spared(TreeTracer::Huge, 224.0, 26.0).is_empty());
        assert!(spared(TreeTracer::Huge, 0.0, 0.0).is_empty());
    }

    #[test]
    fn malloc_alone_is_spared_where_the_setting_reaches_as_much() {
        assert_eq!(
            spared(TreeTracer::None, 224.0, 226.0),
            ["thp=never,malloc=thp"]
        );
        assert!(spared(TreeTracer::None, 26.0, 224.0).is_empty());
    }
}
