//! One trial: the command, or the server with its load, in its environment.

use anyhow::{Context, Result};
use hugewise_experiment::run::plan::LatencySource;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::plan::service as plan;
use hugewise_experiment::run::plan::service::LoadPolicy;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::record::Header;
use hugewise_linux::collect;
use hugewise_linux::collect::service;
use hugewise_linux::collect::service::{LastLook, ServerEnd, Service, Stage};
use hugewise_linux::collect::{CountingPlan, Instruments, TrialObservation};
use hugewise_linux::spawn::{Echo, Launch, Output};
use hugewise_linux::undo::Unwatched;

use super::{Place, Rounds};
use crate::experiment::latency_files::LatencyFiles;
use crate::experiment::launch::surroundings;
use crate::experiment::workload::Workload;
use crate::options::Streams;

impl Rounds<'_> {
    /// Runs the workload once under the active policy.
    pub(super) fn observe(
        &self,
        header: &Header,
        place: Place,
        latency_files: &LatencyFiles,
    ) -> Result<TrialObservation> {
        if let Some(driving) = &header.plan.service {
            return self.serve(header, driving, place, latency_files);
        }
        let policy = &header.plan.policies[place.slot.policy];
        let realisation = &header.realisations[&policy.name];
        let launch = self.surroundings(&header.plan).under(realisation);
        let launch = Launch {
            command: Workload::of(self.options, header, policy).under(&policy.settings),
            ..launch
        };
        let watch = self.instruments(header, place);
        let interrupt = self.interrupt.flag();
        collect::trial(self.root, &header.host, &launch, &watch, interrupt)
            .context("watching the workload")
    }

    fn instruments<'b>(&'b self, header: &'b Header, place: Place) -> Instruments<'b> {
        let policy = &header.plan.policies[place.slot.policy];
        Instruments {
            files: &self.files,
            expected: &header.realisations[&policy.name],
            counting: CountingPlan {
                plan: self.counters.as_ref(),
                round: place.round,
            },
            stalls: self.stalls.as_ref(),
        }
    }

    fn serve(
        &self,
        header: &Header,
        driving: &plan::Service,
        place: Place,
        latency_files: &LatencyFiles,
    ) -> Result<TrialObservation> {
        if let Some(servers) = &mut *self.servers.borrow_mut() {
            let load = |stage: Stage<'_>| servers.load(stage, place);
            return self.on_stage(header, driving, place, latency_files, load);
        }
        let observed = self.on_stage(header, driving, place, latency_files, service::trial)?;
        let ended = observed.served.as_ref().map(|served| served.ended);
        self.report_killing(driving, ended.filter(|_| !observed.interrupted));
        Ok(observed)
    }

    /// Starts the server of a place with its observers, and calls a function with it.
    pub(super) fn on_stage<T>(
        &self,
        header: &Header,
        driving: &plan::Service,
        place: Place,
        last_look: &dyn LastLook,
        act: impl FnOnce(Stage<'_>) -> hugewise_linux::machine::error::Result<T>,
    ) -> Result<T> {
        let policy = &header.plan.policies[place.slot.policy];
        let workload = Workload::of(self.options, header, policy);
        let watch = self.instruments(header, place);
        let (server, load) = self.launches(&header.plan, driving, watch.expected);
        let service = Service {
            plan: driving,
            command: &workload.line_under(&policy.settings),
            server: &server,
            load: &load,
            scratch: &std::env::temp_dir(),
            steps: &Unwatched,
            last_look,
        };
        let stage = Stage {
            root: self.root,
            host: &header.host,
            service: &service,
            watch: &watch,
            interrupt: self.interrupt.flag(),
        };
        act(stage).context("watching the service")
    }

    /// The environments of the server and of its load.
    fn launches(
        &self,
        plan: &Plan,
        driving: &plan::Service,
        policy: &Realisation,
    ) -> (Launch, Launch) {
        let echo = match self.options.output {
            Some(Streams::Show) => Echo::Stderr,
            _ => Echo::Silent,
        };
        let server = Launch {
            output: Output::Log(echo),
            timeout: None,
            ..self.surroundings(plan).under(policy)
        };
        let load = Launch {
            stdin: None,
            ..self.surroundings(plan)
        };
        let load = match driving.load_policy {
            LoadPolicy::None => load,
            LoadPolicy::Same => load.under(policy),
        };
        (server, load)
    }

    /// Reports this only once, because every server would be the same. After a signal no server gets its grace time.
    pub(super) fn report_killing(&self, driving: &plan::Service, ended: Option<ServerEnd>) {
        let was_late = ended == Some(ServerEnd::Killed) && !self.interrupt.asked();
        if !was_late || self.killing_reported.replace(true) {
            return;
        }
        let asked = match &driving.stop_command {
            Some(line) => format!("`{}`", line.text()),
            None => driving.stop_signal.to_string(),
        };
        crate::stderr::message(format_args!(
            "the server was still running {} s after {asked} and was killed: --grace gives it \
             more time, --stop-signal and --stop-command stop it in another way",
            driving.grace.as_secs_f64()
        ));
    }

    /// The environment of the command, without the command and the policy's changes to it.
    fn surroundings(&self, plan: &Plan) -> Launch {
        let from_stdout = |source: &LatencySource| {
            source.place == hugewise_experiment::run::plan::LatencyPlace::Stdout
        };
        let reads = !plan.printed.is_empty() || plan.bench.is_some();
        let keep =
            reads || self.trial_output.is_some() || plan.latency.as_ref().is_some_and(from_stdout);
        let output = match self.options.output {
            Some(Streams::Show) => Output::Show,
            _ if keep => Output::Keep,
            _ => Output::Discard,
        };
        surroundings(
            self.options,
            self.identity.as_ref(),
            output,
            self.hold.at_exit(),
        )
    }
}
