//! `text=file`: the pages of code in the page cache before each trial, huge under this policy and small under all others.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::policy::{Policy, Text, environment};
use hugewise_experiment::run::record::Header;
use hugewise_linux::apply::cached_code::CachedCode;
use hugewise_linux::apply::runtime::CommandContext;
use hugewise_linux::machine::identity::Identity;

use crate::exit;
use crate::experiment::workload::Workload;
use crate::options::Options;
use crate::stderr::message;

/// The code of all programs under `text=file` in an experiment.
#[derive(Debug)]
pub struct CodePages {
    directory: Option<PathBuf>,
    identity: Option<Identity>,
    block: u64,
    /// The start of each such policy.
    commands: Vec<Start>,
    /// The obstacles printed so far.
    told: RefCell<BTreeSet<String>>,
}

/// A command with its variables.
#[derive(Debug)]
struct Start {
    words: Vec<OsString>,
    environment: Vec<(String, String)>,
}

fn variables(realisation: &Realisation) -> Vec<(String, String)> {
    environment(&realisation.environment, |name| std::env::var(name).ok())
}

/// Returns true if a policy puts code into huge pages of the page cache.
pub fn is_in_cache(realisation: &Realisation) -> bool {
    realisation.text == Some(Text::File)
}

impl CodePages {
    /// Makes the code of such policies huge and small once, to find out whether both are possible; `None` if there is
    /// no such policy.
    pub fn begin(
        options: &Options,
        identity: Option<&Identity>,
        header: &Header,
    ) -> Result<Option<Self>> {
        let plan = &header.plan;
        let are_it = |policy: &&Policy| is_in_cache(&header.realisations[&policy.name]);
        let policies: Vec<&Policy> = plan.policies.iter().filter(are_it).collect();
        let Some(first) = policies.first() else {
            return Ok(None);
        };
        let refused = |why: String| exit::refused(format!("policy `{}`: {why}", first.name));
        let block = header.host.pmd_bytes();
        let commands = policies.iter().map(|policy| Start {
            words: Workload::of(options, header, policy).under(&policy.settings),
            environment: variables(&header.realisations[&policy.name]),
        });
        let pages = Self {
            directory: options.directory.clone(),
            identity: identity.cloned(),
            block: block.ok_or_else(|| refused("this kernel has no huge pages".to_owned()))?,
            commands: commands.collect(),
            told: RefCell::default(),
        };
        pages.try_both().map_err(refused)?;
        Ok(Some(pages))
    }

    fn try_both(&self) -> Result<(), String> {
        for command in &self.commands {
            let code = self.code(command)?;
            let before = code.huge_bytes()?;
            if before > 0 {
                message(format_args!(
                    "{} of the code are in huge pages of the page cache already, since its file was \
                     written or read in large pieces; all policies but text=file run with small pages",
                    bytes_text(before)
                ));
            }
            code.make_huge()?;
            code.make_small()?;
        }
        Ok(())
    }

    /// Prepares the pages for a trial. Files are found each time, because `--prepare` may build the program.
    pub fn prepare(&self, realisation: &Realisation) -> Result<(), String> {
        for command in &self.commands {
            let code = self.code(command)?;
            match is_in_cache(realisation) {
                true => code.make_huge().map(drop)?,
                false => code.make_small()?,
            }
        }
        Ok(())
    }

    /// Leaves small pages behind.
    pub fn end(&self) {
        for command in &self.commands {
            let small = self.code(command).and_then(|code| code.make_small());
            if let Err(why) = small {
                message(format_args!("text=file: {why}"));
            }
        }
    }

    fn code(&self, command: &Start) -> Result<CachedCode, String> {
        let start = CommandContext {
            words: &command.words,
            environment: &command.environment,
            identity: self.identity.as_ref(),
            directory: self.directory.as_deref(),
        };
        let code = CachedCode::find(start, self.block)?;
        let mut told = self.told.borrow_mut();
        for obstacle in code.obstacles() {
            if told.insert(obstacle.clone()) {
                message(format_args!("text=file: {obstacle}"));
            }
        }
        Ok(code)
    }
}
