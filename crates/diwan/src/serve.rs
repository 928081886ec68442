//! `diwan serve`: configuration, log, server, signals, in this order.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use council_service::{Server, ServerConfig};
use objects_service::HttpOptions;

use crate::broker::from_here;
use crate::config::{self, Configuration, Notice, Problem, Sources, Verdict, failure};
use crate::logging::Log;
use crate::services::{Ready, Services, Tell};
use crate::{files, names, revive, signals};

/// Runs a server until a signal or a fault ends it.
pub(crate) fn run(sources: &Sources, until_input_ends: bool) -> ExitCode {
    let loaded = config::load(sources);
    let config = match loaded.result {
        Ok(config) => config,
        Err(problems) => return refuse(&loaded.notices, &problems),
    };
    files::make_private();
    let log = Log::start(config.logging);
    tell_notices(&loaded.notices);
    if let Some(council) = &config.council {
        tell_of_plain_text(council);
    }
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

fn serve(config: Configuration, sources: &Sources, log: Log, until_input_ends: bool) -> Result<(), String> {
    // Before the threads begin, so that none of them gets a signal.
    let signals = signals::catch().map_err(|error| format!("signals cannot be caught: {error}"))?;
    if let Some(council) = &config.council {
        revive::finish(council)?;
    }
    let broker = broker(&config, &log)?;
    let objects = objects(&config)?;
    let council = match &config.council {
        Some(council) => Some(
            Server::start(council.clone()).map_err(|error| failure::problem(&error, council).to_string())?,
        ),
        None => None,
    };
    if let Some(council) = council.as_ref().filter(|council| !council.is_serving()) {
        tracing::info!(
            members = shown(council.peer_addr()),
            "started: clients are served once this member has a majority of the ensemble"
        );
    }
    let objects = match council.as_ref().zip(objects) {
        Some((council, prepared)) => Some(start_objects(prepared, &config, council)?),
        None => None,
    };
    let tell = teller(config.council.as_ref(), broker.is_some());
    let services = Services::start(council, objects, broker, tell)
        .map_err(|error| format!("no thread for the services: {error}"))?;
    signals::heed(&services, signals, sources.clone(), log)
        .map_err(|error| format!("no thread for signals: {error}"))?;
    if until_input_ends {
        heed_input(&services).map_err(|error| format!("no thread for the standard input: {error}"))?;
    }
    services.wait()?;
    tracing::info!("stopped");
    Ok(())
}

/// The log that is to be served.
fn broker(config: &Configuration, log: &Log) -> Result<Option<log_service::LogConfig>, String> {
    let Some(plan) = &config.broker else { return Ok(None) };
    plan.setup.warnings.iter().for_each(|warning| tracing::warn!("configuration: {warning}"));
    match plan.check(config.council.as_ref(), false) {
        Ok(()) => {
            let council = plan.setup.council.clone().unwrap_or_default();
            let mut config = log_service::LogConfig { council, ..plan.setup.config.clone() };
            log.of_broker(&mut config);
            Ok(Some(config))
        }
        Err(problem) if plan.is_optional => {
            let (what, hint) = (problem.what, problem.hint.unwrap_or_default());
            tracing::warn!("the log is not served: {what}; hint: {hint}");
            Ok(None)
        }
        Err(problem) => Err(problem.to_string()),
    }
}

/// The port of the objects that are to be served: taken before anything starts.
fn objects(config: &Configuration) -> Result<Option<objects_service::Prepared>, String> {
    let Some(plan) = &config.objects else { return Ok(None) };
    let threads = config.council.as_ref().map_or(0, |council| council.listen.shards);
    let tls = plan.encryption().map_err(|problem| problem.to_string())?;
    match objects_service::Prepared::new(plan.listen, threads, tls) {
        Ok(prepared) => names::listen(prepared, plan).map(Some),
        Err(error) => {
            let problem = plan.refused(&error);
            if !plan.is_optional {
                return Err(problem.to_string());
            }
            let (what, hint) = (problem.what, problem.hint.unwrap_or_default());
            tracing::warn!("objects are not served: {what}; hint: {hint}");
            Ok(None)
        }
    }
}

/// Starts the objects beside the council, among whose members theirs are.
fn start_objects(
    prepared: objects_service::Prepared,
    config: &Configuration,
    council: &Server,
) -> Result<objects_service::Server, String> {
    let plan = config.objects.as_ref().expect("a port was taken for it");
    let beside = config.council.as_ref();
    let mut objects = plan.service_config(beside, council.members());
    objects.names = names::config(plan, prepared.address().port(), beside, council);
    let http = HttpOptions { create_on_use: plan.create_on_use, root_token: plan.root_token };
    let server = prepared.start(objects, http, council.shared_port()).map_err(|error| error.to_string())?;
    server.figures().for_each(|figures| council.registry().register(figures));
    Ok(server)
}

/// The process that started this server holds the other end of its standard input. When that ends, the process is gone.
fn heed_input(services: &Arc<Services>) -> io::Result<()> {
    let services = Arc::downgrade(services);
    std::thread::Builder::new().name(String::from("input")).spawn(move || {
        // That it breaks means the same as that it ends.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        tracing::info!("the process that started this server is gone: it stops");
        if let Some(services) = services.upgrade() {
            services.stop();
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
            // It would not have come this far, or the broker's warnings tell.
            Verdict::Refused(_) | Verdict::OnlyShown => {}
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

/// Says what is served once it is: in lines of the log, or, to a person, as one text when all is.
fn teller(council: Option<&ServerConfig>, has_log: bool) -> Tell {
    let data = council.map(|council| council.storage.data_dir.clone());
    let data = data.map(|data| std::path::absolute(&data).unwrap_or(data));
    let command_url = council.map(|council| council.admin.command_url.clone()).unwrap_or_default();
    let is_terminal = io::stderr().is_terminal();
    Box::new(move |services, ready| {
        let log = match &ready {
            Ready::Council => None,
            Ready::Log(address, directory) => Some((*address, directory.as_path())),
        };
        if !is_terminal {
            return tell_ready(services.council(), data.as_deref(), log);
        }
        let objects = services.objects();
        if log.is_some() || !has_log {
            // A banner that cannot be shown is no reason to stop.
            let council = services.council().zip(data.as_deref());
            let _ = banner(&mut io::stderr().lock(), council, (log, objects), &command_url);
        }
    })
}

fn shown(address: Option<SocketAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}

fn tell_ready(council: Option<&Server>, data: Option<&Path>, log: Option<(SocketAddr, &Path)>) {
    if let Some((kafka, directory)) = log {
        tracing::info!(%kafka, data = %directory.display(), "the log is ready");
    } else if let (Some(council), Some(data)) = (council, data) {
        tracing::info!(
            client = shown(council.client_addr()),
            secure = shown(council.secure_addr()),
            metrics = shown(council.http_addr()),
            admin = shown(council.admin_addr()),
            data = %data.display(),
            "ready"
        );
    }
}

fn banner(
    out: &mut impl Write,
    council: Option<(&Server, &Path)>,
    (log, objects): (Option<(SocketAddr, &Path)>, Option<&objects_service::Server>),
    command_url: &str,
) -> io::Result<()> {
    writeln!(out, "\n  Diwan {} serves", env!("CARGO_PKG_VERSION"))?;
    let address = council.and_then(|(server, _)| server.client_addr());
    if let Some(address) = address {
        writeln!(
            out,
            "  clients   {address}, with any ZooKeeper client or `diwan shell --server {address}`"
        )?;
    }
    if let Some(address) = council.and_then(|(server, _)| server.secure_addr()) {
        writeln!(out, "  TLS       {address}")?;
    }
    if let Some((address, _)) = log {
        let at = from_here(address);
        writeln!(out, "  Kafka     {address}, with any Kafka client or `kcat -b {at} -L`")?;
    }
    if let Some(server) = objects {
        let (address, at) = (server.address(), from_here(server.address()));
        let (how, ca) = if server.is_encrypted() { ("HTTPS", " --tls-ca FILE") } else { ("HTTP", "") };
        writeln!(
            out,
            "  objects   {address}, with any {how} client or `diwan object list --server {at}{ca}`"
        )?;
    }
    if let Some(address) = objects.and_then(objects_service::Server::names_address) {
        names::show(out, address, from_here(address))?;
    }
    if let Some((_, data)) = council {
        writeln!(out, "  data      {}", data.display())?;
    }
    if let Some((_, directory)) = log {
        writeln!(out, "  records   {}", directory.display())?;
    }
    if let Some(address) = council.and_then(|(server, _)| server.http_addr()) {
        writeln!(out, "  metrics   http://{address}/metrics")?;
    }
    if let Some(address) = council.and_then(|(server, _)| server.admin_addr()) {
        writeln!(out, "  commands  http://{address}{command_url}")?;
    }
    writeln!(out, "  stop      ctrl-c\n")
}
