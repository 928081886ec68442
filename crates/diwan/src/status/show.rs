//! A picture of an ensemble as a table for people, and as JSON for programs.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{Picture, Row};
use crate::table;

/// For people.
pub(super) fn table(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n", head(picture))?;
    let names = ["MEMBER", "ROLE", "CLIENTS", "CONNECTIONS", "LAG", "ZXID", "LAST SNAPSHOT", "UP", "VERSION"];
    let mut rows = vec![names.map(String::from).to_vec()];
    rows.extend(picture.rows.iter().map(|row| cells(picture, row)));
    table::write(out, 0, &rows)
}

fn head(picture: &Picture) -> String {
    let answered = picture.rows.iter().filter(|row| row.answer.is_some()).count();
    let sessions =
        picture.rows.iter().filter_map(|row| Some(row.answer.as_ref()?.1.sessions)).max().unwrap_or(0);
    let sessions = if sessions == 1 { String::from("1 session") } else { format!("{sessions} sessions") };
    match (picture.leader, picture.rows.len()) {
        (Some(0), _) => format!("one server alone, {sessions}"),
        (Some(leader), count) => format!(
            "member {leader} leads in term {}; {answered} of {count} members answer; {sessions}",
            picture.term
        ),
        (None, count) => format!("no leader; {answered} of {count} members answer; {sessions}"),
    }
}

fn cells(picture: &Picture, row: &Row) -> Vec<String> {
    let number = if row.member == 0 { String::from("-") } else { row.member.to_string() };
    let clients = row.sight.as_ref().and_then(|sight| sight.client_address.clone());
    let Some((_, answer)) = &row.answer else {
        let role = match row.connected_to.as_slice() {
            [] => String::from("unreachable"),
            others => {
                let others: Vec<_> = others.iter().map(u64::to_string).collect();
                format!("no answer (connected to {})", others.join(", "))
            }
        };
        return vec![number, role, clients.unwrap_or_default(), String::from("-"), lag(picture, row)];
    };
    let role = match answer.serving {
        true => answer.role.clone(),
        false => format!("{}, not serving", answer.role),
    };
    let port = || answer.client_port.map_or_else(String::new, |port| format!("port {port}"));
    let clients = clients.unwrap_or_else(port);
    let snapshot = answer.snapshot.as_ref().map_or_else(|| String::from("none"), |(_, at)| moment(*at));
    let version = answer.version.split(',').next().unwrap_or_default();
    vec![
        number,
        role,
        clients,
        answer.connections.to_string(),
        lag(picture, row),
        answer.zxid.clone(),
        snapshot,
        span(answer.uptime_ms / 1000),
        String::from(version),
    ]
}

fn lag(picture: &Picture, row: &Row) -> String {
    match row.lag {
        _ if picture.leader == Some(row.member) => String::from("-"),
        Some((0, _)) => String::from("0"),
        Some((1, ms)) => format!("1 entry, {ms} ms"),
        Some((entries, ms)) => format!("{entries} entries, {ms} ms"),
        None => String::from("unknown"),
    }
}

/// Seconds since 1970, on this machine's clock.
fn moment(seconds: i64) -> String {
    let Ok(time) = Timestamp::from_second(seconds) else { return seconds.to_string() };
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn span(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3_600, seconds / 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

/// What to do if there is no leader.
pub(super) fn hint(picture: &Picture) -> String {
    let voters: Vec<_> =
        picture.rows.iter().filter(|row| row.sight.as_ref().is_some_and(|sight| sight.participant)).collect();
    let silent: Vec<_> =
        voters.iter().filter(|row| row.answer.is_none()).map(|row| row.member.to_string()).collect();
    let majority = voters.len() / 2 + 1;
    match silent.is_empty() {
        true => String::from(
            "all answer: wait for their election, or see their logs for why they do not reach each other",
        ),
        false => format!(
            "{majority} of the {} that vote must run and reach each other: start member {}, or see why they do not answer",
            voters.len(),
            silent.join(", ")
        ),
    }
}

/// A line for each member that reports members with data of another ensemble.
pub(super) fn apart(picture: &Picture) -> Vec<String> {
    let hears = |row: &Row| {
        let others = &row.answer.as_ref()?.1.other_ensembles;
        let numbers: Vec<_> = others.iter().map(u64::to_string).collect();
        let line = || {
            format!(
                "the data of member {} belongs to another ensemble than that of member {}\nhint: after \
                 `force-new-ensemble` stop the members of the old ensemble and empty their data directories",
                numbers.join(", "),
                row.member
            )
        };
        (!numbers.is_empty()).then(line)
    };
    picture.rows.iter().filter_map(hears).collect()
}

/// For programs.
pub(super) fn json(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let members: Vec<_> = picture.rows.iter().map(|row| member(picture, row)).collect();
    let value = json!({
        "leader": picture.leader,
        "term": picture.term,
        "members": members,
    });
    writeln!(out, "{value:#}")
}

fn member(picture: &Picture, row: &Row) -> Value {
    let answer = row.answer.as_ref().map(|(_, answer)| answer);
    let snapshot = answer.and_then(|answer| answer.snapshot.as_ref());
    json!({
        "member": row.member,
        "reachable": answer.is_some(),
        "leads": picture.leader == Some(row.member),
        "role": answer.map(|answer| answer.role.as_str()),
        "serving": answer.map(|answer| answer.serving),
        "admin_address": row.answer.as_ref().map(|(address, _)| address.as_str()),
        "host": row.sight.as_ref().map(|sight| sight.host.as_str()),
        "client_address": row.sight.as_ref().and_then(|sight| sight.client_address.as_deref()),
        "connected_to": row.connected_to,
        "lag_entries": row.lag.map(|(entries, _)| entries),
        "lag_ms": row.lag.map(|(_, ms)| ms),
        "zxid": answer.map(|answer| answer.zxid.as_str()),
        "sessions": answer.map(|answer| answer.sessions),
        "connections": answer.map(|answer| answer.connections),
        "members_of_other_ensembles": answer.map(|answer| answer.other_ensembles.as_slice()),
        "last_snapshot": snapshot.map(|(zxid, at)| json!({"zxid": zxid, "timestamp": at})),
        "uptime_ms": answer.map(|answer| answer.uptime_ms),
        "pid": answer.map(|answer| answer.pid),
        "version": answer.map(|answer| answer.version.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_two_largest_parts() {
        for (seconds, text) in [
            (5, "5 s"),
            (65, "1 min"),
            (3_600 * 2 + 60 * 3, "2 h 3 min"),
            (86_400 * 3 + 3_600 * 25, "4 d 1 h"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
