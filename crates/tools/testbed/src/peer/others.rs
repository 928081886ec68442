//! Running servers that do not speak ZooKeeper's protocol, with the program that loads them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use tools_process::{Error, Service};

use crate::Failure;

/// How long a member may be without serving.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that loads a system: it takes a task on its standard input and says what it saw.
#[derive(Clone, Debug)]
pub struct LoadProgram {
    /// What it loads.
    pub of: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl LoadProgram {
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

    /// What starts it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A process that was started, and whether it is to run.
pub(super) struct Member {
    pub(super) service: Service,
    is_up: bool,
}

impl Member {
    /// Starts a command; what it says goes to `log`.
    pub(super) fn start(name: String, command: Command, log: &Path) -> Result<Self, Failure> {
        Ok(Self { service: Service::start(name, command, log)?, is_up: true })
    }
}

/// Members of one system.
pub struct Others {
    pub(super) members: Vec<Member>,
    /// Where clients find each.
    pub(super) clients: Vec<SocketAddr>,
    pub(super) load: LoadProgram,
    /// Whether the server at that address serves.
    pub(super) serves: fn(SocketAddr) -> bool,
    /// Whether that one, counted from 1, leads.
    pub(super) leads: fn(&Self, usize) -> bool,
}

impl Others {
    /// What loads them.
    #[must_use]
    pub fn load(&self) -> &LoadProgram {
        &self.load
    }

    /// Where clients find each.
    #[must_use]
    pub fn clients(&self) -> &[SocketAddr] {
        &self.clients
    }

    /// Their processes.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.service.id()).collect()
    }

    /// Whether one, counted from 1, is to run.
    #[must_use]
    pub fn is_up(&self, number: usize) -> bool {
        self.members[number - 1].is_up
    }

    /// Whether one leads, as far as it says.
    #[must_use]
    pub fn leads(&self, number: usize) -> bool {
        (self.leads)(self, number)
    }

    pub(super) fn client(&self, number: usize) -> SocketAddr {
        self.clients[number - 1]
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self, number: usize) -> Result<(), Failure> {
        self.members[number - 1].is_up = false;
        Ok(self.members[number - 1].service.kill()?)
    }

    /// SIGTERM, and until the process has ended.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self, number: usize) -> Result<(), Failure> {
        self.members[number - 1].is_up = false;
        Ok(self.members[number - 1].service.stop()?)
    }

    /// Starts one again and waits until it serves.
    ///
    /// # Errors
    /// It does not.
    pub fn restart(&mut self, number: usize) -> Result<(), Failure> {
        let member = &mut self.members[number - 1];
        member.service.start_again()?;
        member.is_up = true;
        self.wait(number)
    }

    /// Stops (SIGSTOP) for so long.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self, number: usize, time: Duration) -> Result<(), Failure> {
        let service = &mut self.members[number - 1].service;
        service.pause()?;
        // No synchronisation: the length of the stop is what is measured.
        thread::sleep(time);
        Ok(service.resume()?)
    }

    /// Waits until it serves.
    pub(super) fn wait(&mut self, number: usize) -> Result<(), Failure> {
        let (client, serves) = (self.clients[number - 1], self.serves);
        let ready = self.members[number - 1].service.wait_until(PATIENCE, || serves(client));
        ready.map_err(|error| match error {
            // In a report there is room for one line.
            Error::NotReady { name, log, .. } => {
                let last = log.trim().lines().next_back().unwrap_or_default().trim().to_owned();
                Failure::broken(format!("{name} does not serve: {last}"))
            }
            other => other.into(),
        })
    }
}
