//! Loading the programs of one means and attaching them.

use aya::Btf;
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{FEntry, FExit, KProbe, PerfEvent, Program, TracePoint};
use hugewise_observe::trace::{Attachment, PointKind};

use super::super::ladder::{FAULT_EVENT, FAULT_TRACEPOINTS};
use super::super::programs::{
    Attached, CARETAKER, THREAD_GONE, attach_raw_tp, attach_tp_btf, find,
};
use super::{Attempt, Probe};

impl Probe {
    pub(super) fn attach(
        &mut self,
        attempt: &Attempt,
        types: &Btf,
        processors: &[u32],
    ) -> Attached {
        match attempt.kind {
            PointKind::Events => self.event(attempt, types),
            PointKind::Durations => {
                self.raw_tp(CARETAKER, THREAD_GONE)?;
                self.both_ends(attempt, types, processors)
            }
        }
    }

    /// Events are those of tracepoints.
    fn event(&mut self, attempt: &Attempt, types: &Btf) -> Attached {
        let name = &*attempt.begin;
        match attempt.attachment {
            Attachment::TpBtf => self.tp_btf("tp_btf_event", name, types),
            Attachment::RawTp => self.raw_tp("raw_tp_event", name),
            Attachment::Tracepoint => self.tracepoint("tracepoint_event", &attempt.group, name),
            Attachment::Fentry | Attachment::Kprobe | Attachment::PerfEvent => {
                Err(format!("{:?} has two ends", attempt.attachment).into())
            }
        }
    }

    /// The end is attached before the begin, so that no begin is left without its end.
    fn both_ends(&mut self, attempt: &Attempt, types: &Btf, processors: &[u32]) -> Attached {
        let begin = &*attempt.begin;
        let end = attempt.end.as_deref().unwrap_or(begin);
        match attempt.attachment {
            Attachment::Fentry => self.function_calls(begin, types),
            Attachment::Kprobe => {
                self.kprobe("kretprobe_end", begin)?;
                self.kprobe("kprobe_begin", begin)
            }
            Attachment::TpBtf => {
                self.tp_btf("tp_btf_end", end, types)?;
                self.tp_btf("tp_btf_begin", begin, types)
            }
            Attachment::RawTp => {
                self.raw_tp("raw_tp_end", end)?;
                self.raw_tp("raw_tp_begin", begin)
            }
            Attachment::Tracepoint => {
                self.tracepoint("tracepoint_end", &attempt.group, end)?;
                self.tracepoint("tracepoint_begin", &attempt.group, begin)
            }
            Attachment::PerfEvent => self.faults(begin, types, processors),
        }
    }

    fn faults(&mut self, begin: &str, types: &Btf, processors: &[u32]) -> Attached {
        self.every_fault("minor_fault_end", SoftwareEvent::PageFaultsMin, processors)?;
        self.every_fault("major_fault_end", SoftwareEvent::PageFaultsMaj, processors)?;
        if begin == FAULT_EVENT {
            return self.every_fault("fault_begin", SoftwareEvent::PageFaults, processors);
        }
        let [user, kernel] = FAULT_TRACEPOINTS;
        self.tp_btf("kernel_fault_begin", kernel, types)?;
        self.tp_btf("user_fault_begin", user, types)
    }

    fn function_calls(&mut self, function: &str, types: &Btf) -> Attached {
        let program: &mut FExit = self.program("fexit_end")?;
        program.load(function, types)?;
        program.attach()?;
        let program: &mut FEntry = self.program("fentry_begin")?;
        program.load(function, types)?;
        program.attach()?;
        Ok(())
    }

    fn program<'a, T>(&'a mut self, name: &'static str) -> Result<&'a mut T, String>
    where
        &'a mut T: TryFrom<&'a mut Program>,
    {
        self.programs.push(name);
        find(&mut self.object, name)
    }

    fn kprobe(&mut self, name: &'static str, function: &str) -> Attached {
        let program: &mut KProbe = self.program(name)?;
        program.load()?;
        program.attach(function, 0)?;
        Ok(())
    }

    fn tp_btf(&mut self, name: &'static str, event: &str, types: &Btf) -> Attached {
        self.programs.push(name);
        attach_tp_btf(&mut self.object, name, event, types)
    }

    fn raw_tp(&mut self, name: &'static str, event: &str) -> Attached {
        self.programs.push(name);
        attach_raw_tp(&mut self.object, name, event)
    }

    fn tracepoint(&mut self, name: &'static str, group: &str, event: &str) -> Attached {
        let program: &mut TracePoint = self.program(name)?;
        program.load()?;
        program.attach(group, event)?;
        Ok(())
    }

    fn every_fault(
        &mut self,
        name: &'static str,
        event: SoftwareEvent,
        processors: &[u32],
    ) -> Attached {
        let program: &mut PerfEvent = self.program(name)?;
        program.load()?;
        for &cpu in processors {
            program.attach(
                PerfEventConfig::Software(event),
                PerfEventScope::AllProcessesOneCpu { cpu },
                SamplePolicy::Period(1),
                false,
            )?;
        }
        Ok(())
    }
}
