//! Drivers that are programs of their own: child processes that take a task and report what they saw. One of
//! `tools-testbed`'s `peers/etcd` is in Go, one of `peers/concoord` in Python, one of `peers/recipes` in Java.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use council_client::load::Patience;
use serde::{Deserialize, Serialize};
use tools_process::{Group, Signal};
use tools_testbed::meter::{Edge, Edges};
use tools_testbed::peer::LoadProgram;

use super::Task;
use super::outcome::{Outcome, Written};

/// How often it is checked whether the user has stopped the run.
const LOOK_EVERY: Duration = Duration::from_millis(50);

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

/// Has a program perform a task on these servers.
///
/// # Errors
/// The program failed; the error has its output.
pub(crate) fn perform(
    load: &LoadProgram,
    task: &Task,
    endpoints: Vec<String>,
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let task = &Task { count: task.count.min(i32::MAX as u32), ..task.clone() };
    let order = serde_json::to_string(&Order { endpoints, task })?;
    obey(load, &order, patience, edges)
}

/// Has a program do what a line of its own language says.
///
/// # Errors
/// The program failed; the error has its output.
pub(crate) fn obey(
    load: &LoadProgram,
    order: &str,
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let mut command = load.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Group::spawn(&mut command).map_err(io::Error::other)?;
    converse(load.of, &mut child, order, patience, edges)
}

fn converse(
    of: &str,
    child: &mut Group,
    order: &str,
    patience: &Patience,
    edges: &mut Edges<'_>,
) -> io::Result<Outcome> {
    let (Some(mut input), Some(output), Some(mut errors)) =
        (child.take_stdin(), child.take_stdout(), child.take_stderr())
    else {
        return Err(io::Error::other("a child without pipes"));
    };
    let over = std::sync::atomic::AtomicBool::new(false);
    let child = &*child;
    thread::scope(|scope| {
        let complaint = scope.spawn(move || {
            let mut text = String::new();
            // Output that cannot be read is ignored.
            let _ = errors.read_to_string(&mut text);
            text
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if patience.stop.load(Ordering::Relaxed) {
                    // It may be gone already.
                    let _ = child.signal(Signal::KILL);
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
