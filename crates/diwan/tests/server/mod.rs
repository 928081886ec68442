//! A live server for a test: Diwan's own binary, or the one that `ZK_CONNECT` names.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its part; one that cannot go on says where"
)]

pub(crate) mod secured;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// A directory of its own that goes away with its test.
pub(crate) struct Folder(PathBuf);

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Folder {
    pub(crate) fn new() -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("diwan-live-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The remains of a test are of no use.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs as long as the test.
pub(crate) struct Server {
    address: String,
    secure: Option<String>,
    own: Option<(Child, Option<Folder>)>,
}

impl Server {
    /// A server of this test alone, or the one that `ZK_CONNECT` names.
    pub(crate) fn start() -> Self {
        if let Ok(address) = std::env::var("ZK_CONNECT") {
            return Self { address, secure: None, own: None };
        }
        let folder = Folder::new();
        let more = [
            "-D",
            "extendedTypesEnabled=true",
            "-D",
            "council.session.tick-ms=500",
            "-D",
            "enforceQuota=true",
        ];
        let mut server = Self::start_in(&folder.path().join("data"), &more);
        if let Some((_, kept)) = &mut server.own {
            *kept = Some(folder);
        }
        server
    }

    /// Diwan on this data.
    pub(crate) fn start_in(data: &Path, more: &[&str]) -> Self {
        let mut command = serve(data);
        command.args(more);
        Self::started_by(command)
    }

    /// What a command like [`serve`]'s starts.
    pub(crate) fn started_by(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let named = |line: &str, name: &str| {
            let (_, rest) = line.split_once(&format!("{name}=\""))?;
            Some(String::from(rest.split_once('"')?.0))
        };
        let ready = lines.by_ref().find_map(|line| {
            let [client, secure] = ["client", "secure"].map(|name| named(&line, name));
            (client.is_some() || secure.is_some()).then_some((client.unwrap_or_default(), secure))
        });
        let (address, secure) = ready.expect("the server ended before it was ready");
        // The server must not wait for room in the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { address, secure, own: Some((child, None)) }
    }

    /// Where clients connect in plain text; empty if they cannot.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Where clients connect with TLS.
    pub(crate) fn secure_address(&self) -> String {
        self.secure.clone().unwrap()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.own.as_ref().unwrap().0.id()
    }

    /// Sends a signal and waits for the end; whether it was a success.
    pub(crate) fn end(mut self, signal: Signal) -> bool {
        let (child, _) = self.own.as_mut().unwrap();
        kill_process(Pid::from_child(child), signal).unwrap();
        child.wait().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.own {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `diwan serve` on a port that the system chooses.
pub(crate) fn serve(data: &Path) -> Command {
    let mut command = diwan();
    command.args([
        "serve",
        "--log",
        "off",
        "--objects",
        "off",
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "off",
        "--admin",
        "off",
        "--data-dir",
    ]);
    command.arg(data);
    command
}

pub(crate) fn diwan() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diwan"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command said: whether it succeeded, its output, its errors.
pub(crate) fn said(output: Output) -> (bool, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}
