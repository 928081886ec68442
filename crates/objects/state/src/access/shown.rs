//! What is shown of tokens and rights: never a secret, and of its hash only the beginning.

use core::ops::Bound;
use std::collections::BTreeSet;

use super::judge::is_admin;
use super::perform::shown_grants;
use super::records::Token;
use super::roles;
use crate::codec::decoded;
use crate::group::Core;
use crate::key::kind;
use crate::limits::REPLY_BYTES_MAX;
use crate::principal::Principal;
use crate::quota;
use crate::reply::{Reply, quoted};

/// `{"access","principal","allow","position"}` of whoever asks, and `"principals"` with `"next"` for those who administer: as many
/// behind a name as fit.
pub(crate) fn shown(core: &Core, principal: &Principal, after: Option<&str>) -> String {
    let reply = Reply::new()
        .text("access", if core.access.closed { "closed" } else { "open" })
        .text("principal", &principal.name)
        .list("allow", shown_grants(core, &principal.name));
    let reply = with_roles(core, &principal.name, reply);
    let reply = match is_admin(core, principal) {
        true => principals(core, after, reply),
        false => reply,
    };
    reply.number("position", core.meta.position).finish()
}

fn principals(core: &Core, after: Option<&str>, reply: Reply) -> Reply {
    let (mut shown, mut next, mut bytes) = (Vec::new(), None, 0);
    let mut last = None;
    for name in names(core, after) {
        if bytes > REPLY_BYTES_MAX {
            next = last;
            break;
        }
        let one = Reply::new().text("principal", name).list("allow", shown_grants(core, name));
        let one = with_roles(core, name, one).finish();
        bytes += one.len();
        shown.push(one);
        last = Some(name);
    }
    let reply = reply.list("principals", shown);
    // All of them fit, on the first page.
    let reply = match after {
        None => reply.list("defined_roles", roles::shown(core)).list("quotas", quota::shown(core)),
        Some(_) => reply,
    };
    reply.optional_text("next", next)
}

/// Who has rights or roles, behind that name and in order.
fn names<'a>(core: &'a Core, after: Option<&str>) -> impl Iterator<Item = &'a str> + use<'a> {
    let of_kind = |kind: u8| {
        let behind = after.map(|after| [&[kind], after.as_bytes()].concat());
        let from = behind.as_deref().map_or(Bound::Included(core::slice::from_ref(&kind)), Bound::Excluded);
        let records = core.store.range(from, Bound::Excluded(&[kind + 1]));
        records.filter_map(|(key, _)| core::str::from_utf8(key.get(1..)?).ok()).collect::<Vec<_>>()
    };
    let all: BTreeSet<&str> = of_kind(kind::RIGHTS).into_iter().chain(of_kind(kind::ROLES_OF)).collect();
    all.into_iter()
}

/// With its roles, if it has any.
fn with_roles(core: &Core, principal: &str, reply: Reply) -> Reply {
    match core.access.roles_of(principal) {
        [] => reply,
        roles => reply.list("roles", roles.iter().map(|role| quoted(role))),
    }
}

/// What tells a token from others in a log: the first digits of its hash, from which nobody guesses 256 bits.
fn mark(hash: &[u8; 32]) -> String {
    hash[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `{"tokens":[{"number","principal","mark","since_ms","by","ends_ms"}],"position"}`.
pub(crate) fn tokens(core: &Core) -> String {
    let shown = core.store.prefix(&[kind::TOKEN]).filter_map(|(key, value)| {
        let number = u64::from_be_bytes(*key.get(1..)?.first_chunk()?);
        let token: Token = decoded(value).ok()?;
        let reply = Reply::new()
            .number("number", number)
            .text("principal", &token.principal)
            .text("mark", &mark(&token.hash))
            .int("since_ms", token.since_ms)
            .text("by", &token.by);
        let reply = match token.ends_ms {
            Some(at) => reply.int("ends_ms", at),
            None => reply.raw("ends_ms", "null"),
        };
        Some(reply.finish())
    });
    Reply::new().list("tokens", shown).number("position", core.meta.position).finish()
}
