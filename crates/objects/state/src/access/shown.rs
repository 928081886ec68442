//! What is shown of tokens and rights: never a secret, and of its hash only the beginning.

use core::ops::Bound;

use super::judge::is_admin;
use super::perform::shown_grants;
use super::records::Token;
use crate::codec::decoded;
use crate::group::Core;
use crate::key::kind;
use crate::limits::REPLY_BYTES_MAX;
use crate::principal::Principal;
use crate::quota;
use crate::reply::Reply;

/// `{"access","principal","allow","position"}` of whoever asks, and `"principals"` with `"next"` for those who administer: as many
/// behind a name as fit.
pub(crate) fn shown(core: &Core, principal: &Principal, after: Option<&str>) -> String {
    let reply = Reply::new()
        .text("access", if core.access.closed { "closed" } else { "open" })
        .text("principal", &principal.name)
        .list("allow", shown_grants(core, &principal.name));
    let reply = match is_admin(core, principal) {
        true => principals(core, after, reply),
        false => reply,
    };
    reply.number("position", core.meta.position).finish()
}

fn principals(core: &Core, after: Option<&str>, reply: Reply) -> Reply {
    let (mut shown, mut next, mut bytes) = (Vec::new(), None, 0);
    let mut last = None;
    let behind = after.map(|after| [&[kind::RIGHTS], after.as_bytes()].concat());
    let from = behind.as_deref().map_or(Bound::Included(&[kind::RIGHTS][..]), Bound::Excluded);
    for (key, _) in core.store.range(from, Bound::Excluded(&[kind::RIGHTS + 1])) {
        let Some(name) = key.get(1..).and_then(|name| core::str::from_utf8(name).ok()) else { continue };
        if bytes > REPLY_BYTES_MAX {
            next = last;
            break;
        }
        let one = Reply::new().text("principal", name).list("allow", shown_grants(core, name)).finish();
        bytes += one.len();
        shown.push(one);
        last = Some(name);
    }
    let reply = reply.list("principals", shown);
    // All of them fit, on the first page.
    let reply = if after.is_none() { reply.list("quotas", quota::shown(core)) } else { reply };
    reply.optional_text("next", next)
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
