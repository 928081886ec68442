//! Rule 47. Other reads: getChildren, getAllChildrenNumber and getEphemerals show the tree of their zxid, whoAmI who the
//! client was when it asked.
//!
//! Source: ZooKeeper's FinalRequestProcessor.

use council_wire::{ErrorCode, Malformed, Reader, permission};

use crate::history::{Answer, Ask};
use crate::oracle::access::Identities;
use crate::oracle::model::{Model, below};
use crate::rules::seen::names;
use crate::rules::{Evidence, Findings, tell, who};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    for connection in &history.connections {
        let session = connection.grant.map_or(0, |grant| grant.session);
        for (call, who) in who::calls(history, connection) {
            let call = &history.calls[call];
            let Some(answer) = &call.answer else { continue };
            let (what, told) = match &call.ask {
                Ask::Names { path } => {
                    ("lists of names", children(&evidence.oracle.model, path, answer, &who))
                }
                Ask::Count { path } => ("counts", count(&evidence.oracle.model, path, answer, &who)),
                Ask::Owned { prefix } => {
                    ("lists of own nodes", owned(&evidence.oracle.model, prefix, session, answer))
                }
                Ask::WhoAmI => ("identities", identities(answer, &who)),
                _ => continue,
            };
            findings.judged(what);
            let wrong = told.unwrap_or_else(|error| Some(error.to_string()));
            if let Some(wrong) = wrong {
                findings.add(format!("{} at {:x}: {wrong}", tell(history, call), answer.zxid));
            }
        }
    }
}

/// What is wrong with an answer, if anything is.
type Told = Result<Option<String>, Malformed>;

/// Whether an answer is an error that it should be.
fn refused(model: &Model, path: &str, answer: &Answer, who: &Identities) -> Option<Told> {
    let expected = match model.at(path, answer.zxid) {
        None => ErrorCode::NoNode.code(),
        Some(node) if !who.may(permission::READ, &node.acl) => ErrorCode::NoAuth.code(),
        Some(_) => 0,
    };
    if answer.err != expected {
        return Some(Ok(Some(format!("the answer is {}, expected {expected}", answer.err))));
    }
    (expected != 0).then_some(Ok(None))
}

fn unlike<T: PartialEq + std::fmt::Debug>(told: &T, expected: &T) -> Option<String> {
    (told != expected).then(|| format!("the answer is {told:?}, expected {expected:?}"))
}

fn children(model: &Model, path: &str, answer: &Answer, who: &Identities) -> Told {
    if let Some(refused) = refused(model, path, answer, who) {
        return refused;
    }
    let mut told = names(&mut Reader::new(&answer.body))?;
    told.sort_unstable();
    Ok(unlike(&told, &model.children_at(path, answer.zxid)))
}

fn count(model: &Model, path: &str, answer: &Answer, who: &Identities) -> Told {
    if let Some(refused) = refused(model, path, answer, who) {
        return refused;
    }
    let inside = below(path);
    let all = model.all_at(answer.zxid).filter(|(other, _)| *other != path && other.starts_with(&inside));
    Ok(unlike(&Reader::new(&answer.body).i32()?, &(all.count() as i32)))
}

fn owned(model: &Model, prefix: &str, session: i64, answer: &Answer) -> Told {
    let mut told = names(&mut Reader::new(&answer.body))?;
    told.sort_unstable();
    let all = model.all_at(answer.zxid).filter(|(_, node)| node.stat.ephemeral_owner == session);
    let expected: Vec<_> = all.map(|(path, _)| path).filter(|path| path.starts_with(prefix)).collect();
    Ok(unlike(&told, &expected))
}

fn identities(answer: &Answer, who: &Identities) -> Told {
    let mut reader = Reader::new(&answer.body);
    let count = reader.i32()?;
    let told: Result<Vec<_>, _> =
        (0..count).map(|_| Ok((reader.text()?.to_owned(), reader.text()?.to_owned()))).collect();
    let mut told = told?;
    told.sort_unstable();
    Ok(unlike(&told, &who.users()))
}
