//! `diwan config check`: what each line of a configuration means, what a server would do with all of them, and whether
//! it would start.

use std::io::{self, Write};

use council_service::{ServerConfig, prepare};
use serde_json::{Value, json};

use super::{Configuration, Loaded, Notice, Problem, Sources, Verdict, failure, load};

/// How the answer is given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckOptions {
    /// A server with this configuration may be running: its ports and its directory are its own then.
    pub(crate) running: bool,
    /// For programs.
    pub(crate) json: bool,
}

/// The answer.
struct Finding {
    loaded: Loaded,
    /// What an operator should know although a server would start.
    notes: Vec<String>,
    problems: Vec<Problem>,
}

/// Prints the verdict on every setting, what they come to, and the problems; whether a server would start.
pub(crate) fn check(sources: &Sources, options: CheckOptions, out: &mut impl Write) -> io::Result<bool> {
    let finding = find(sources, options);
    if options.json {
        tell_json(&finding, out)?
    } else {
        tell(&finding, out)?
    }
    Ok(finding.problems.is_empty())
}

fn find(sources: &Sources, options: CheckOptions) -> Finding {
    let loaded = load(sources);
    let (notes, problems) = match &loaded.result {
        Err(problems) => (Vec::new(), problems.clone()),
        Ok(config) => check_services(config, options.running),
    };
    Finding { loaded, notes, problems }
}

/// What an operator should know, and why the services would not start.
fn check_services(config: &Configuration, running: bool) -> (Vec<String>, Vec<Problem>) {
    let (mut notes, mut problems) = (Vec::new(), Vec::new());
    if let Some(council) = &config.council {
        match prepare::check(council, running) {
            Ok(of_council) => notes.extend(of_council),
            Err(error) => problems.push(failure::problem(&error, council)),
        }
    }
    if let Some(plan) = &config.broker {
        notes.extend(plan.setup.warnings.iter().cloned());
        match plan.check(config.council.as_ref(), running) {
            Err(problem) if plan.is_optional => {
                notes.push(format!("the log would not be served: {}", problem.what));
            }
            other => problems.extend(other.err()),
        }
    }
    if let Some(plan) = &config.objects {
        match plan.check(running) {
            Err(problem) if plan.is_optional => {
                notes.push(format!("objects would not be served: {}", problem.what));
            }
            other => problems.extend(other.err()),
        }
        if let Some(names) = &plan.names {
            problems.extend(names.check(running).err());
        }
    }
    (notes, problems)
}

/// A notice in the words that are shown: what became of the setting, why, and hints.
fn words(notice: &Notice) -> (&'static str, String, Vec<String>) {
    match &notice.verdict {
        Verdict::Honoured { about, warnings, idle: None } => {
            ("honoured", (*about).to_owned(), warnings.clone())
        }
        Verdict::Honoured { warnings, idle: Some(why), .. } => {
            ("no effect", (*why).to_owned(), warnings.clone())
        }
        Verdict::NoMeaningHere(why) => ("ignored", (*why).to_owned(), Vec::new()),
        Verdict::OnlyShown => {
            ("ignored", String::from("clients are shown it, and it has no effect"), Vec::new())
        }
        Verdict::Unknown(near) => {
            ("unknown", String::from("there is no such key"), near.iter().cloned().collect())
        }
        Verdict::Refused(problem) => {
            ("refused", problem.what.clone(), problem.hint.iter().cloned().collect())
        }
    }
}

fn tell(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    for notice in &finding.loaded.notices {
        let line = notice.line.map_or_else(String::new, |line| line.to_string());
        let (word, text, hints) = words(notice);
        let setting = format!("{}={}", notice.key, notice.value);
        writeln!(out, "{line:>4}  {word:<9}  {setting:<44}  {text}")?;
        for hint in hints {
            writeln!(out, "{:>17}hint: {hint}", "")?;
        }
    }
    if let Ok(config) = &finding.loaded.result {
        writeln!(out)?;
        for (what, value) in summary(config) {
            writeln!(out, "{what:>9}  {value}")?;
        }
        writeln!(out)?;
    }
    for note in &finding.notes {
        writeln!(out, "note: {note}")?;
    }
    for problem in &finding.problems {
        writeln!(out, "error: {}", problem.what)?;
        if let Some(hint) = &problem.hint {
            writeln!(out, "hint: {hint}")?;
        }
    }
    if finding.problems.is_empty() {
        writeln!(out, "a server would start with this")?;
    }
    Ok(())
}

/// What a server with this configuration would do.
fn summary(config: &Configuration) -> Vec<(&'static str, String)> {
    let mut lines = config.council.as_ref().map_or_else(Vec::new, of_council);
    if let Some(plan) = &config.broker {
        let log = &plan.setup.config;
        let addresses = log.listeners.iter().map(|listener| listener.address.to_string());
        lines.push(("Kafka", addresses.collect::<Vec<_>>().join(", ")));
        lines.push(("records", absolute(&log.directory)));
        let own = || String::from("this one");
        lines.push(("council", plan.setup.council.clone().unwrap_or_else(own)));
    }
    if let Some(plan) = &config.objects {
        let how = if plan.tls.is_some() { "encrypted" } else { "in plain text" };
        lines.push(("objects", format!("{}, {how}", plan.listen)));
        lines.push(("kept in", absolute(&plan.data_dir)));
        let names = plan.names.as_ref();
        lines.extend(names.map(|names| ("names", format!("{}, zone {}", names.listen, names.zone.text()))));
    }
    lines
}

fn absolute(path: &std::path::Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn of_council(config: &ServerConfig) -> Vec<(&'static str, String)> {
    let address = |address: Option<std::net::SocketAddr>| {
        address.map_or_else(|| String::from("not served"), |address| address.to_string())
    };
    let (listen, storage, session) = (&config.listen, &config.storage, &config.session);
    let mut lines = vec![("clients", address(listen.client)), ("TLS", address(listen.secure))];
    if let Some(ensemble) = &config.ensemble {
        let numbers: Vec<_> = ensemble.members.iter().map(|member| member.number.to_string()).collect();
        let how = if ensemble.tls.is_some() { "encrypted" } else { "in plain text" };
        lines.push(("member", format!("{} of {}, which speak {how}", ensemble.number, numbers.join(", "))));
    }
    lines.extend([
        ("data", absolute(&storage.data_dir)),
        ("log", absolute(storage.log_dir.as_deref().unwrap_or(&storage.data_dir))),
        ("sessions", format!("{} to {} ms", session.timeout_min_ms, session.timeout_max_ms)),
        ("metrics", address(config.metrics.address)),
        ("commands", address(config.admin.address)),
    ]);
    lines
}

fn tell_json(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let settings: Vec<Value> = finding
        .loaded
        .notices
        .iter()
        .map(|notice| {
            let (word, text, hints) = words(notice);
            let Notice { line, key, value, .. } = notice;
            json!({"line": line, "key": key, "value": value, "verdict": word, "text": text, "hints": hints})
        })
        .collect();
    let problems: Vec<Value> =
        finding.problems.iter().map(|problem| json!({"what": problem.what, "hint": problem.hint})).collect();
    let summary: serde_json::Map<String, Value> = match &finding.loaded.result {
        Ok(config) => summary(config)
            .into_iter()
            .map(|(what, value)| (what.to_lowercase(), Value::String(value)))
            .collect(),
        Err(_) => serde_json::Map::new(),
    };
    let text = json!({
        "starts": finding.problems.is_empty(),
        "settings": settings,
        "summary": summary,
        "notes": finding.notes,
        "problems": problems,
    });
    writeln!(out, "{text:#}")
}
