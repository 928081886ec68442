//! A fault that no server could hide and no client may overlook: does the judging bite? And what is made up in a history
//! that was clean: do the rules?

use std::time::Duration;

use council_wire::{ErrorCode, EventType};
use sim_council::history::{Ask, Call, Connection, Delivery, Outcome};
use tools_testbed::Failure;

use super::{Play, Setting, copy};
use crate::judge::judge;
use crate::verdict::Case;

/// How long clients work on what is then lost.
const LOSES: Duration = Duration::from_secs(1);

/// When all clients are done, all members are stopped and their disks put back to what they held before: what was
/// acknowledged since then is lost, and whoever judges must say so.
pub(super) fn planted(setting: &Setting) -> Result<Vec<String>, Failure> {
    let mut play = Play::open(setting, 3)?;
    kill_all(&mut play)?;
    for number in play.ensemble.all() {
        copy(&play.ensemble.data(number), &before(setting, number))?;
    }
    play.ensemble.start_all()?;
    play.crowd.all_write()?;
    // Of the queue, too, something is to be lost.
    play.crowd.work_for(LOSES)?;
    let Play { mut ensemble, crowd, .. } = play;
    let (writers, testimony) = crowd.stop()?;
    let case = Case::close(&mut ensemble, &testimony, None)?
        .ok_or_else(|| Failure::broken("no member has the log"))?;
    let forged = forge_all(&case)?;
    for number in ensemble.all() {
        ensemble.wipe(number)?;
        copy(&before(setting, number), &ensemble.data(number))?;
    }
    let gone_back = Case::of_disks(&ensemble, &testimony, None)?.map(Case::judge).unwrap_or_default();
    if !gone_back.iter().any(|line| line.starts_with("rule 3 ")) {
        let said = gone_back.join("\n");
        return Err(Failure::broken(format!("disks went back, and the rules find nothing lost:\n{said}")));
    }
    ensemble.start_all()?;
    let ledgers: Vec<_> = writers.iter().map(|writer| &writer.ledger).collect();
    let noticed = match judge(&ensemble, &ensemble.all(), &ledgers) {
        Err(Failure::Broken(noticed)) => noticed,
        Err(other) => return Err(other),
        Ok(_) => Vec::new(),
    };
    // No server takes a client that has seen more than it has.
    writers.iter().for_each(|writer| writer.client.abandon());
    let registers = noticed.iter().filter(|line| line.starts_with("the register of client ")).count();
    let queued =
        noticed.iter().filter(|line| line.ends_with("took effect 0 times; acknowledged: true")).count();
    if registers == writers.len() && queued > 0 {
        return Ok(vec![format!(
            "noticed: {registers} registers went back, {queued} acknowledged nodes are lost; {forged} forgeries"
        )]);
    }
    Err(Failure::broken(format!("disks went back, and all that is noticed is:\n{}", noticed.join("\n"))))
}

/// What is made up in what witnesses saw or members left behind, and the rule that finds it.
type Forgery = (u32, &'static str, fn(&mut Case));

const FORGERIES: &[Forgery] = &[
    (2, "a member holds other data", |case| {
        case.standings[0].nodes.get_mut("/queue").expect("all use it").data.push(b'x');
    }),
    (2, "a member applied something else", |case| {
        let mut other = case.record.entries[0].entry.clone();
        other.term = other.term.next();
        case.record.contradictions.push((1, other));
    }),
    (3, "what was acknowledged is in no log", |case| {
        let answered =
            |call: &&mut Call| matches!(call.ask, Ask::Set { .. }) && call.outcome() == Outcome::Ok;
        let call = case.history.calls.iter_mut().rfind(answered).expect("a write");
        if let Ask::Set { data, .. } = &mut call.ask {
            data.push(b'x');
        }
    }),
    (3, "a member lacks the end of the log", |case| {
        case.standings[0].index = case.standings[0].index.previous();
    }),
    (4, "what was refused took effect", |case| {
        let call = answered(case, |ask| matches!(ask, Ask::Set { .. }));
        call.answer.as_mut().expect("answered").err = ErrorCode::BadVersion.code();
    }),
    (6, "a write that was sent late stands early", |case| {
        answered(case, |ask| matches!(ask, Ask::Set { .. })).sent_ms += 5_000;
    }),
    (6, "a write was told another result", |case| {
        let call = answered(case, |ask| matches!(ask, Ask::Set { .. }));
        call.answer.as_mut().expect("answered").body[0] ^= 1;
    }),
    (7, "two answers change places", |case| {
        let connection = longest(case);
        let replies = connection.deliveries.iter().enumerate();
        let replies: Vec<_> = replies.filter(|(_, (_, one))| matches!(one, Delivery::Reply(_))).collect();
        let (one, other) = (replies[0].0, replies[1].0);
        connection.deliveries.swap(one, other);
    }),
    (9, "a session is taken back", |case| {
        let calls = case.history.calls.iter_mut();
        let mut reads = calls.filter(|call| call.ask.is_read() && call.answer.is_some());
        reads.next_back().expect("a read").answer.as_mut().expect("answered").zxid = 1;
    }),
    (10, "a read shows what never was", |case| {
        let call = answered(case, |ask| matches!(ask, Ask::Get { .. }));
        call.answer.as_mut().expect("answered").body[0] ^= 1;
    }),
    (11, "a read shows what is long past", |case| {
        let calls = case.history.calls.iter_mut();
        let mut reads = calls.filter(|call| call.ask.is_read() && call.answer.is_some());
        reads.next().expect("a read").fresh_ms += 60_000;
    }),
    (18, "an event is lost", |case| {
        for connection in &mut case.history.connections {
            connection.deliveries.retain(|(_, one)| !matches!(one, Delivery::Event { .. }));
        }
    }),
    (19, "an event of nothing", |case| {
        let connection = longest(case);
        let (at_ms, _) = connection.deliveries[1];
        let event = Delivery::Event { zxid: 1, kind: EventType::NodeCreated, path: "/never".into() };
        connection.deliveries.insert(1, (at_ms, event));
    }),
    (45, "a client comes from another address", |case| {
        longest(case).address = "192.0.2.1".parse().expect("an address");
    }),
    (27, "a session that was never given is granted", |case| {
        let mut all = case.history.connections.iter_mut();
        let grant = all.find_map(|connection| connection.grant.as_mut()).expect("a session");
        grant.session ^= 1 << 40;
    }),
    (41, "a write is refused when all is well", |case| {
        let from = case.history.served_from;
        let mut last = case.history.calls.iter_mut().skip(from).filter(|call| call.ask.is_write());
        let answer = last.next().expect("a last write").answer.as_mut().expect("answered");
        answer.err = ErrorCode::ConnectionLoss.code();
    }),
];

/// The connection on which most was said.
fn longest(case: &mut Case) -> &mut Connection {
    let all = case.history.connections.iter_mut();
    all.max_by_key(|connection| connection.deliveries.len()).expect("a connection")
}

/// The first call of that kind that was done.
fn answered(case: &mut Case, fits: impl Fn(&Ask) -> bool) -> &mut Call {
    let mut calls = case.history.calls.iter_mut().filter(|call| call.outcome() == Outcome::Ok);
    calls.find(|call| fits(&call.ask)).expect("such a call")
}

/// What nobody touched must pass, and each forgery be found by its rule. How many there are.
fn forge_all(case: &Case) -> Result<usize, Failure> {
    let wrongs = case.clone().judge();
    if !wrongs.is_empty() {
        return Err(Failure::Broken(wrongs));
    }
    for (rule, what, forge) in FORGERIES {
        let mut forged = case.clone();
        forge(&mut forged);
        let wrongs = forged.judge();
        if !wrongs.iter().any(|line| line.starts_with(&format!("rule {rule} "))) {
            let said = wrongs.join("\n");
            return Err(Failure::broken(format!("{what}: rule {rule} does not find it, but:\n{said}")));
        }
    }
    Ok(FORGERIES.len())
}

fn kill_all(play: &mut Play) -> Result<(), Failure> {
    play.ensemble.all().into_iter().try_for_each(|number| play.ensemble.kill(number))
}

fn before(setting: &Setting, number: usize) -> std::path::PathBuf {
    setting.folder.join(format!("before-{number}"))
}
