//! One quiet client beside others that send the most expensive requests that a server permits, one kind after another.
//!
//! The quiet client asks small things, reads and durable writes in turn, at fixed moments, whether or not it was answered
//! before; each latency counts from the moment that its request was due. What is held is its p99.9 beside each kind of abuse.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use council_client::load::{Heard, Patience, Runner, append};
use council_wire::{Acl, MultiHeader, OpCode, Writer};
use hdrhistogram::Histogram;

use super::{Row, at_most};
use crate::bench::{Bench, Failure, Sheet, Spec};

/// What the quiet client may wait for, ms.
const MOST: crate::bench::Limit = at_most(20.0);

pub(super) const ABUSE: Row = Row {
    name: "abuse",
    about: "a quiet client's small reads and durable writes, 400 a second, beside 4 connections that send the worst requests",
    floor: None,
    figures: &[
        Spec::told("nothing", "p99.9 ms"),
        Spec::held("multiRead of 40 MB", "p99.9 ms", MOST, MOST),
        Spec::held("getAllChildrenNumber", "p99.9 ms", MOST, MOST),
        Spec::held("getEphemerals", "p99.9 ms", MOST, MOST),
        Spec::held("getChildren", "p99.9 ms", MOST, MOST),
        Spec::held("setWatches", "p99.9 ms", MOST, MOST),
        Spec::held("reads behind writes", "p99.9 ms", MOST, MOST),
        Spec::held("largest multi", "p99.9 ms", MOST, MOST),
        Spec::held("long ACLs", "p99.9 ms", MOST, MOST),
        Spec::held("below a quota", "p99.9 ms", MOST, MOST),
        Spec::held("sessions that close", "p99.9 ms", MOST, MOST),
    ],
    servers: 1,
    large: false,
    run,
};

/// Kinds of abuse, in the order of the figures.
const KINDS: [(&str, Kind); 11] = [
    ("nothing", Kind::Nothing),
    ("multiRead of 40 MB", Kind::MultiRead),
    ("getAllChildrenNumber", Kind::AllChildrenNumber),
    ("getEphemerals", Kind::Ephemerals),
    ("getChildren", Kind::Children),
    ("setWatches", Kind::SetWatches),
    ("reads behind writes", Kind::ReadsBehindWrites),
    ("largest multi", Kind::Multi),
    ("long ACLs", Kind::Acls),
    ("below a quota", Kind::Quota),
    ("sessions that close", Kind::Close),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    MultiRead,
    AllChildrenNumber,
    Ephemerals,
    Children,
    SetWatches,
    ReadsBehindWrites,
    Multi,
    Acls,
    Quota,
    Close,
}

const ATTACKERS: usize = 4;
/// Requests that an attacker keeps outstanding.
const OUTSTANDING: usize = 10;
/// Operations of a multi that sets a scene: below a megabyte.
const SCENE: u32 = 5_000;
/// Between two requests of the quiet client.
const PERIOD: Duration = Duration::from_micros(2_500);
/// The longest latency that is measured, microseconds.
const LONGEST_US: u64 = 60_000_000;
/// Bytes of a node that is large.
const LARGE: usize = 1_000_000;
/// Bytes of one that the server still takes for small.
const SMALL: usize = 60_000;
/// Bytes of an ordinary one.
const TINY: usize = 100;

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    let nodes = bench.scale().many.min(100_000);
    bench.in_turn(&mut bench.servers(), |who| {
        let server = bench.fresh(*who, &[("extendedTypesEnabled", "true")])?;
        prepare(server.address(), nodes)?;
        for (name, kind) in KINDS {
            let measured = beside(server.address(), kind, nodes, bench.scale().measure)?;
            sheet.add(name, *who, measured.value_at_quantile(0.999) as f64 / 1e3);
        }
        Ok(())
    })
}

/// What all attackers find: `/flat` with very many children, and a node of each size.
fn prepare(address: SocketAddr, nodes: u32) -> Result<(), Failure> {
    let mut runner = Runner::connect(&[address], 1)?;
    for (path, bytes) in
        [("/flat", 0), ("/large", LARGE), ("/small", SMALL), ("/quiet", TINY), ("/acl", 0), ("/quota", 0)]
    {
        ask(&mut runner, 0, OpCode::Create, |writer| create(writer, path, &vec![b'x'; bytes], 0));
    }
    let limits = "/zookeeper/quota/quota";
    ask(&mut runner, 0, OpCode::Create, |writer| create(writer, limits, b"", 0));
    for (name, text) in
        [("zookeeper_limits", "count=1000000,bytes=-1"), ("zookeeper_stats", "count=1,bytes=0")]
    {
        ask(&mut runner, 0, OpCode::Create, |writer| {
            create(writer, &format!("{limits}/{name}"), text.as_bytes(), 0);
        });
    }
    ask(&mut runner, 0, OpCode::Create, |writer| create(writer, "/quota/node", b"", 0));
    children(&mut runner, 0, "/flat/n", nodes, 0)?;
    Ok(runner.close()?)
}

/// The quiet client's latencies, in microseconds, while attackers send requests of one kind.
fn beside(
    address: SocketAddr,
    kind: Kind,
    nodes: u32,
    duration: Duration,
) -> Result<Histogram<u64>, Failure> {
    let patience = Patience::default();
    let ready = Arc::new(AtomicBool::new(false));
    let attack = thread::spawn({
        let (patience, ready) = (patience.clone(), Arc::clone(&ready));
        move || attack(address, kind, nodes, &patience, &ready)
    });
    while !ready.load(Ordering::Acquire) && !attack.is_finished() {
        thread::sleep(Duration::from_millis(1));
    }
    let measured = quiet(address, duration);
    let stopped = patience.stop.swap(true, Ordering::Relaxed);
    let attacked = attack.join().map_err(|_| Failure(format!("the attack by {kind:?} panicked")))?;
    if let Err(error) = attacked {
        // An end that this program asked for is no failure.
        if stopped || error.to_string() != "stopped" {
            return Err(Failure(format!("the attack by {kind:?} ended: {error}")));
        }
    }
    Ok(measured?)
}

fn quiet(address: SocketAddr, duration: Duration) -> std::io::Result<Histogram<u64>> {
    let mut runner = Runner::connect(&[address], 1)?;
    let mut latencies =
        Histogram::new_with_max(LONGEST_US, 3).expect("three digits of a minute in microseconds are allowed");
    let (began, mut number, mut error) = (Instant::now(), 0, 0);
    while error == 0 && (began.elapsed() < duration || runner.is_owed()) {
        let now = Instant::now();
        while began + PERIOD * number <= now && began.elapsed() < duration {
            small(&mut runner, began + PERIOD * number, number);
            number += 1;
        }
        runner.connections[0].send()?;
        let next = (began + PERIOD * number).saturating_duration_since(Instant::now());
        runner.turn(next.max(Duration::from_micros(50)), |_, heard, now| {
            if let Heard::Answer(answer) = heard {
                error = answer.error;
                latencies.saturating_record((now - answer.asked).as_micros() as u64);
            }
        })?;
    }
    if error != 0 {
        return Err(std::io::Error::other(format!("the quiet client was refused: {error}")));
    }
    runner.close()?;
    Ok(latencies)
}

/// The quiet client's request of that number, which was due then.
fn small(runner: &mut Runner, due: Instant, number: u32) {
    runner.connections[0].ask(due, |xid, out| match number % 2 {
        0 => append(out, xid, OpCode::GetData, |writer| {
            writer.text("/quiet").bool(false);
        }),
        _ => append(out, xid, OpCode::SetData, |writer| {
            writer.text("/quiet").buffer(Some(&[b'y'; TINY])).i32(-1);
        }),
    });
}

fn attack(
    address: SocketAddr,
    kind: Kind,
    nodes: u32,
    patience: &Patience,
    ready: &AtomicBool,
) -> std::io::Result<()> {
    if kind == Kind::Nothing {
        ready.store(true, Ordering::Release);
        return Ok(());
    }
    let mut runner = Runner::connect_patient(&address.into(), ATTACKERS, patience)?;
    if kind == Kind::Ephemerals {
        for place in 0..ATTACKERS {
            children(&mut runner, place, &format!("/flat/e{place}-"), nodes / 10, 1)?;
        }
    }
    ready.store(true, Ordering::Release);
    if kind == Kind::Close {
        drop(runner);
        loop {
            let mut runner = Runner::connect_patient(&address.into(), 1, patience)?;
            children(&mut runner, 0, "/flat/c", nodes / 10, 1)?;
            runner.close()?;
        }
    }
    runner.until(|runner| {
        for place in 0..ATTACKERS {
            while runner.connections[place].outstanding() < OUTSTANDING {
                worst(runner, place, kind, nodes);
            }
        }
        Ok(false)
    })
}

/// The worst request of a kind.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of abuse")]
fn worst(runner: &mut Runner, place: usize, kind: Kind, nodes: u32) {
    let read = |writer: &mut Writer<'_>, path: &str| {
        writer.text(path).bool(false);
    };
    match kind {
        Kind::Nothing | Kind::Close => {}
        Kind::MultiRead => ask(runner, place, OpCode::MultiRead, |writer| {
            multi(writer, OpCode::GetData, 40, |writer, _| read(writer, "/large"));
        }),
        Kind::AllChildrenNumber => ask(runner, place, OpCode::GetAllChildrenNumber, |writer| {
            writer.text("/flat");
        }),
        Kind::Ephemerals => ask(runner, place, OpCode::GetEphemerals, |writer| {
            writer.text("/none");
        }),
        Kind::Children => ask(runner, place, OpCode::GetChildren, |writer| read(writer, "/flat")),
        Kind::SetWatches => ask(runner, place, OpCode::SetWatches, |writer| {
            let paths: Vec<_> = (0..nodes.min(40_000)).map(|node| format!("/none{node}")).collect();
            writer.i64(0).texts(std::iter::empty());
            writer.texts(paths.iter().map(String::as_str)).texts(std::iter::empty());
        }),
        Kind::ReadsBehindWrites => {
            ask(runner, place, OpCode::SetData, |writer| {
                writer.text("/acl").buffer(None).i32(-1);
            });
            for _ in 0..100 {
                ask(runner, place, OpCode::GetData, |writer| read(writer, "/small"));
            }
        }
        Kind::Multi => ask(runner, place, OpCode::Multi, |writer| {
            multi(writer, OpCode::SetData, 20_000, |writer, _| {
                writer.text("/flat").buffer(None).i32(-1);
            });
        }),
        Kind::Acls => {
            let acl: Vec<_> = (0..1000)
                .map(|entry| Acl { permissions: 31, scheme: "ip".into(), id: address(entry) })
                .collect();
            ask(runner, place, OpCode::SetAcl, |writer| {
                writer.text("/acl");
                Acl::write_all(&acl, writer);
                writer.i32(-1);
            });
            ask(runner, place, OpCode::Multi, |writer| {
                multi(writer, OpCode::Check, 1000, |writer, _| {
                    writer.text("/acl").i32(-1);
                });
            });
        }
        Kind::Quota => ask(runner, place, OpCode::Multi, |writer| {
            multi(writer, OpCode::SetData, 10_000, |writer, number| {
                writer.text("/quota/node").buffer(Some(&[0, 1][..1 + number as usize % 2])).i32(-1);
            });
        }),
    }
}

/// First the address of all clients here, so that each other request is permitted.
fn address(entry: u32) -> String {
    if entry == 0 { "127.0.0.1".into() } else { format!("10.0.{}.{}", entry / 256, entry % 256) }
}

fn ask(runner: &mut Runner, place: usize, opcode: OpCode, body: impl FnOnce(&mut Writer<'_>)) {
    runner.connections[place].ask(Instant::now(), |xid, out| append(out, xid, opcode, body));
}

/// Creates so many children and waits for it.
fn children(runner: &mut Runner, place: usize, prefix: &str, count: u32, flags: i32) -> std::io::Result<()> {
    for from in (0..count).step_by(SCENE as usize) {
        ask(runner, place, OpCode::Multi, |writer| {
            multi(writer, OpCode::Create, SCENE.min(count - from), |writer, number| {
                create(writer, &format!("{prefix}{:07}", from + number), b"", flags);
            });
        });
    }
    runner.until(|runner| Ok(!runner.is_owed()))
}

fn create(writer: &mut Writer<'_>, path: &str, data: &[u8], flags: i32) {
    writer.text(path).buffer(Some(data));
    Acl::write_all(&[Acl::open()], writer);
    writer.i32(flags);
}

fn multi(writer: &mut Writer<'_>, opcode: OpCode, count: u32, mut body: impl FnMut(&mut Writer<'_>, u32)) {
    for number in 0..count {
        MultiHeader { operation: opcode.code(), done: false, err: -1 }.write(writer);
        body(writer, number);
    }
    MultiHeader::END.write(writer);
}
