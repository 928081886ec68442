//! Drivers that are programs of their own: child processes that take a task and say what they saw. `etcd/` is one, in Go,
//! `concoord/` one in Python.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use council_client::load::Patience;
use serde::{Deserialize, Serialize};

use super::outcome::{Outcome, Written};
use super::{Edge, Edges, Task};

/// How often it is looked whether somebody has had enough.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A program that loads a system.
#[derive(Clone, Debug)]
pub struct Driver {
    /// What it loads.
    of: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

/// A task with where the servers are.
#[derive(Serialize)]
struct Order<'a> {
    endpoints: Vec<String>,
    #[serde(flatten)]
    task: &'a Task,
}

/// A line that it says before the last one.
#[derive(Deserialize)]
struct Said {
    edge: String,
    phase: String,
}

impl Driver {
    /// The program of that path, for the system `of`.
    #[must_use]
    pub fn new(of: &'static str, program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        Self { of, program: program.to_owned(), arguments, environment: Vec::new() }
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: String) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Performs a task on these servers.
    ///
    /// # Errors
    /// The program failed; what it said is told.
    pub fn perform(
        &self,
        task: &Task,
        endpoints: Vec<String>,
        patience: &Patience,
        edges: &mut Edges<'_>,
    ) -> io::Result<Outcome> {
        let task = &Task { count: task.count.min(i32::MAX as u32), ..task.clone() };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let order = serde_json::to_string(&Order { endpoints, task })?;
        let outcome = converse(self.of, &mut child, &order, patience, edges);
        // It has ended, or has nothing more to say that anybody would hear.
        let _ = child.kill();
        let _ = child.wait();
        outcome
    }
}

fn converse(
    of: &str,
    child: &mut Child,
    order: &str,
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let (Some(mut input), Some(output), Some(mut errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("a child without pipes"));
    };
    let pid = rustix::process::Pid::from_child(child);
    let over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let complaint = scope.spawn(move || {
            let mut text = String::new();
            // What cannot be read was not said.
            let _ = errors.read_to_string(&mut text);
            text
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if patience.stop.load(Ordering::Relaxed) {
                    // It may be gone already.
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                    return;
                }
                thread::sleep(LOOK_EVERY);
            }
        });
        let heard = hear(&mut input, output, order, edges);
        over.store(true, Ordering::Relaxed);
        drop(input);
        match heard? {
            Some(outcome) => Ok(outcome),
            None => {
                let complaint = complaint.join().unwrap_or_default();
                patience.check()?;
                let last = complaint.trim().lines().next_back().unwrap_or("it said nothing").to_owned();
                Err(io::Error::other(format!("the load of {of} ended: {last}")))
            }
        }
    })
}

/// Takes what it says, line by line; nothing if it ends before the outcome.
fn hear(
    input: &mut impl Write,
    output: impl Read,
    order: &str,
    edges: &mut Edges<'_>,
) -> io::Result<Option<Outcome>> {
    writeln!(input, "{order}")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        if let Ok(Said { edge, phase }) = serde_json::from_str(&line) {
            edges(if edge == "begin" { Edge::Begin } else { Edge::End }, &phase);
            writeln!(input)?;
        } else if let Ok(written) = serde_json::from_str::<Written>(&line) {
            return Ok(Some(written.into()));
        }
    }
    Ok(None)
}
