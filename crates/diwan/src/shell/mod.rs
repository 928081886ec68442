//! The shell: zkCli's verbs, interactive on a terminal, one command from the command line, or lines from a pipe.
//!
//! Data goes to standard output and all else to standard error, so that a pipe gets what was asked for alone.

mod complete;
mod failure;
mod show;
mod terminal;
mod verbs;
mod words;

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use council_client::{Client, Event, Events, Options, Pending, Watcher};
use council_connect::Connection;

use failure::Failure;
use verbs::Next;

/// The shell's options on the command line.
#[derive(Clone, Debug)]
pub(crate) struct ShellOptions {
    /// Servers, and what they are shown.
    pub(crate) connection: Connection,
    /// The session timeout to ask for, and how long to wait for the first connection.
    pub(crate) timeout: Duration,
    /// Whether a server that only reads will do.
    pub(crate) read_only: bool,
}

/// One shell with its session.
struct Shell<'o> {
    client: Client,
    options: ShellOptions,
    out: &'o mut dyn Write,
    watcher: Watcher,
    prints: Arc<AtomicBool>,
    /// Lines so far; in one command alone there are none.
    history: Vec<String>,
    /// What is still to come after the command, if it is the only one.
    awaited: Awaited,
    colours: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Nothing,
    OneEvent,
    AllEvents,
}

/// Runs one command, or lines from standard input.
pub(crate) fn run(options: ShellOptions, command: &[String]) -> ExitCode {
    let interactive = command.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let (watcher, events) = Watcher::new();
    let client = match open(&options, &watcher) {
        Ok(client) => client,
        Err(failure) => {
            complain(&failure, io::stderr().is_terminal());
            return ExitCode::FAILURE;
        }
    };
    let stdout = io::stdout();
    let mut out = stdout.lock();
    if interactive {
        // A prompt and a thread that shows events share the terminal.
        drop(out);
        return terminal::run(client, options, watcher, events);
    }
    let mut shell = Shell::new(client, options, &mut out, watcher);
    let result = if command.is_empty() { shell.lines(&events) } else { shell.one(command, &events) };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

fn open(options: &ShellOptions, watcher: &Watcher) -> Result<Client, Failure> {
    let how = Options::new().session_timeout(options.timeout).read_only(options.read_only).watcher(watcher);
    Ok(options.connection.open(how)?)
}

/// Prints what went wrong.
fn complain(failure: &Failure, colours: bool) {
    let (red, plain) = if colours { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    eprintln!("{red}{}{plain}", failure.text());
    if let Some(hint) = failure.hint() {
        eprintln!("hint: {hint}");
    }
}

fn unknown(verb: &str) -> Failure {
    let near = verbs::all()
        .map(|known| {
            (strsim::jaro_winkler(&verb.to_ascii_lowercase(), &known.name.to_ascii_lowercase()), known.name)
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    let hint = match near {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => String::from("`help` lists the commands"),
    };
    Failure::Said(format!("Command not found: {verb}"), Some(hint))
}

impl<'o> Shell<'o> {
    fn new(client: Client, options: ShellOptions, out: &'o mut dyn Write, watcher: Watcher) -> Self {
        let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let prints = Arc::new(AtomicBool::new(true));
        Self {
            client,
            options,
            out,
            watcher,
            prints,
            history: Vec::new(),
            awaited: Awaited::Nothing,
            colours,
        }
    }

    /// One command from the command line; whether it succeeded. With a watch it stays for the events.
    fn one(&mut self, command: &[String], events: &Events) -> io::Result<bool> {
        let known = command.first().and_then(|name| verbs::find(name));
        let reached = if known.is_some_and(verbs::Verb::needs_server) { self.reach() } else { Ok(()) };
        match reached.and_then(|()| self.perform(command)) {
            Ok(_) => {}
            // The reader of the output has seen enough of it.
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error),
            Err(failure) => {
                complain(&failure, self.colours);
                return Ok(false);
            }
        }
        self.out.flush()?;
        while self.awaited != Awaited::Nothing {
            let Ok(event) = events.recv() else { break };
            if !verbs::is_of_connection(&event) {
                self.show(&event)?;
                if self.awaited == Awaited::OneEvent || event.path.is_none() {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Lines from a pipe; whether all succeeded.
    fn lines(&mut self, events: &Events) -> io::Result<bool> {
        if let Err(failure) = self.reach() {
            complain(&failure, self.colours);
            return Ok(false);
        }
        let mut fine = true;
        for line in io::stdin().lock().lines() {
            match self.line(&line?) {
                Ok(Next::Quit) => break,
                Ok(Next::Go) => {}
                Err(Failure::Output(error)) => return Err(error),
                Err(failure) => {
                    fine = false;
                    complain(&failure, self.colours);
                }
            }
            while let Some(event) = events.try_recv() {
                if self.prints_watches() && !verbs::is_of_connection(&event) {
                    self.show(&event)?;
                }
            }
            self.out.flush()?;
        }
        Ok(fine)
    }

    /// One line of many.
    fn line(&mut self, line: &str) -> verbs::Done {
        let words = words::split(line);
        if words.is_empty() {
            return Ok(Next::Go);
        }
        self.history.push(String::from(line));
        self.perform(&words)
    }

    fn perform(&mut self, words: &[String]) -> verbs::Done {
        let Some((name, words)) = words.split_first() else { return Ok(Next::Go) };
        let verb = verbs::find(name).ok_or_else(|| unknown(name))?;
        verb.run(self, words)
    }

    /// Waits for the first connection.
    fn reach(&self) -> Result<(), Failure> {
        Ok(council_connect::reach(&self.client, &self.options.connection.servers, self.options.timeout)?)
    }

    /// Opens a new session.
    fn connect(&mut self, servers: Option<&str>) -> Result<(), Failure> {
        let mut options = self.options.clone();
        if let Some(servers) = servers {
            options.connection.servers = String::from(servers);
        }
        let client = open(&options, &self.watcher)?;
        self.client.close();
        self.client = client;
        self.options = options;
        self.reach()
    }

    fn wait<T>(&self, pending: Pending<T>, path: &str) -> Result<T, Failure> {
        pending.wait().map_err(|error| Failure::Refused(error, String::from(path)))
    }

    /// The shell's watcher, if it is to be left somewhere; `stays` when it is not used up by an event.
    fn watcher_if(&mut self, wanted: bool, stays: bool) -> Option<Watcher> {
        if !wanted {
            return None;
        }
        self.awaited = if stays { Awaited::AllEvents } else { Awaited::OneEvent };
        Some(self.watcher.clone())
    }

    fn show(&mut self, event: &Event) -> io::Result<()> {
        writeln!(self.out, "{}", event_text(event))?;
        self.out.flush()
    }

    /// Writes a message that is not data.
    fn note(&mut self, text: &str) -> io::Result<()> {
        self.out.flush()?;
        writeln!(io::stderr(), "{text}")
    }

    fn prints_watches(&self) -> bool {
        self.prints.load(Ordering::Relaxed)
    }

    fn print_watches(&mut self, prints: bool) {
        self.prints.store(prints, Ordering::Relaxed);
    }
}

/// An event as zkCli shows it.
fn event_text(event: &Event) -> String {
    format!("\nWATCHER::\n\n{event}")
}
