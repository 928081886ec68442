//! `diwan serve`: configuration, log, server, signals, in this order.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use server::{Server, ServerConfig, StartError};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config::{self, LogConfig, LogFormat, Notice, Problem, Sources, Verdict};
use crate::files;

/// Runs a server until a signal or a fault ends it.
pub(crate) fn run(sources: &Sources, until_input_ends: bool) -> ExitCode {
    let loaded = config::load(sources);
    let (config, log) = match loaded.result {
        Ok(config) => config,
        Err(problems) => return refuse(&loaded.notices, &problems),
    };
    start_log(log);
    tell_notices(&loaded.notices);
    tell_of_plain_text(&config);
    files::raise_limit();
    match serve(config, until_input_ends) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(notices: &[Notice], problems: &[Problem]) -> ExitCode {
    // A key that nobody knows may be why another is missing.
    for Notice { line, key, verdict } in notices {
        if let Verdict::Unknown(near) = verdict {
            let place = line.map_or_else(String::new, |line| format!("line {line}: "));
            eprintln!("warning: {place}nobody knows `{key}`");
            eprintln!("hint: {}", near.as_deref().unwrap_or("see `diwan config keys`"));
        }
    }
    for problem in problems {
        eprintln!("error: {}", problem.what);
        if let Some(hint) = &problem.hint {
            eprintln!("hint: {hint}");
        }
    }
    ExitCode::FAILURE
}

fn serve(config: ServerConfig, until_input_ends: bool) -> Result<(), String> {
    // Before the threads begin, so that none of them is told of a signal.
    let signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|error| format!("signals cannot be heard: {error}"))?;
    let data = config.storage.data_dir.clone();
    let command_url = config.admin.command_url.clone();
    let server = Arc::new(Server::start(config).map_err(|error| message(&error))?);
    tell_ready(&server, &data, &command_url);
    heed_signals(&server, signals).map_err(|error| format!("no thread for signals: {error}"))?;
    if until_input_ends {
        heed_input(&server).map_err(|error| format!("no thread for the standard input: {error}"))?;
    }
    server.wait().map_err(|fault| fault.to_string())?;
    tracing::info!("stopped");
    Ok(())
}

/// A message with its hint on a line of its own.
fn message(error: &StartError) -> String {
    error.to_string().replace("; hint: ", "\nhint: ")
}

/// The first signal stops the server in good order; the second does not wait for that.
fn heed_signals(server: &Arc<Server>, mut signals: Signals) -> io::Result<()> {
    let server = Arc::downgrade(server);
    std::thread::Builder::new().name(String::from("signals")).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                // 128 + signal is what a shell makes of a process that a signal ended.
                std::process::exit(128 + signal);
            }
            tracing::info!(signal, "asked to stop");
            if let Some(server) = server.upgrade() {
                // On a thread of its own: the second signal must find this one listening.
                std::thread::spawn(move || server.stop());
            }
        }
    })?;
    Ok(())
}

/// Whoever started this server holds the other end of its standard input, and is gone when that ends.
fn heed_input(server: &Arc<Server>) -> io::Result<()> {
    let server = Arc::downgrade(server);
    std::thread::Builder::new().name(String::from("input")).spawn(move || {
        // That it breaks means the same as that it ends.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        tracing::info!("whoever started this server is gone: it stops");
        if let Some(server) = server.upgrade() {
            server.stop();
        }
    })?;
    Ok(())
}

fn start_log(log: LogConfig) {
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder =
        tracing_subscriber::fmt().with_max_level(log.level).with_writer(io::stderr).with_ansi(colours);
    match log.format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}

fn tell_notices(notices: &[Notice]) {
    for notice in notices {
        let (key, line) = (notice.key.as_str(), notice.line);
        match &notice.verdict {
            Verdict::Honoured { warnings, .. } => {
                for warning in warnings {
                    tracing::warn!(key, line, "configuration: {warning}");
                }
            }
            Verdict::NoMeaningHere(why) => {
                tracing::warn!(key, line, "configuration: `{key}` is ignored: {why}")
            }
            Verdict::Unknown(near) => {
                let near = near.as_deref().unwrap_or("`diwan config keys` lists those that are known");
                tracing::warn!(key, line, "configuration: nobody knows `{key}`; {near}");
            }
            // It would not have come this far.
            Verdict::Refused(_) => {}
        }
    }
}

/// Members that speak in plain text do so as ZooKeeper's; nobody is to do it unawares.
fn tell_of_plain_text(config: &ServerConfig) {
    let Some(ensemble) = config.ensemble.as_ref().filter(|ensemble| ensemble.tls.is_none()) else { return };
    let members: String = ensemble
        .members
        .iter()
        .map(|member| format!(" --member {}={}", member.number, member.host))
        .collect();
    tracing::warn!(
        "members speak in plain text: whoever reaches their ports can read along and pose as one of them; hint: `diwan \
         certificates --dir DIRECTORY{members}` makes keys and says which lines to add"
    );
}

fn tell_ready(server: &Server, data: &Path, command_url: &str) {
    let shown = |address: Option<std::net::SocketAddr>| address.map(|address| address.to_string());
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    if io::stderr().is_terminal() {
        // A banner that cannot be shown is no reason to stop.
        let _ = banner(&mut io::stderr().lock(), server, &data, command_url);
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
