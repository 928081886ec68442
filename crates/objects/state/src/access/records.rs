//! Tokens and rights as records, the table that is made of them, and whether they fit together.

use std::collections::BTreeMap;

use super::roles;
use crate::asked::Waits;
use crate::codec::{Malformed, decoded, record};
use crate::deadline;
use crate::group::Core;
use crate::key::{self, kind};
use crate::limits::{GRANTS_PER_PRINCIPAL_MAX, PRINCIPALS_MAX, TOKENS_MAX};
use crate::principal::TokenNumber;
use crate::rights::{Grants, KnownToken, Table};
use crate::store::Store;
use crate::ticket::Ticket;

record! {
    /// A token. Its number is its key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Token {
        pub(crate) principal: String,
        /// The SHA-256 of its secret.
        pub(crate) hash: [u8; 32],
        pub(crate) ends_ms: Option<i64>,
        /// When it was created, by the stamp.
        pub(crate) since_ms: i64,
        /// Who created it.
        pub(crate) by: String,
    }
}

fn all_tokens(store: &Store) -> impl Iterator<Item = Option<(TokenNumber, Token)>> {
    store.prefix(&[kind::TOKEN]).map(|(key, value)| {
        let number = u64::from_be_bytes(*key.get(1..)?.as_array()?);
        Some((number, decoded(value).ok()?))
    })
}

fn all_rights(store: &Store) -> impl Iterator<Item = Option<(&str, Grants)>> {
    store
        .prefix(&[kind::RIGHTS])
        .map(|(key, value)| Some((core::str::from_utf8(key.get(1..)?).ok()?, decoded(value).ok()?)))
}

const fn must(holds: bool, why: &'static str) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(Malformed(why)) }
}

/// The table that the records make.
pub(crate) fn load(core: &mut Core) {
    let mut table = Table::default();
    table.closed = core.store.get(&key::closed()).is_some();
    for (number, token) in all_tokens(&core.store).flatten() {
        let known = KnownToken { principal: token.principal, ends_ms: token.ends_ms };
        table.set_token(number, token.hash, known);
    }
    for (principal, grants) in all_rights(&core.store).flatten() {
        table.set_rights(principal, &grants.0);
    }
    roles::load(core, &mut table);
    table.changes = core.access.changes + 1;
    core.access = table;
}

/// Whether the records fit together.
///
/// # Errors
/// With what is wrong.
pub(crate) fn sound(core: &Core) -> Result<(), Malformed> {
    if let Some(closed) = core.store.get(&key::closed()) {
        decoded::<()>(closed)?;
    }
    must(core.store.prefix(&[kind::CLOSED]).count() <= 1, "check: access is closed twice")?;
    let mut hashes = BTreeMap::new();
    for token in all_tokens(&core.store) {
        let (number, token) = token.ok_or(Malformed("check: a token cannot be read"))?;
        must(hashes.insert(token.hash, number).is_none(), "check: two tokens have one secret")?;
        let ends = token.ends_ms.is_none_or(|at| {
            core.store.get(&key::deadline(at, deadline::TOKEN, &number.to_be_bytes())).is_some()
        });
        must(ends, "check: a token without its end")?;
    }
    must(hashes.len() <= TOKENS_MAX, "check: too many tokens")?;
    let mut principals = 0;
    for rights in all_rights(&core.store) {
        let (_, grants) = rights.ok_or(Malformed("check: rights cannot be read"))?;
        let fit = (1..=GRANTS_PER_PRINCIPAL_MAX).contains(&grants.0.len());
        must(fit && grants.0.iter().all(|grant| grant.check().is_ok()), "check: rights that cannot be")?;
        principals += 1;
    }
    must(principals <= PRINCIPALS_MAX, "check: too many principals")?;
    roles::sound(core)?;
    sound_waits(core)
}

/// Whether the calls that are found by their principals wait, and are counted.
fn sound_waits(core: &Core) -> Result<(), Malformed> {
    let mut waits: BTreeMap<&[u8], u32> = BTreeMap::new();
    for (key, value) in core.store.prefix(&[kind::PRINCIPAL_TICKET]) {
        decoded::<()>(value)?;
        let (head, ticket) = key.split_last_chunk::<8>().ok_or(Malformed("check: a principal's ticket"))?;
        let found = crate::ticket::waiting(core, u64::from_be_bytes(*ticket)).map(|(_, ticket)| ticket);
        let is_its = found.is_some_and(|ticket| {
            !ticket.asked.is_empty() && key::principal_tickets(&ticket.principal)[..] == *head
        });
        must(is_its, "check: a principal's ticket does not wait")?;
        *waits.entry(head).or_default() += 1;
    }
    for (key, value) in core.store.prefix(&[kind::PRINCIPAL_WAITS]) {
        let name = key.get(1..).and_then(|name| core::str::from_utf8(name).ok());
        let head = name.map(key::principal_tickets).ok_or(Malformed("check: a principal's name"))?;
        let Waits { count } = decoded(value)?;
        must(waits.remove(&head[..]) == Some(count), "check: a principal's waiting calls are miscounted")?;
    }
    must(waits.is_empty(), "check: a principal's waiting calls are not counted")
}

/// Whether a waiting call is found by its principal, if it is to be.
pub(crate) fn sound_ticket(core: &Core, ticket: &Ticket) -> bool {
    ticket.asked.is_empty() || core.store.get(&key::principal_ticket(&ticket.principal, ticket.id)).is_some()
}

/// Whether a deadline is a token's.
pub(crate) fn is_end_of_token(core: &Core, number: TokenNumber, at_ms: i64) -> bool {
    core.read::<Token>(&key::token(number)).is_some_and(|token| token.ends_ms == Some(at_ms))
}
