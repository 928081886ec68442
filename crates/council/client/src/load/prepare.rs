//! Making the nodes that a load works on.

use std::io;
use std::ops::Range;
use std::time::Instant;

use council_wire::{Acl, MultiHeader, OpCode, Writer};

use super::connection::Heard;
use super::runner::{Patience, Runner};
use super::script::append;
use super::servers::Servers;
use super::{Nodes, Stamp};

/// Nodes created by one multi, if their values are small.
const PER_MULTI: u32 = 100;
/// Bytes of one multi: well under ZooKeeper's limit of 1 MiB.
const MULTI_BYTES: usize = 512 << 10;
/// Multis on their way at a time, and their bytes: more would only wait in the servers' memory.
const OUTSTANDING: usize = 200;
const OUTSTANDING_BYTES: usize = 16 << 20;

/// Makes all the nodes, their groups and the parent of those; each value is the stamp of writer 0. The first of the
/// servers is asked.
///
/// # Errors
/// A connection failed, or the nodes were there already.
pub fn prepare(servers: impl Into<Servers>, nodes: Nodes) -> io::Result<()> {
    extend_patiently(&servers.into(), nodes, 0, &Patience::default())
}

/// Makes the nodes from number `from` on, which must begin a group. The first of the servers is asked.
///
/// # Errors
/// A connection failed, or the nodes were there already.
pub fn extend(servers: impl Into<Servers>, nodes: Nodes, from: u32) -> io::Result<()> {
    extend_patiently(&servers.into(), nodes, from, &Patience::default())
}

/// As [`extend`], from 0 on with the parent of all, on the first of these servers.
///
/// # Errors
/// A connection failed, or the nodes were there already, or `patience` is at its end.
pub fn extend_patiently(servers: &Servers, nodes: Nodes, from: u32, patience: &Patience) -> io::Result<()> {
    let mut runner = Runner::connect_patient(servers, 1, patience)?;
    if from == 0 {
        create(&mut runner, std::iter::once(vec![(0, Nodes::PARENT.to_owned())]), 0)?;
    }
    fill(&mut runner, nodes, from..nodes.count)?;
    runner.close()
}

fn fill(runner: &mut Runner, nodes: Nodes, numbers: Range<u32>) -> io::Result<()> {
    let groups = numbers.start.div_ceil(Nodes::PER_GROUP)..nodes.groups();
    create(runner, pieces(groups, PER_MULTI, Nodes::group), 0)?;
    let fit = (MULTI_BYTES / (nodes.value_bytes + 100)).max(1);
    let per_multi = PER_MULTI.min(u32::try_from(fit).unwrap_or(PER_MULTI));
    create(runner, pieces(numbers, per_multi, Nodes::path), nodes.value_bytes)?;
    let last = Nodes::path(nodes.count - 1);
    if read_fails(runner, &last)? {
        return Err(io::Error::other(format!("`{last}` was not made: the server refused a multi")));
    }
    Ok(())
}

fn pieces(
    numbers: Range<u32>,
    size: u32,
    path: fn(u32) -> String,
) -> impl Iterator<Item = Vec<(u32, String)>> {
    let end = numbers.end;
    numbers.step_by(size as usize).map(move |first| {
        (first..end.min(first.saturating_add(size))).map(|number| (number, path(number))).collect()
    })
}

/// Creates the nodes of each list in one multi.
fn create(
    runner: &mut Runner,
    mut lists: impl Iterator<Item = Vec<(u32, String)>>,
    value_bytes: usize,
) -> io::Result<()> {
    let mut more = true;
    let mut outstanding = OUTSTANDING;
    let mut value = vec![0; value_bytes];
    runner.until(|runner| {
        let connection = &mut runner.connections[0];
        while more && connection.outstanding() < outstanding {
            let Some(nodes) = lists.next() else {
                more = false;
                break;
            };
            outstanding =
                OUTSTANDING.min(OUTSTANDING_BYTES / (nodes.len() * (value_bytes + 100)).max(1)).max(1);
            connection.ask(Instant::now(), |xid, out| {
                append(out, xid, OpCode::Multi, |writer| write_creates(writer, &nodes, &mut value));
            });
        }
        Ok(!more && connection.outstanding() == 0)
    })
}

fn write_creates(writer: &mut Writer<'_>, nodes: &[(u32, String)], value: &mut [u8]) {
    for (number, path) in nodes {
        Stamp::new(*number, 0, 0).put(value);
        MultiHeader { operation: OpCode::Create.code(), done: false, err: -1 }.write(writer);
        writer.text(path).buffer(Some(value));
        Acl::write_all(&[Acl::open()], writer);
        writer.i32(0);
    }
    MultiHeader::END.write(writer);
}

fn read_fails(runner: &mut Runner, path: &str) -> io::Result<bool> {
    let mut error = None;
    runner.connections[0].ask(Instant::now(), |xid, out| {
        append(out, xid, OpCode::GetData, |writer| {
            writer.text(path).bool(false);
        });
    });
    runner.connections[0].send()?;
    let began = Instant::now();
    while error.is_none() {
        runner.turn(std::time::Duration::from_millis(100), |_, heard, _| {
            if let Heard::Answer(answer) = heard {
                error = Some(answer.error);
            }
        })?;
        if began.elapsed() > super::runner::PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer"));
        }
    }
    Ok(error != Some(0))
}
