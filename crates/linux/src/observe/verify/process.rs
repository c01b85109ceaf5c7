//! The laboratory as a program.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hugewise_base::missing::Missing;
use hugewise_observe::verify::loops::Loop;

use super::{Laboratory, RunningLoop};

/// The program `hugewise-lab`.
#[derive(Clone, Debug)]
pub struct LaboratoryProgram {
    /// Its file.
    pub path: PathBuf,
}

impl Laboratory for LaboratoryProgram {
    fn start(&self, one: &Loop, cpu: Option<u32>) -> Result<Box<dyn RunningLoop>, Missing> {
        let mut command = Command::new(&self.path);
        command.args(["tlb", "--side", one.side.name(), "--page", one.page.name()]);
        command.args(["--pages", &one.places.to_string()]);
        command.args(["--step", &one.step.to_string()]);
        if let Some(cpu) = cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let fault = |error: std::io::Error| {
            Missing::unreadable(format!("starting {}: {error}", self.path.display()))
        };
        let mut process = pipes.spawn().map_err(fault)?;
        let ends = process.stdin.take().zip(process.stdout.take());
        let (orders, answers) = ends.ok_or_else(|| fault(std::io::ErrorKind::BrokenPipe.into()))?;
        let mut running = Process {
            process,
            orders,
            answers: BufReader::new(answers),
            instructions: 0.0,
        };
        let line = running.line()?;
        running.instructions = parse_ready(&line)
            .ok_or_else(|| Missing::unreadable(format!("hugewise-lab tlb: `{}`", line.trim())))?;
        Ok(Box::new(running))
    }
}

/// Parses `tlb PID INSTRUCTIONS`.
fn parse_ready(line: &str) -> Option<f64> {
    let mut words = line.split_ascii_whitespace();
    let is_ready = words.next() == Some("tlb") && words.next()?.parse::<u32>().is_ok();
    let instructions = words.next()?.parse().ok()?;
    (is_ready && words.next().is_none()).then_some(instructions)
}

/// A loop in a separate process. Dropping it ends the process.
struct Process {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    instructions: f64,
}

impl RunningLoop for Process {
    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn instructions(&self) -> f64 {
        self.instructions
    }

    fn run(&mut self, accesses: u64) -> Result<(), Missing> {
        // An ended process does not answer, which is reported below.
        let _ = self.orders.write_all(format!("{accesses}\n").as_bytes());
        self.line().map(drop)
    }
}

impl Process {
    /// Reads the next line, or the reason why there is none.
    fn line(&mut self) -> Result<String, Missing> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line),
            _ => Err(self.gone()),
        }
    }

    /// The reason that the ended process gave.
    fn gone(&mut self) -> Missing {
        let mut words = String::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            let _ = stderr.read_to_string(&mut words);
        }
        let words = words.trim();
        let words = words.strip_prefix("hugewise-lab: ").unwrap_or(words);
        match words.strip_prefix("not on this machine: ") {
            Some(what) => Missing::not_supported(what),
            None if words.is_empty() => Missing::unreadable("the loop ended early"),
            None => Missing::unreadable(words),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_has_the_instructions() {
        assert_eq!(parse_ready("tlb 4711 9\n"), Some(9.0));
        for bad in ["", "tlb 4711", "tlb x 9", "done", "tlb 1 9 9"] {
            assert_eq!(parse_ready(bad), None, "{bad}");
        }
    }
}
