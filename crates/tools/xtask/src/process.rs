//! Child processes that never outlive us: each in a process group of its own, killed whole when it is
//! dropped, when its deadline passes, or when we are interrupted.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How long the output of an ended command may still be read: somebody who left its group may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(10);
/// The same when somebody waits at the terminal.
const GRACE_WHEN_INTERRUPTED: Duration = Duration::from_millis(500);

static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A child and everything it starts (unless that leaves the group on purpose).
pub(crate) struct Group {
    child: Child,
    id: Pid,
    reaped: Option<ExitStatus>,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).spawn().with_context(|| format!("cannot start `{name}`"))?;
        let id = Pid::from_child(&child);
        groups().push(id);
        Ok(Self { child, id, reaped: None })
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process_group(self.id, signal)
            .with_context(|| format!("cannot signal the process group {:?}", self.id))
    }

    /// The status, if the child has ended.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.reaped.is_none() {
            self.reaped = self.child.try_wait().context("cannot wait for a child")?;
            if self.reaped.is_some() {
                groups().retain(|id| *id != self.id);
            }
        }
        Ok(self.reaped)
    }

    /// The process id of the group's leader, for `/proc`.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the whole group and reaps the child.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        if let Some(status) = self.reaped {
            return Ok(status);
        }
        // The group may be empty already: that is what is wanted.
        let _ = kill_process_group(self.id, Signal::KILL);
        let status = self.child.wait().context("cannot wait for a killed child")?;
        self.reaped = Some(status);
        groups().retain(|id| *id != self.id);
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Nobody is left to tell: a child that cannot be reaped is already gone.
        let _ = self.kill();
    }
}

fn groups() -> std::sync::MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// On an interrupt or a request to end, kills every group and exits as a shell would report it.
pub(crate) fn kill_groups_on_signal() -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals =
        signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot listen to signals")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for last in [Signal::TERM, Signal::KILL] {
                for id in groups().iter() {
                    let _ = kill_process_group(*id, last);
                }
                std::thread::sleep(GRACE_WHEN_INTERRUPTED);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// How a watched command ended.
pub(crate) enum Ended {
    With(ExitStatus),
    /// It was killed because its deadline passed.
    TooLate,
}

impl Ended {
    pub(crate) fn success(&self) -> bool {
        matches!(self, Ended::With(status) if status.success())
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::With(status) => write!(f, "{status}"),
            Ended::TooLate => write!(f, "killed at its deadline"),
        }
    }
}

enum Event {
    Line(String),
    Closed,
    Exit,
}

/// Runs a command to its end or its deadline, handing over each line of its standard output.
pub(crate) fn run_lines(
    command: &mut Command,
    deadline: Duration,
    mut on_line: impl FnMut(&str),
) -> anyhow::Result<Ended> {
    let until = Instant::now() + deadline;
    let mut group = Group::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let stdout = group.child.stdout.take().context("the child has no standard output")?;
    let (sender, events) = channel();
    std::thread::spawn({
        let sender = sender.clone();
        move || send_lines(stdout, &sender)
    });
    // Only the leader's end counts: what it leaves behind may hold the pipe, and is killed below.
    let id = group.id;
    std::thread::spawn(move || {
        // Left unreaped, so that its id cannot name a stranger's group when the group is killed.
        let _ = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        sender.send(Event::Exit)
    });
    let (mut ended, mut warned, mut closed) = (None, false, false);
    while !closed || ended.is_none() {
        let patience = match (&ended, warned) {
            (None, false) => until.saturating_duration_since(Instant::now()),
            (None, true) => GRACE,
            (Some(_), _) => LAST_WORDS,
        };
        match events.recv_timeout(patience) {
            Ok(Event::Line(line)) => on_line(&line),
            Ok(Event::Closed) => closed = true,
            Ok(Event::Exit) if ended.is_none() => {
                let status = group.kill()?;
                ended = Some(if warned { Ended::TooLate } else { Ended::With(status) });
            }
            Ok(Event::Exit) => {}
            Err(_) if ended.is_none() && !warned => {
                // First a chance to put its own house in order: it may have started what left the group.
                group.signal(Signal::TERM)?;
                warned = true;
            }
            Err(_) if ended.is_none() => {
                group.kill()?;
                ended = Some(Ended::TooLate);
            }
            Err(_) => break,
        }
    }
    Ok(ended.unwrap_or(Ended::TooLate))
}

fn send_lines(output: impl Read, sender: &Sender<Event>) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        // Nobody listening means that the command was given up: reading on would serve nobody.
        if sender.send(Event::Line(text)).is_err() {
            return;
        }
        line.clear();
    }
    let _ = sender.send(Event::Closed);
}

/// Runs a command to its end or its deadline with all its output in a file.
pub(crate) fn run_into(
    command: &mut Command,
    log: &std::path::Path,
    deadline: Duration,
) -> anyhow::Result<Ended> {
    let file = std::fs::File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?;
    let mut file_for_lines = file.try_clone().context("cannot share a log")?;
    command.stderr(Stdio::from(file));
    run_lines(command, deadline, |line| {
        // A log that cannot be written costs the reader a line, not the run.
        let _ = writeln!(file_for_lines, "{line}");
    })
}

/// The last lines of a file, indented, to be shown below a failure.
pub(crate) fn tail(log: &std::path::Path, lines: usize) -> String {
    let text =
        std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    if all.is_empty() {
        return "    (it is empty)\n".into();
    }
    all[all.len().saturating_sub(lines)..].iter().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{Ended, run_lines};

    fn run(script: &str, deadline: Duration) -> (Ended, Vec<String>) {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::null());
        let ended = run_lines(&mut command, deadline, |line| lines.push(line.to_owned())).expect("sh runs");
        (ended, lines)
    }

    #[test]
    fn lines_and_status_arrive() {
        let (ended, lines) = run("echo a; echo b; exit 3", Duration::from_secs(60));
        assert_eq!(lines, ["a", "b"]);
        assert!(matches!(ended, Ended::With(status) if status.code() == Some(3)));
    }

    #[test]
    fn what_a_command_leaves_behind_does_not_hold_the_run() {
        let (ended, lines) = run("sleep 1000 & echo done", Duration::from_secs(60));
        assert!(ended.success());
        assert_eq!(lines, ["done"]);
    }

    #[test]
    fn a_late_command_is_asked_to_end() {
        let (ended, lines) =
            run("trap 'echo asked; exit 0' TERM; sleep 1000 & wait", Duration::from_millis(200));
        assert!(matches!(ended, Ended::TooLate));
        assert_eq!(lines, ["asked"]);
    }
}
