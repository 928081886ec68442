//! `diwan serve`: configuration, log, server, signals, in this order.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use council_service::{Server, ServerConfig};

use crate::config::{self, Notice, Problem, Sources, Verdict, failure};
use crate::logging::Log;
use crate::{files, signals};

/// How often it is looked whether a member serves.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a server until a signal or a fault ends it.
pub(crate) fn run(sources: &Sources, until_input_ends: bool) -> ExitCode {
    let loaded = config::load(sources);
    let (config, log) = match loaded.result {
        Ok(config) => config,
        Err(problems) => return refuse(&loaded.notices, &problems),
    };
    files::make_private();
    let log = Log::start(log);
    tell_notices(&loaded.notices);
    tell_of_plain_text(&config);
    files::raise_limit();
    match serve(config, sources, log, until_input_ends) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(notices: &[Notice], problems: &[Problem]) -> ExitCode {
    // An unknown key may be the reason why another is missing.
    for Notice { line, key, verdict, .. } in notices {
        if let Verdict::Unknown(near) = verdict {
            let place = line.map_or_else(String::new, |line| format!("line {line}: "));
            eprintln!("warning: {place}there is no key `{key}`");
            eprintln!("hint: {}", near.as_deref().unwrap_or("see `diwan config keys`"));
        }
    }
    for problem in problems {
        eprintln!("error: {problem}");
    }
    ExitCode::FAILURE
}

fn serve(config: ServerConfig, sources: &Sources, log: Log, until_input_ends: bool) -> Result<(), String> {
    // Before the threads begin, so that none of them gets a signal.
    let signals = signals::catch().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let data = config.storage.data_dir.clone();
    let command_url = config.admin.command_url.clone();
    let server =
        Server::start(config.clone()).map_err(|error| failure::problem(&error, &config).to_string())?;
    let server = Arc::new(server);
    let data = std::path::absolute(&data).unwrap_or(data);
    tell_once_ready(&server, data, command_url)
        .map_err(|error| format!("no thread to wait with: {error}"))?;
    signals::heed(&server, signals, sources.clone(), log)
        .map_err(|error| format!("no thread for signals: {error}"))?;
    if until_input_ends {
        heed_input(&server).map_err(|error| format!("no thread for the standard input: {error}"))?;
    }
    server.wait().map_err(|fault| fault.to_string())?;
    tracing::info!("stopped");
    Ok(())
}

/// The process that started this server holds the other end of its standard input. When that ends, the process is gone.
fn heed_input(server: &Arc<Server>) -> io::Result<()> {
    let server = Arc::downgrade(server);
    std::thread::Builder::new().name(String::from("input")).spawn(move || {
        // That it breaks means the same as that it ends.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        tracing::info!("the process that started this server is gone: it stops");
        if let Some(server) = server.upgrade() {
            server.stop();
        }
    })?;
    Ok(())
}

fn tell_notices(notices: &[Notice]) {
    for notice in notices {
        let (key, line) = (notice.key.as_str(), notice.line);
        match &notice.verdict {
            Verdict::Honoured { warnings, idle, .. } => {
                for warning in warnings {
                    tracing::warn!(key, line, "configuration: {warning}");
                }
                if let Some(why) = idle {
                    tracing::info!(key, line, "configuration: `{key}` has no effect: {why}");
                }
            }
            Verdict::NoMeaningHere(why) if config::is_usual(key) => {
                tracing::info!(key, line, "configuration: `{key}` is ignored: {why}");
            }
            Verdict::NoMeaningHere(why) => {
                // It is nothing to be done about: a configuration of ZooKeeper's is full of them.
                tracing::info!(key, line, "configuration: `{key}` is ignored: {why}")
            }
            Verdict::Unknown(near) => {
                let near = near.as_deref().unwrap_or("`diwan config keys` lists those that are known");
                tracing::warn!(key, line, "configuration: there is no key `{key}`; {near}");
            }
            // It would not have come this far.
            Verdict::Refused(_) => {}
        }
    }
}

/// Warns if members speak in plain text. ZooKeeper's members do so too, but it must be a choice.
fn tell_of_plain_text(config: &ServerConfig) {
    let Some(ensemble) = config.ensemble.as_ref().filter(|ensemble| ensemble.tls.is_none()) else { return };
    let members: String = ensemble
        .members
        .iter()
        .map(|member| format!(" --member {}={}", member.number, member.host))
        .collect();
    let risk = match ensemble.secret {
        Some(_) => {
            "members authenticate, but speak in plain text: anyone on the path between them can read it"
        }
        None => {
            "members speak in plain text and do not authenticate: anyone who reaches their ports from the address \
             of a member can pose as it, and anyone on the path can read it"
        }
    };
    let cures = match ensemble.secret {
        Some(_) => "keys for `sslQuorum=true`",
        None => "keys for `sslQuorum=true` and a secret for `diwan.ensembleSecretFile`",
    };
    tracing::warn!(
        "{risk}; hint: `diwan certificates --dir DIRECTORY{members}` makes {cures}, and says which lines to add"
    );
}

/// Says that clients are served as soon as they are: at once by a server that is alone, by a member of an ensemble when
/// a majority is there.
fn tell_once_ready(server: &Arc<Server>, data: PathBuf, command_url: String) -> io::Result<()> {
    if server.is_serving() {
        tell_ready(server, &data, &command_url);
        return Ok(());
    }
    tracing::info!(
        members = shown(server.peer_addr()),
        "started: clients are served once this member has a majority of the ensemble"
    );
    let server = Arc::downgrade(server);
    std::thread::Builder::new().name(String::from("ready")).spawn(move || {
        while let Some(server) = server.upgrade() {
            if server.is_serving() {
                return tell_ready(&server, &data, &command_url);
            }
            drop(server);
            std::thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

fn shown(address: Option<SocketAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}

fn tell_ready(server: &Server, data: &Path, command_url: &str) {
    if io::stderr().is_terminal() {
        // A banner that cannot be shown is no reason to stop.
        let _ = banner(&mut io::stderr().lock(), server, data, command_url);
        return;
    }
    tracing::info!(
        client = shown(server.client_addr()),
        secure = shown(server.secure_addr()),
        metrics = shown(server.http_addr()),
        admin = shown(server.admin_addr()),
        data = %data.display(),
        "ready"
    );
}

fn banner(out: &mut impl Write, server: &Server, data: &Path, command_url: &str) -> io::Result<()> {
    writeln!(out, "\n  Diwan {} serves", env!("CARGO_PKG_VERSION"))?;
    if let Some(address) = server.client_addr() {
        writeln!(
            out,
            "  clients   {address}, with any ZooKeeper client or `diwan shell --server {address}`"
        )?;
    }
    if let Some(address) = server.secure_addr() {
        writeln!(out, "  TLS       {address}")?;
    }
    writeln!(out, "  data      {}", data.display())?;
    if let Some(address) = server.http_addr() {
        writeln!(out, "  metrics   http://{address}/metrics")?;
    }
    if let Some(address) = server.admin_addr() {
        writeln!(out, "  commands  http://{address}{command_url}")?;
    }
    writeln!(out, "  stop      ctrl-c\n")
}
