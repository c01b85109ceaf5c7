//! Policies whose mechanism breaks the command: they get another mechanism, or are dropped.

use anyhow::Result;
use hugewise_experiment::run::policy::realise::{Realisation, realise};
use hugewise_experiment::run::record::{ChangeOfMeans, Record};
use hugewise_experiment::run::trial::Clash;

use super::Rounds;
use crate::experiment::failures::without_tracer;
use crate::experiment::progress::Progress;
use crate::experiment::recorder::Recorder;
use crate::paths;

impl Rounds<'_> {
    /// Applies policies by another mechanism if the first trials showed that theirs breaks the command. Drops a policy
    /// without an alternative.
    pub(super) fn settle_clashes(
        &self,
        round: u32,
        recorder: &mut Recorder,
        progress: &Progress,
    ) -> Result<()> {
        for (policy, failure) in self.idle.failures.found(&recorder.record().header) {
            let Some(clash) = failure.clash else { continue };
            self.idle.failures.forget(&policy);
            let Some(realisation) = self.other_means(recorder.record(), &policy, clash) else {
                self.idle.add(policy, failure.reason());
                continue;
            };
            paths::install_library(&realisation)?;
            self.stop_servers(&recorder.record().header)?;
            progress.print_above(&format!(
                "{policy}: by {}, because a tracer breaks the command: {clash}",
                realisation.means()
            ));
            recorder.change_means(ChangeOfMeans {
                round,
                policy,
                clash,
                realisation,
            });
        }
        Ok(())
    }

    fn other_means(&self, record: &Record, policy: &str, clash: Clash) -> Option<Realisation> {
        let header = &record.header;
        let mut policies = header.plan.policies.iter();
        let policy = policies.find(|it| it.name == policy)?;
        let other = without_tracer(policy, header.realisations.get(&policy.name)?, clash)?;
        realise(&other, &header.host, self.options.reach()).ok()
    }
}
