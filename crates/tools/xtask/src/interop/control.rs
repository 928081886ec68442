//! The way from a suite to its server: ZK_CONTROL, or KAFKA_CONTROL, is a small script that asks the runner, over a
//! socket, to kill, stop, start, pause or resume the server. The runner stays the server's parent, so that nothing it
//! starts can outlive it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};

use super::Environment;
use super::servers::{Deaths, Doomed, Reaper, Servers};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The runner's socket
    socket: PathBuf,
    /// What the server shall do
    #[arg(value_parser = ["kill", "stop", "start", "pause", "resume"])]
    verb: String,
    /// Settings of the server's configuration file for this start only, over those that are always there
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

/// What a suite can do to a server. Each returns when its action has completed.
pub(super) trait Handled: Send + 'static {
    /// Returns when the server serves. One that runs is left alone.
    fn start(&mut self, settings: &[&str]) -> anyhow::Result<()>;
    /// Ends it without a warning, as a power cut would.
    fn kill(&mut self) -> anyhow::Result<()>;
    /// Asks it to end, and waits until it has.
    fn stop(&mut self) -> anyhow::Result<()>;
    fn pause(&mut self) -> anyhow::Result<()>;
    fn resume(&mut self) -> anyhow::Result<()>;
}

/// A control script with the runner's end of it; when this is dropped, the script no longer works.
pub(super) struct Control {
    socket: PathBuf,
    script: PathBuf,
    keeper: Option<std::thread::JoinHandle<()>>,
}

impl Control {
    /// Writes the script into `folder`. `port` is the server's: no other control has it.
    pub(super) fn open<S: Handled>(folder: &Path, port: u16, server: Arc<Mutex<S>>) -> anyhow::Result<Self> {
        // Not in the server's folder: the address of a socket holds no more than a hundred bytes.
        let socket = std::env::temp_dir().join(format!("diwan-{}-{port}", std::process::id()));
        let listener =
            UnixListener::bind(&socket).with_context(|| format!("cannot bind `{}`", socket.display()))?;
        let script = write_script(folder, &socket)?;
        let keeper = Some(std::thread::spawn(move || keep(&server, &listener)));
        Ok(Self { socket, script, keeper })
    }

    pub(super) fn script(&self) -> &Path {
        &self.script
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // A line that is no verb ends the keeper, and the server with it.
        let farewell = UnixStream::connect(&self.socket).and_then(|mut stream| stream.write_all(b"\n"));
        if let (Ok(()), Some(keeper)) = (farewell, self.keeper.take()) {
            let _ = keeper.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// The servers of a suite of the council; killed when this is dropped.
pub(super) struct Served {
    // Before the control, which ends the servers that it holds.
    _reaper: Option<Reaper>,
    _control: Control,
    log: PathBuf,
    connect: String,
    environment: Environment,
}

impl Served {
    pub(super) fn start(mut servers: Servers, deaths: Option<Deaths>) -> anyhow::Result<Self> {
        servers.start(&[])?;
        let ports = servers.first().ports();
        let folder = servers.first().folder().to_owned();
        let connect = servers.connect_string();
        let mut environment: Environment = vec![
            ("ZK_CONNECT", format!("127.0.0.1:{}", ports.plain).into()),
            ("ZK_SERVERS", connect.clone().into()),
            ("ZK_SECURE", format!("127.0.0.1:{}", ports.secure).into()),
            ("ZK_KEYS", servers.keys().into()),
            ("ZK_PROGRAM", servers.program().into()),
            ("ZK_FLAVOR", "diwan".into()),
            ("ZK_EXTRAS", "enforceQuota containerCheck".into()),
        ];
        let toll = folder.join("deaths");
        if deaths.is_some_and(|deaths| deaths.of == Doomed::All) {
            std::fs::write(&toll, "").context("cannot write the count of deaths")?;
            environment.push(("ZK_DEATHS", toll.clone().into()));
        }
        let log = servers.first().log();
        let servers = Arc::new(Mutex::new(servers));
        let control = Control::open(&folder, ports.plain, Arc::clone(&servers))?;
        environment.push(("ZK_CONTROL", control.script().into()));
        let reaper = deaths.map(|deaths| Reaper::start(servers, deaths, toll));
        Ok(Self { _reaper: reaper, _control: control, log, connect, environment })
    }

    pub(super) fn environment(&self) -> Environment {
        self.environment.clone()
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// The connect string of all servers.
    pub(super) fn connect_string(&self) -> &str {
        &self.connect
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
fn keep<S: Handled>(server: &Mutex<S>, listener: &UnixListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut line = String::new();
        if BufReader::new(&stream).read_line(&mut line).is_err() {
            continue;
        }
        let mut words = line.trim_end().split(SEPARATOR);
        // A panic was already reported; the process is unaffected.
        let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = match words.next().unwrap_or_default() {
            "kill" => server.kill(),
            "stop" => server.stop(),
            "start" => server.start(&words.collect::<Vec<_>>()),
            "pause" => server.pause(),
            "resume" => server.resume(),
            _ => return,
        };
        let answer = outcome.map_or_else(|error| format!("{error:#}").replace('\n', " | "), |()| DONE.into());
        // An asker that has gone away has lost its own answer only.
        let _ = writeln!(stream, "{answer}");
    }
}
