//! Commands that are run to their end or their deadline, line by line, and the last lines of their output.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use crate::{Error, Group, Result};

/// How long the output of an ended command may still be read: a process that left its group may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(10);

/// How a watched command ended.
#[derive(Clone, Copy, Debug)]
pub enum Ended {
    /// By itself.
    With(ExitStatus),
    /// It was killed because its deadline passed.
    TooLate,
}

impl Ended {
    /// Whether it ended by itself, and well.
    #[must_use]
    pub fn success(&self) -> bool {
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
///
/// # Errors
/// It cannot be started, signalled or waited for.
pub fn run_lines(command: &mut Command, deadline: Duration, mut on_line: impl FnMut(&str)) -> Result<Ended> {
    let until = Instant::now() + deadline;
    let mut group = Group::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let (sender, events) = channel();
    let stdout = group.take_stdout();
    std::thread::spawn({
        let sender = sender.clone();
        move || stdout.into_iter().for_each(|stdout| send_lines(stdout, &sender))
    });
    // Only the leader's end counts: what it leaves behind may hold the pipe, and is killed below.
    let id = group.pid();
    std::thread::spawn(move || {
        // Left unreaped, so that its id cannot name another group when the group is killed.
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
                // First a chance to clean up: it may have started processes that left the group.
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
        // Without a receiver the command was given up: there is no reason to read on.
        if sender.send(Event::Line(text)).is_err() {
            return;
        }
        line.clear();
    }
    let _ = sender.send(Event::Closed);
}

/// Runs a command to its end or its deadline with all its output in a file.
///
/// # Errors
/// As [`run_lines`], or the file cannot be written.
pub fn run_into(command: &mut Command, log: &Path, deadline: Duration) -> Result<Ended> {
    let written = || Error::host("write", log.display().to_string());
    let file = File::create(log).map_err(written())?;
    let mut file_for_lines = file.try_clone().map_err(written())?;
    command.stderr(Stdio::from(file));
    run_lines(command, deadline, |line| {
        // A log that cannot be written costs the reader a line, not the run.
        let _ = writeln!(file_for_lines, "{line}");
    })
}

/// The last lines of a file, indented, to be shown below a failure.
#[must_use]
pub fn tail(log: &Path, lines: usize) -> String {
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
    use super::*;

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
