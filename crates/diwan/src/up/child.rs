//! One member's process: started, watched, started again after a moment, stopped.

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::layout::{self, Place};

/// Between a member's end and its next start: at first, and if it ends soon each time.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_secs(30));
/// A member that has run for longer has not failed to start.
const SOON: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) place: Place,
    properties: Vec<String>,
    child: Option<Child>,
    started: Instant,
    pause: Duration,
    due: Option<Instant>,
}

/// How a member's process ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) pid: u32,
    pub(crate) how: String,
}

impl Member {
    pub(crate) fn new(place: Place, properties: Vec<String>) -> Self {
        Self { place, properties, child: None, started: Instant::now(), pause: PAUSE.0, due: None }
    }

    /// Starts its process, in a group of its own: the ctrl-c of a terminal is for us alone. It ends when its standard
    /// input does, and with it whenever we are gone.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        let log = layout::open_log(&self.place)?;
        let child = Command::new(std::env::current_exe()?)
            .args(["serve", "--until-input-ends", "--config"])
            .arg(self.place.configuration())
            .args(self.properties.iter().flat_map(|property| ["-D", property.as_str()]))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        (self.child, self.started, self.due) = (Some(child), Instant::now(), None);
        Ok(())
    }

    /// Its process, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Whether it has ended since the last look.
    pub(crate) fn ended(&mut self) -> io::Result<Option<End>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let Some(status) = child.try_wait()? else { return Ok(None) };
        let end = End { pid: child.id(), how: told(status) };
        self.child = None;
        Ok(Some(end))
    }

    /// It is to start again after a moment; gives how long that is.
    pub(crate) fn rest(&mut self) -> Duration {
        let pause = if self.started.elapsed() > SOON { PAUSE.0 } else { self.pause };
        self.pause = (pause * 2).min(PAUSE.1);
        self.due = Some(Instant::now() + pause);
        pause
    }

    /// Whether it is to start now.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    /// Asks it to stop in good order, or ends it at once.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            // It may have ended a moment ago.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// The last line of its log.
    pub(crate) fn last_words(&self) -> Option<String> {
        let log = std::fs::read(self.place.log()).ok()?;
        let tail = log.get(log.len().saturating_sub(8 << 10)..)?;
        let text = String::from_utf8_lossy(tail);
        let said = text.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("--"));
        said.map(String::from)
    }
}

fn told(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => String::from("was killed (signal 9)"),
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(0)) => String::from("stopped"),
        (None, code) => format!("failed with status {}", code.unwrap_or(-1)),
    }
}
