//! The way from a suite to its server: ZK_CONTROL is a small script that asks the runner, over a socket,
//! to kill, stop, start, pause or resume the server. The runner stays the server's parent, so that
//! nothing it starts can outlive it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};

use super::Environment;
use super::servers::{Deaths, Doomed, Reaper, Servers, lock};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The runner's socket
    socket: PathBuf,
    /// What the server shall do
    #[arg(value_parser = ["kill", "stop", "start", "pause", "resume"])]
    verb: String,
    /// Settings of `zoo.cfg` for this start only, over those that are always there
    #[arg(value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

const DONE: &str = "done";
/// Between a verb and its settings.
const SEPARATOR: char = '\t';

/// The asking side: prints why not, if not.
pub(crate) fn ask(args: &Args) -> anyhow::Result<bool> {
    let mut stream = UnixStream::connect(&args.socket).context("cannot reach the runner")?;
    let mut question = args.verb.clone();
    for setting in &args.settings {
        question.push(SEPARATOR);
        question.push_str(setting);
    }
    writeln!(stream, "{question}").context("cannot ask the runner")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).context("the runner does not answer")?;
    if answer.trim_end() != DONE {
        bail!("{}: {}", args.verb, answer.trim_end());
    }
    Ok(true)
}

/// A server that suites can treat badly; killed when this is dropped.
pub(super) struct Served {
    socket: PathBuf,
    log: PathBuf,
    environment: Environment,
    keeper: Option<std::thread::JoinHandle<()>>,
    reaper: Option<Reaper>,
}

impl Served {
    pub(super) fn start(mut servers: Servers, deaths: Option<Deaths>) -> anyhow::Result<Self> {
        servers.start(&[])?;
        let ports = servers.first().ports();
        // Not in the server's folder: the address of a socket holds no more than a hundred bytes.
        let socket = std::env::temp_dir().join(format!("diwan-{}-{}", std::process::id(), ports.plain));
        let listener =
            UnixListener::bind(&socket).with_context(|| format!("cannot bind `{}`", socket.display()))?;
        let mut environment: Environment = vec![
            ("ZK_CONNECT", format!("127.0.0.1:{}", ports.plain).into()),
            ("ZK_SERVERS", servers.connect_string().into()),
            ("ZK_SECURE", format!("127.0.0.1:{}", ports.secure).into()),
            ("ZK_KEYS", servers.keys().into()),
            ("ZK_CONTROL", write_script(servers.first().folder(), &socket)?.into()),
            ("ZK_PROGRAM", servers.program().into()),
            ("ZK_FLAVOR", "diwan".into()),
            ("ZK_EXTRAS", "enforceQuota containerCheck".into()),
        ];
        let toll = servers.first().folder().join("deaths");
        if deaths.is_some_and(|deaths| deaths.of == Doomed::All) {
            std::fs::write(&toll, "").context("cannot write the count of deaths")?;
            environment.push(("ZK_DEATHS", toll.clone().into()));
        }
        let log = servers.first().log();
        let servers = Arc::new(Mutex::new(servers));
        let reaper = deaths.map(|deaths| Reaper::start(Arc::clone(&servers), deaths, toll));
        let keeper = Some(std::thread::spawn(move || keep(&servers, &listener)));
        Ok(Self { socket, log, environment, keeper, reaper })
    }

    pub(super) fn environment(&self) -> Environment {
        self.environment.clone()
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It holds the servers.
        drop(self.reaper.take());
        // A line that is no verb ends the keeper, and the server with it.
        let farewell = UnixStream::connect(&self.socket).and_then(|mut stream| stream.write_all(b"\n"));
        if let (Ok(()), Some(keeper)) = (farewell, self.keeper.take()) {
            let _ = keeper.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn write_script(folder: &Path, socket: &Path) -> anyhow::Result<PathBuf> {
    let ourselves = std::env::current_exe().context("cannot find this program's own file")?;
    let script = folder.join("control");
    let text = format!("#!/bin/sh\nexec '{}' control '{}' \"$@\"\n", ourselves.display(), socket.display());
    std::fs::write(&script, text).context("cannot write the control script")?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))
        .context("cannot make the control script executable")?;
    Ok(script)
}

/// Does what it is asked, one request after another, until a line is no verb.
fn keep(servers: &Mutex<Servers>, listener: &UnixListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut line = String::new();
        if BufReader::new(&stream).read_line(&mut line).is_err() {
            continue;
        }
        let mut words = line.trim_end().split(SEPARATOR);
        let mut servers = lock(servers);
        let outcome = match words.next().unwrap_or_default() {
            "kill" => servers.kill(),
            "stop" => servers.stop(),
            "start" => servers.start(&words.collect::<Vec<_>>()),
            "pause" => servers.pause(),
            "resume" => servers.resume(),
            _ => return,
        };
        let answer = outcome.map_or_else(|error| format!("{error:#}").replace('\n', " | "), |()| DONE.into());
        // An asker that has gone away has lost its own answer only.
        let _ = writeln!(stream, "{answer}");
    }
}
