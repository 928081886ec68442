//! `diwan object history`: what a member remembers of an object's events, and what happens from now on.

use std::io::{BufRead as _, Read as _, Write};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::access::{AccessArguments, NameArgument, Request, escaped};
use super::moment;
use crate::log::failure::{Done, Failure};

/// How long a stream may be silent: it says every second that it is alive.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// For how long a stream is tried again that ended.
const TRYING_MAX: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes of a line of a stream: an event's body has 1 MiB at the most, and as JSON six times as much.
const LINE_BYTES_MAX: u64 = 8 << 20;
/// Characters of a session's id that are shown.
const ID_CHARS: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    #[command(flatten)]
    name: NameArgument,

    /// Go on with what happens from now on, until ctrl-c.
    #[arg(short, long)]
    follow: bool,

    /// As JSON, an event a line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    access: AccessArguments,
}

/// Shows an object's events.
pub(super) fn history(arguments: &HistoryArguments, out: &mut impl Write) -> Done {
    let HistoryArguments { name, follow, access, json } = arguments;
    let path = format!("{}/events", name.object.path());
    let (mut after, mut is_first) = (None::<String>, true);
    let latest = loop {
        let behind = after.map_or_else(String::new, |after| format!("&after={}", escaped(&after)));
        let page = access.ask(&Request::get(format!("{path}?follow=false{behind}")))?.body;
        let text = |name: &str| page[name].as_str().map(String::from);
        if std::mem::take(&mut is_first) && !json {
            let position = text("behind").unwrap_or_default();
            let position = position.split('.').next().unwrap_or_default().to_owned();
            writeln!(out, "The member that answers remembers what happened behind position {position}.")?;
        }
        for event in page["events"].as_array().into_iter().flatten() {
            show(event, *json, out)?;
        }
        match text("next") {
            Some(next) => after = Some(next),
            None => break text("latest").unwrap_or_default(),
        }
    };
    if *follow { follow_from(arguments, &path, latest, out) } else { Ok(()) }
}

/// Goes on behind that event, at another server if one ends.
fn follow_from(arguments: &HistoryArguments, path: &str, mut last: String, out: &mut impl Write) -> Done {
    out.flush()?;
    let mut tried_since = Instant::now();
    loop {
        for server in &arguments.access.server {
            let before = last.clone();
            match stream(arguments, (server, path), &mut last, out) {
                Ok(()) => {}
                Err(Failure::Told(problem)) if tried_since.elapsed() > TRYING_MAX => {
                    return Err(Failure::Told(problem));
                }
                Err(Failure::Told(_)) => {}
                Err(failure) => return Err(failure),
            }
            if last != before {
                tried_since = Instant::now();
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Shows what a server's stream says until it ends. `last` is the last event that was shown, or passed by.
fn stream(
    arguments: &HistoryArguments,
    (server, path): (&str, &str),
    last: &mut String,
    out: &mut impl Write,
) -> Done {
    let headers = vec![("Last-Event-ID", last.clone())];
    let request = Request { headers, ..Request::get(path.into()) };
    let mut page = arguments.access.open(server, &request, SILENCE_MAX)?;
    let (mut id, mut event, mut data) = (String::new(), String::new(), String::new());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut page.body).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let is_whole = read.is_ok() && line.ends_with(b"\n");
        if !is_whole {
            return Err(Failure::new(format!("the stream of {server} has ended")));
        }
        let text = String::from_utf8_lossy(&line);
        match text.trim_end().split_once(": ") {
            Some(("id", value)) => id = value.into(),
            Some(("event", value)) => event = value.into(),
            Some(("data", value)) => data = value.into(),
            // The piece ends. One without an event says where the stream is.
            None if text.trim_end().is_empty() && !event.is_empty() => {
                tell(arguments.json, (&id, &event, &data), out)?;
                if event == "problem" {
                    return Err(refused(&data));
                }
                if event != "lost" && !id.is_empty() {
                    last.clone_from(&id);
                }
                event.clear();
                data.clear();
            }
            _ => {}
        }
    }
}

/// The stream was ended, and says why.
fn refused(data: &str) -> Failure {
    let problem: Value = serde_json::from_str(data).unwrap_or_default();
    Failure::new(format!("the stream has ended: {}", problem["detail"].as_str().unwrap_or(data)))
}

fn tell(is_json: bool, (id, event, data): (&str, &str, &str), out: &mut impl Write) -> Done {
    let mut fields: Value = serde_json::from_str(data).unwrap_or_default();
    if !fields.is_object() {
        fields = json!({});
    }
    fields["id"] = id.into();
    fields["event"] = event.into();
    show(&fields, is_json, out)?;
    Ok(out.flush()?)
}

fn show(event: &Value, is_json: bool, out: &mut impl Write) -> Done {
    if is_json {
        writeln!(out, "{event}")?;
        return Ok(());
    }
    Ok(writeln!(out, "{}", line_of(event))?)
}

/// Its id, which begins with the position, the time, what happened, the session, and what a module says.
fn line_of(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    if text("event") == "lost" {
        return String::from("Events are missing here: look at the state.");
    }
    let time = event["at_ms"].as_i64().map_or_else(|| String::from("-"), moment::to_a_millisecond);
    let mut line = format!("{}  {time}  {}", text("id"), text("event"));
    if let Some(session) = event["session"].as_str() {
        line.push_str("  session ");
        line.extend(session.chars().take(ID_CHARS));
    }
    if let Some(topic) = event["topic"].as_str() {
        line.push_str(&format!("  {topic} {}", event["body"]));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_a_line_with_its_position_time_and_session() {
        let event = json!({ "id": "17.0", "event": "acquired", "session": "9f2c00000000000000000000000000aa",
                            "position": 17, "at_ms": 1_764_474_067_250_i64 });
        assert_eq!(line_of(&event), "17.0  2025-11-30 03:41:07.250 UTC  acquired  session 9f2c00000000");
        let said = json!({ "id": "18.1", "event": "emitted", "at_ms": 0, "topic": "hit", "body": {"n": 1} });
        assert_eq!(line_of(&said), "18.1  1970-01-01 00:00:00.000 UTC  emitted  hit {\"n\":1}");
        assert!(line_of(&json!({ "event": "lost" })).starts_with("Events are missing"));
    }
}
