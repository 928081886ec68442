//! Carries out changes.

use super::records::Token;
use super::roles;
use super::waits;
use crate::asked;
use crate::codec::encoded;
use crate::command::Caller;
use crate::deadline;
use crate::group::Core;
use crate::key;
use crate::limits::{
    GRANT_BYTES_PER_PRINCIPAL_MAX, GRANTS_PER_PRINCIPAL_MAX, KEY_BYTES_MAX, PRINCIPALS_MAX, TOKEN_MS_MAX,
    TOKEN_MS_MIN, TOKEN_NAME_BYTES_MAX, TOKENS_MAX,
};
use crate::principal::{ANONYMOUS, Authority, ROOT, TokenNumber};
use crate::problem::{Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::rights::{AccessChange, Compiled, Grant, Grants, KnownToken, Rights};

/// Carries out a change. What it refuses it refuses before it changes anything.
///
/// # Errors
/// With the refusal.
pub(crate) fn perform(core: &mut Core, caller: &Caller, change: &AccessChange) -> Result<String, Problem> {
    let done = match change {
        AccessChange::CreateToken { name, hash, lives_ms, grants } => {
            create_token(core, caller, name, *hash, *lives_ms, grants)
        }
        AccessChange::RevokeToken { number } => revoke_token(core, caller, *number),
        AccessChange::RevokePrincipal { principal } => revoke_principal(core, caller, principal),
        AccessChange::Allow { principal, grants } => {
            check_principal(principal)?;
            let grants = joined(core, principal, grants)?;
            set_rights(core, principal, grants);
            Ok(told(core, principal))
        }
        AccessChange::Deny { principal, grants } => deny(core, caller, principal, grants),
        AccessChange::Set { closed } => set(core, caller, *closed),
        AccessChange::Role { role, grants } => roles::set(core, role, grants),
        AccessChange::Roles { principal, roles } => {
            check_principal(principal)?;
            roles::give(core, principal, roles)
        }
        // Nobody's rights change.
        AccessChange::Quota { of, limits } => return quota::perform(core, of, limits),
    };
    core.access.changes += u64::from(done.is_ok());
    done
}

fn create_token(
    core: &mut Core,
    caller: &Caller,
    name: &str,
    hash: [u8; 32],
    lives_ms: Option<i64>,
    grants: &[Grant],
) -> Result<String, Problem> {
    check_token_name(name)?;
    if lives_ms.is_some_and(|ms| !(TOKEN_MS_MIN..=TOKEN_MS_MAX).contains(&ms)) {
        return Err(Problem::argument("lives_ms", format!("not between {TOKEN_MS_MIN} and {TOKEN_MS_MAX}")));
    }
    if let Some(number) = core.access.token_of(&hash) {
        let is_its = core.access.token(number).is_some_and(|token| token.principal == name);
        return match is_its {
            true => Ok(created(core, name, number)),
            false => Err(Problem::new(Slug::Exists, "another principal has this very token")),
        };
    }
    if core.access.count() >= TOKENS_MAX {
        return Err(Problem::new(Slug::Quota, format!("there are {TOKENS_MAX} tokens: revoke some")));
    }
    let grants = joined(core, name, grants)?;
    let (number, now) = (core.meta.position, core.meta.stamp_ms);
    let ends_ms = lives_ms.map(|ms| now.saturating_add(ms));
    let by = caller.principal.name.clone();
    let token = Token { principal: name.into(), hash, ends_ms, since_ms: now, by };
    core.write(key::token(number), &token);
    if let Some(at) = ends_ms {
        deadline::set(core, at, deadline::TOKEN, &number.to_be_bytes(), &());
    }
    core.access.set_token(number, hash, KnownToken { principal: name.into(), ends_ms });
    set_rights(core, name, grants);
    Ok(created(core, name, number))
}

fn created(core: &Core, name: &str, number: TokenNumber) -> String {
    let ends_ms = core.access.token(number).and_then(|token| token.ends_ms);
    let reply = Reply::new().number("number", number).text("principal", name);
    let reply = match ends_ms {
        Some(at) => reply.int("ends_ms", at),
        None => reply.raw("ends_ms", "null"),
    };
    reply.list("allow", shown_grants(core, name)).finish()
}

/// A principal has these rights from now on.
fn told(core: &Core, principal: &str) -> String {
    Reply::new().text("principal", principal).list("allow", shown_grants(core, principal)).finish()
}

pub(super) fn shown_grants(core: &Core, principal: &str) -> Vec<String> {
    let Grants(grants) = core.read(&key::rights(principal)).unwrap_or_default();
    grants.iter().map(|grant| crate::reply::quoted(&grant.to_string())).collect()
}

fn revoke_token(core: &mut Core, caller: &Caller, number: TokenNumber) -> Result<String, Problem> {
    check_keeps_admin(core, caller, |token, _| token != number)?;
    let principal = drop_token(core, number);
    if let Some(principal) = &principal {
        waits::end_of(core, principal);
    }
    Ok(Reply::new().number("revoked", u64::from(principal.is_some())).finish())
}

fn revoke_principal(core: &mut Core, caller: &Caller, principal: &str) -> Result<String, Problem> {
    check_keeps_admin(core, caller, |_, own| own != principal)?;
    let its = core.access.tokens().filter(|(_, token)| token.principal == principal);
    let numbers: Vec<_> = its.map(|(number, _)| number).collect();
    set_rights(core, principal, Vec::new());
    roles::take(core, principal);
    for number in &numbers {
        drop_token(core, *number);
    }
    end_of(core, principal);
    Ok(Reply::new().number("revoked", numbers.len() as u64).finish())
}

/// A token's time has passed; its deadline is removed already.
pub(crate) fn end_token(core: &mut Core, number: TokenNumber) {
    if let Some(principal) = drop_token(core, number) {
        core.access.changes += 1;
        // So many may end that a tick has to stop here.
        core.spent += asked::END_COST * asked::count_of(core, &principal) as usize;
        waits::end_of(core, &principal);
    }
}

/// Whose it was, if there was one. The calls that wait by it are the caller's to end.
fn drop_token(core: &mut Core, number: TokenNumber) -> Option<String> {
    let token: Token = core.read(&key::token(number))?;
    core.store.remove(&key::token(number));
    if let Some(at) = token.ends_ms {
        deadline::clear(core, at, deadline::TOKEN, &number.to_be_bytes());
    }
    core.access.drop_token(number, &token.hash);
    Some(token.principal)
}

fn deny(core: &mut Core, caller: &Caller, principal: &str, grants: &[Grant]) -> Result<String, Problem> {
    let Grants(mut left) = core.read(&key::rights(principal)).unwrap_or_default();
    if grants.is_empty() {
        left.clear();
    }
    for grant in grants {
        left.iter_mut().filter(|own| own.is_about_the_same(grant)).for_each(|own| own.take_away(grant));
    }
    left.retain(|grant| !grant.is_empty());
    if !left.iter().any(is_admin_of_all) {
        check_keeps_admin(core, caller, |_, own| own != principal)?;
    }
    set_rights(core, principal, left);
    end_of(core, principal);
    Ok(told(core, principal))
}

/// Rights of a principal are gone, and with them what waits by them.
pub(super) fn end_of(core: &mut Core, principal: &str) {
    match may_concern_all(principal) {
        true => waits::end_of_all(core),
        false => waits::end_of(core, principal),
    }
}

/// Whether calls may wait by a principal's rights that are not found by its name. Everybody has the rights of `anonymous`, and
/// objects those of all objects of their type. Those for whose name a member vouches (their names are none of tokens) may have
/// begun to wait while access was open: of such a call nothing is kept by which it is found.
pub(crate) fn may_concern_all(principal: &str) -> bool {
    check_token_name(principal).is_err()
}

fn set(core: &mut Core, caller: &Caller, closed: bool) -> Result<String, Problem> {
    if closed && !core.access.closed {
        if caller.principal.authority != Authority::Root && !has_lasting_admin(core, |_, _| true) {
            let detail = "no token without an end administers everything, so nobody could open access again: create one \
                          first (`diwan object token create --name admin --allow '*:admin'`), or close with a root token \
                          (`objects.root-token-file`)";
            return Err(Problem::new(Slug::Forbidden, detail));
        }
        core.write(key::closed(), &());
        core.access.closed = true;
        waits::end_of_all(core);
    } else if !closed && core.access.closed {
        core.store.remove(&key::closed());
        core.access.closed = false;
    }
    Ok(Reply::new().text("access", if closed { "closed" } else { "open" }).finish())
}

/// The rights of a principal, and these besides.
fn joined(core: &Core, principal: &str, more: &[Grant]) -> Result<Vec<Grant>, Problem> {
    let Grants(grants) = core.read(&key::rights(principal)).unwrap_or_default();
    if principal == ANONYMOUS && more.iter().any(is_admin_of_all) {
        return Err(open_instead("allow"));
    }
    let grants = joined_to(grants, more)?;
    let is_new = core.access.rights_of(principal).is_none() && !grants.is_empty();
    if is_new && core.access.principals() >= PRINCIPALS_MAX {
        let detail = format!("{PRINCIPALS_MAX} principals have rights: take some away");
        return Err(Problem::new(Slug::Quota, detail));
    }
    Ok(grants)
}

pub(super) fn open_instead(field: &str) -> Problem {
    Problem::argument(field, "everybody would administer everything: open access instead")
}

/// Rights, and these besides.
pub(super) fn joined_to(mut grants: Vec<Grant>, more: &[Grant]) -> Result<Vec<Grant>, Problem> {
    for grant in more {
        grant.check().map_err(|wrong| Problem::argument("allow", wrong.to_string()))?;
        match grants.iter_mut().find(|own| own.is_about_the_same(grant)) {
            Some(own) => own.join(grant),
            None => grants.push(grant.clone()),
        }
    }
    let quota = |detail: String| Err(Problem::new(Slug::Quota, detail));
    if grants.iter().any(|grant| grant.methods.len() > crate::limits::METHODS_PER_GRANT_MAX)
        || grants.len() > GRANTS_PER_PRINCIPAL_MAX
        || encoded(&Grants(grants.clone())).len() > GRANT_BYTES_PER_PRINCIPAL_MAX
    {
        return quota(format!(
            "a principal, or a role, has rights on {GRANTS_PER_PRINCIPAL_MAX} patterns at the most, each with up to 32 methods, \
             and {GRANT_BYTES_PER_PRINCIPAL_MAX} bytes of them"
        ));
    }
    Ok(grants)
}

fn set_rights(core: &mut Core, principal: &str, grants: Vec<Grant>) {
    core.access.set_rights(principal, &grants);
    if grants.is_empty() {
        core.store.remove(&key::rights(principal));
    } else {
        core.write(key::rights(principal), &Grants(grants));
    }
}

pub(super) fn is_admin_of_all(grant: &Grant) -> bool {
    grant.is_about_all() && grant.rights.has(Rights::ADMIN)
}

/// Whether a token without an end administers everything, of those that are left.
fn has_lasting_admin(core: &Core, is_left: impl Fn(TokenNumber, &str) -> bool) -> bool {
    core.access.tokens().any(|(number, token)| {
        token.ends_ms.is_none()
            && is_left(number, &token.principal)
            && core.access.rights_of(&token.principal).is_some_and(Compiled::is_admin)
    })
}

/// Nobody is locked out by what leaves these.
fn check_keeps_admin(
    core: &Core,
    caller: &Caller,
    is_left: impl Fn(TokenNumber, &str) -> bool,
) -> Result<(), Problem> {
    let has_way_back = caller.principal.authority == Authority::Root || !core.access.closed;
    if has_way_back || !has_lasting_admin(core, |_, _| true) || has_lasting_admin(core, is_left) {
        return Ok(());
    }
    let detail = "it is the last token without an end that administers everything, and nobody could administer any more: \
                  create another one first, or open access";
    Err(Problem::new(Slug::Forbidden, detail))
}

/// The name of a principal that has tokens: certificates, objects and members have other names.
fn check_token_name(name: &str) -> Result<(), Problem> {
    if !is_word(name) || name == ANONYMOUS || name == ROOT {
        let detail = format!(
            "a token's name has 1 to {TOKEN_NAME_BYTES_MAX} letters, digits, `.`, `_`, `-` and `@`, and is not `{ANONYMOUS}` \
             or `{ROOT}`"
        );
        return Err(Problem::argument("name", detail));
    }
    Ok(())
}

/// Whether a name is one of tokens, or of a role.
pub(super) fn is_word(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    (1..=TOKEN_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_sign)
}

fn check_principal(name: &str) -> Result<(), Problem> {
    if !(1..=KEY_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) || name == ROOT {
        let detail = format!("a principal's name has 1 to {KEY_BYTES_MAX} bytes, and is not `{ROOT}`");
        return Err(Problem::argument("principal", detail));
    }
    Ok(())
}
