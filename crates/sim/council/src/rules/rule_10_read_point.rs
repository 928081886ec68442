//! Rule 10. Read point: every read is what the tree of the reply's zxid says, exactly.
//!
//! Source: a reply's zxid says which tree it shows; ZooKeeper's guarantee of a consistent prefix.

use council_wire::{Acl, ErrorCode, Malformed, MultiHeader, OpCode, Reader, permission};

use crate::history::{Answer, Ask};
use crate::oracle::Oracle;
use crate::oracle::access::{Identities, masked};
use crate::oracle::model::Znode;
use crate::rules::seen::{Seen, names};
use crate::rules::{Evidence, Findings, tell, who};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for connection in &history.connections {
        for (call, who) in who::calls(history, connection) {
            let call = &history.calls[call];
            let Some(answer) = call.answer.as_ref().filter(|_| call.ask.is_read()) else { continue };
            findings.judged("reads");
            if answer.zxid > oracle.last_zxid() {
                findings.add(format!(
                    "{} was answered at {:x}, which no member applied",
                    tell(history, call),
                    answer.zxid
                ));
            } else if let Some(wrong) = wrong(oracle, &call.ask, answer, &who) {
                findings.add(format!("{} at {:x}: {wrong}", tell(history, call), answer.zxid));
            }
        }
    }
}

/// What is wrong with an answer.
fn wrong(oracle: &Oracle, ask: &Ask, answer: &Answer, who: &Identities) -> Option<String> {
    if let Ask::MultiRead(all) = ask {
        let all = all_of(oracle, all, answer, who);
        return all.unwrap_or_else(|error| Some(error.to_string()));
    }
    let (path, _) = ask.reads()?;
    let wanted = match ask {
        Ask::GetAcl { .. } => permission::READ | permission::ADMIN,
        _ => permission::READ,
    };
    let node = match readable(oracle, path, answer.zxid, wanted, who) {
        Ok(node) if answer.err == 0 => node,
        Err(error) if answer.err == error.code() => return None,
        other => return Some(format!("the answer is {}, expected {:?}", answer.err, other.err())),
    };
    let Seen { data, children, acl, stat } = match Seen::read(ask, &answer.body) {
        Ok(seen) => seen,
        Err(error) => return Some(error.to_string()),
    };
    if stat != node.stat {
        return Some(format!("the answer is {stat:?}, expected {:?}", node.stat));
    }
    if let Some(data) = data.filter(|data| *data != node.value()) {
        return Some(format!("the answer is {data:?}, expected {:?}", node.value()));
    }
    if let Some(acl) = acl {
        let may_administer = who.may(permission::ADMIN, &node.acl);
        let expected: Vec<Acl> = if may_administer { node.acl.to_vec() } else { masked(&node.acl) };
        return (acl.to_vec() != expected).then(|| format!("the answer is {acl:?}, expected {expected:?}"));
    }
    unlike(oracle, path, answer.zxid, children?)
}

/// A node as of that transaction, if it is there and may be read.
fn readable<'o>(
    oracle: &'o Oracle,
    path: &str,
    zxid: i64,
    wanted: i32,
    who: &Identities,
) -> Result<&'o Znode, ErrorCode> {
    let node = oracle.model.at(path, zxid).ok_or(ErrorCode::NoNode)?;
    if who.may(wanted, &node.acl) { Ok(node) } else { Err(ErrorCode::NoAuth) }
}

/// What is wrong with the names of a node's children.
fn unlike(oracle: &Oracle, path: &str, zxid: i64, mut children: Vec<&str>) -> Option<String> {
    children.sort_unstable();
    let expected = oracle.model.children_at(path, zxid);
    (children != expected).then(|| format!("the answer is {children:?}, expected {expected:?}"))
}

/// What is wrong with the answer to several reads: all of them are of the same tree.
fn all_of(
    oracle: &Oracle,
    asked: &[Ask],
    answer: &Answer,
    who: &Identities,
) -> Result<Option<String>, Malformed> {
    let mut reader = Reader::new(&answer.body);
    for ask in asked {
        let Some((path, _)) = ask.reads() else { continue };
        let header = MultiHeader::read(&mut reader)?;
        let told = match OpCode::from_code(header.operation) {
            None => Err(reader.i32()?),
            Some(OpCode::GetData) => {
                let data = reader.buffer()?;
                Ok((Some((data, council_wire::Stat::read(&mut reader)?)), None))
            }
            Some(_) => Ok((None, Some(names(&mut reader)?))),
        };
        let expected = readable(oracle, path, answer.zxid, permission::READ, who);
        match (told, expected) {
            (Err(told), Err(expected)) if told == expected.code() => {}
            (Ok((Some((data, stat)), _)), Ok(node)) if data == node.value() && stat == node.stat => {}
            (Ok((None, Some(names))), Ok(_)) => {
                if let Some(wrong) = unlike(oracle, path, answer.zxid, names) {
                    return Ok(Some(wrong));
                }
            }
            (told, expected) => {
                let expected = expected.map(|node| (&node.data, node.stat));
                return Ok(Some(format!("`{path}` was answered as {told:?}, expected {expected:?}")));
            }
        }
    }
    let end = MultiHeader::read(&mut reader)?;
    Ok((!end.done).then(|| String::from("more was told than was asked for")))
}
