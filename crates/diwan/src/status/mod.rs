//! `diwan status`: every member of a running ensemble, found through any one that answers.

mod show;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::answer::{self, Answer, Sight};
use crate::http::Tls;

/// How long a member may take to answer: longer than a member with a blocked thread needs to report that.
const TIMEOUT: Duration = Duration::from_secs(6);
/// Where servers answer by default: Diwan's own default, a `zoo.cfg`'s, `diwan up`'s.
const USUAL: [&str; 5] =
    ["127.0.0.1:7000", "127.0.0.1:8080", "127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"];

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct StatusOptions {
    /// Addresses of AdminServers; none looks at the usual ones.
    pub(crate) servers: Vec<String>,
    pub(crate) json: bool,
    /// Pages are asked for over HTTPS with this.
    pub(crate) tls: Tls,
}

/// One member, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) member: u64,
    /// How the others see it, if they do.
    pub(crate) sight: Option<Sight>,
    /// Where it answered, and what.
    pub(crate) answer: Option<(String, Answer)>,
    /// By how much it is behind, as its leader says.
    pub(crate) lag: Option<(u64, u64)>,
    /// Which of the members that answered are connected to it.
    pub(crate) connected_to: Vec<u64>,
}

/// The ensemble.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) rows: Vec<Row>,
    /// The leader's number; 0 for a standalone server.
    pub(crate) leader: Option<u64>,
    pub(crate) term: u64,
}

/// The command.
pub(crate) fn run(options: &StatusOptions, out: &mut impl Write) -> io::Result<ExitCode> {
    let usual = options.servers.is_empty();
    let servers =
        if usual { USUAL.iter().copied().map(String::from).collect() } else { options.servers.clone() };
    let asked = ask_all(&servers, &options.tls);
    let Some(first) = asked.iter().find_map(|(_, answer)| answer.as_ref().ok()).cloned() else {
        nobody(&asked, usual);
        return Ok(ExitCode::FAILURE);
    };
    let mut answers = of_one_ensemble(&first, asked, usual);
    find_others(&first, &mut answers, &options.tls);
    let picture = Picture::of(&first, answers);
    match options.json {
        true => show::json(&picture, out)?,
        false => show::table(&picture, out)?,
    }
    out.flush()?;
    for warning in show::apart(&picture) {
        eprintln!("warning: {warning}");
    }
    if picture.leader.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("error: there is no leader: nothing can be written");
    eprintln!("hint: {}", show::hint(&picture));
    Ok(ExitCode::FAILURE)
}

/// The answers of members of the same ensemble as the first. The others are reported if the user named them.
fn of_one_ensemble(
    first: &Answer,
    asked: Vec<(String, io::Result<Answer>)>,
    usual: bool,
) -> BTreeMap<u64, (String, Answer)> {
    let mut answers = BTreeMap::new();
    let mut unlike = Vec::new();
    for (address, answer) in asked {
        match answer {
            Ok(answer) if answer.ensemble() == first.ensemble() => {
                // A standalone server has no number: the one that is named first is shown.
                answers.entry(answer.member).or_insert((address, answer));
            }
            Ok(_) => unlike.push(address),
            Err(error) if !usual => eprintln!("warning: `{address}` does not answer: {error}"),
            Err(_) => {}
        }
    }
    for address in unlike.into_iter().filter(|_| !usual) {
        eprintln!("warning: `{address}` belongs to another ensemble and is left out");
    }
    answers
}

fn nobody(asked: &[(String, io::Result<Answer>)], usual: bool) {
    if usual {
        eprintln!("error: no server answers at the usual places ({})", USUAL.join(", "));
    } else {
        for (address, answer) in asked {
            if let Err(error) = answer {
                eprintln!("error: `{address}` does not answer: {error}");
            }
        }
    }
    eprintln!(
        "hint: name the AdminServer of one member or more, `diwan status --server HOST:PORT`: its port is \
         `admin.serverPort` of a zoo.cfg, `admin.listen` of a diwan.toml, and the client port does not answer this"
    );
}

type Asked = Vec<(String, io::Result<Answer>)>;

/// Asks all at once; answers come in the order of the addresses.
fn ask_all(addresses: &[String], tls: &Tls) -> Asked {
    thread::scope(|scope| {
        let ask = |address: &String| {
            let address = address.clone();
            scope.spawn(move || {
                let answer = answer::ask(&address, TIMEOUT, tls);
                (address, answer)
            })
        };
        let asking: Vec<_> = addresses.iter().map(ask).collect();
        asking.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Members that were not named: at their own host they answer at the port at which the others do, or as many ports
/// beside it as their numbers are apart. The answer says which member it is.
fn find_others(first: &Answer, answers: &mut BTreeMap<u64, (String, Answer)>, tls: &Tls) {
    let known: Vec<(u64, u16)> = answers
        .iter()
        .filter_map(|(number, (address, _))| Some((*number, address.rsplit_once(':')?.1.parse().ok()?)))
        .collect();
    let mut guesses = Vec::new();
    for sight in first.members.iter().filter(|sight| !answers.contains_key(&sight.member)) {
        for (number, port) in &known {
            let beside = i64::from(*port) + sight.member as i64 - *number as i64;
            for port in [i64::from(*port), beside] {
                let guess = match sight.host.contains(':') {
                    true => format!("[{}]:{port}", sight.host),
                    false => format!("{}:{port}", sight.host),
                };
                let taken = answers.values().any(|(address, _)| *address == guess);
                if (1..=65_535).contains(&port) && !taken && !guesses.contains(&guess) {
                    guesses.push(guess);
                }
            }
        }
    }
    for (address, answer) in ask_all(&guesses, tls) {
        if let Ok(answer) = answer
            && answer.ensemble() == first.ensemble()
        {
            answers.entry(answer.member).or_insert((address, answer));
        }
    }
}

impl Picture {
    fn of(first: &Answer, mut answers: BTreeMap<u64, (String, Answer)>) -> Self {
        // Of two members that name a leader, the one in the later term knows better; the leader itself knows best.
        let best = answers.values().map(|(_, answer)| answer).filter(|answer| answer.leader != 0);
        let best = best.max_by_key(|answer| (answer.term, answer.role == "leader")).cloned();
        let alone = first.role == "standalone";
        let leads = |answer: &Answer| answer.member == answer.leader;
        let lags = best.as_ref().filter(|answer| leads(answer)).map(|answer| answer.members.clone());
        let term = answers.values().map(|(_, answer)| answer.term).max().unwrap_or(0);
        let sights: Vec<_> = match alone {
            true => vec![(first.member, None)],
            false => first.members.iter().map(|sight| (sight.member, Some(sight.clone()))).collect(),
        };
        let row = |(member, sight): (u64, Option<Sight>)| {
            let seen = |(viewer, (_, answer)): (&u64, &(String, Answer))| {
                let sight = answer.members.iter().find(|sight| sight.member == member)?;
                (sight.connected && *viewer != member).then_some(*viewer)
            };
            let lag =
                lags.as_ref().and_then(|sights| sights.iter().find(|sight| sight.member == member)?.lag);
            let connected_to = answers.iter().filter_map(seen).collect();
            Row { member, sight, answer: None, lag, connected_to }
        };
        let mut rows: Vec<_> = sights.into_iter().map(row).collect();
        for row in &mut rows {
            row.answer = answers.remove(&row.member);
        }
        let leader = best.map(|answer| answer.leader).or(alone.then_some(0));
        Self { rows, leader, term }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(member: u64, connected: bool, lag: Option<(u64, u64)>) -> Sight {
        let host = String::from("h");
        Sight { member, host, peer_port: 1, client_address: None, participant: true, connected, lag }
    }

    fn answer(member: u64, leader: u64, term: u64) -> Answer {
        let role = if member == leader { "leader" } else { "follower" };
        let lag = (member == leader).then_some((7, 70));
        Answer {
            member,
            role: String::from(role),
            serving: true,
            leader,
            term,
            pid: 1,
            version: String::new(),
            zxid: String::from("0x1"),
            sessions: 0,
            connections: 0,
            uptime_ms: 0,
            snapshot: None,
            client_port: Some(1),
            other_ensembles: Vec::new(),
            members: (1..=3).map(|other| sight(other, other != 3, lag.filter(|_| other != member))).collect(),
        }
    }

    fn picture(answers: &[Answer]) -> Picture {
        let all = answers.iter().map(|answer| (answer.member, (String::from("h:1"), answer.clone())));
        Picture::of(&answers[0], all.collect())
    }

    #[test]
    fn one_answer_tells_of_all_members() {
        let picture = picture(&[answer(2, 1, 5)]);
        assert_eq!((picture.leader, picture.term, picture.rows.len()), (Some(1), 5, 3));
        assert!(picture.rows.iter().all(|row| row.lag.is_none()), "a follower knows of no lag");
        let answered: Vec<_> = picture.rows.iter().map(|row| row.answer.is_some()).collect();
        assert_eq!(answered, [false, true, false]);
        assert_eq!(picture.rows[0].connected_to, [2]);
        assert_eq!(picture.rows[2].connected_to, [0; 0]);
    }

    #[test]
    fn whoever_speaks_of_a_later_term_is_believed() {
        let picture = picture(&[answer(1, 1, 5), answer(2, 2, 6)]);
        assert_eq!((picture.leader, picture.term), (Some(2), 6));
        assert_eq!((picture.rows[0].lag, picture.rows[1].lag), (Some((7, 70)), None));
    }

    #[test]
    fn without_a_leader_there_is_none() {
        assert_eq!(picture(&[answer(2, 0, 5)]).leader, None);
    }
}
