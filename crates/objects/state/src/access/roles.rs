//! Roles: a role is a named list of rights, and a principal has the rights of its roles besides its own.
//!
//! Both are records, and part of the table that calls look up. What a role may goes with it: when a principal loses a role, or a role
//! rights, what waits by them ends at that position. The right to administer that comes by a role keeps nobody from being locked
//! out: access is closed, and kept closed, by rights of principals alone.

use super::perform::{end_of, is_admin_of_all, is_word, joined_to, open_instead};
use super::waits;
use crate::codec::{Malformed, decoded};
use crate::group::Core;
use crate::key::{self, kind};
use crate::limits::{PRINCIPALS_MAX, ROLES_MAX, ROLES_PER_PRINCIPAL_MAX, TOKEN_NAME_BYTES_MAX};
use crate::principal::ANONYMOUS;
use crate::problem::{Problem, Slug};
use crate::reply::{Reply, quoted};
use crate::rights::{Grant, Grants, RoleNames, Table};

/// Sets the rights of a role.
///
/// # Errors
/// With the refusal; nothing has changed.
pub(super) fn set(core: &mut Core, role: &str, grants: &[Grant]) -> Result<String, Problem> {
    if !is_word(role) {
        let detail =
            format!("a role's name has 1 to {TOKEN_NAME_BYTES_MAX} letters, digits, `.`, `_`, `-` and `@`");
        return Err(Problem::argument("role", detail));
    }
    let grants = joined_to(Vec::new(), grants)?;
    if grants.iter().any(is_admin_of_all) && core.access.having(role).any(|principal| principal == ANONYMOUS)
    {
        return Err(open_instead("allow"));
    }
    let is_known = core.access.role(role).is_some();
    if !is_known && !grants.is_empty() && core.access.count_roles().0 >= ROLES_MAX {
        return Err(Problem::new(Slug::Quota, format!("there are {ROLES_MAX} roles: remove some")));
    }
    core.access.set_role(role, &grants);
    let reply = Reply::new().text("role", role).list("allow", texts(&grants));
    if grants.is_empty() {
        core.store.remove(&key::role(role));
        for principal in core.access.having(role).map(String::from).collect::<Vec<_>>() {
            let left = core.access.roles_of(&principal).iter().filter(|own| *own != role).cloned().collect();
            write(core, &principal, left);
        }
    } else {
        core.write(key::role(role), &Grants(grants));
    }
    if is_known {
        waits::end_of_all(core);
    }
    Ok(reply.finish())
}

fn texts(grants: &[Grant]) -> Vec<String> {
    grants.iter().map(|grant| quoted(&grant.to_string())).collect()
}

/// Sets the roles of a principal, in whatever order they are named.
///
/// # Errors
/// With the refusal; nothing has changed.
pub(super) fn give(core: &mut Core, principal: &str, roles: &RoleNames) -> Result<String, Problem> {
    let mut names = roles.0.clone();
    names.sort_unstable();
    names.dedup();
    if names.len() > ROLES_PER_PRINCIPAL_MAX {
        let detail = format!("a principal has {ROLES_PER_PRINCIPAL_MAX} roles at the most");
        return Err(Problem::new(Slug::Quota, detail));
    }
    for name in &names {
        let Some(role) = core.access.role(name) else {
            let detail = format!("there is no role `{name}`: set its rights first");
            return Err(Problem::argument("roles", detail));
        };
        if principal == ANONYMOUS && role.is_admin() {
            return Err(open_instead("roles"));
        }
    }
    let before = core.access.roles_of(principal).to_vec();
    if before.is_empty() && !names.is_empty() && core.access.count_roles().1 >= PRINCIPALS_MAX {
        return Err(Problem::new(
            Slug::Quota,
            format!("{PRINCIPALS_MAX} principals have roles: take some away"),
        ));
    }
    let loses = before.iter().any(|role| !names.contains(role));
    let reply =
        Reply::new().text("principal", principal).list("roles", names.iter().map(|name| quoted(name)));
    write(core, principal, names);
    if loses {
        end_of(core, principal);
    }
    Ok(reply.finish())
}

/// A principal has no roles any more. What waits by them is the caller's to end.
pub(super) fn take(core: &mut Core, principal: &str) {
    write(core, principal, Vec::new());
}

fn write(core: &mut Core, principal: &str, roles: Vec<String>) {
    core.access.set_roles_of(principal, &roles);
    if roles.is_empty() {
        core.store.remove(&key::roles_of(principal));
    } else {
        core.write(key::roles_of(principal), &RoleNames(roles));
    }
}

/// What the records say goes into the table.
pub(super) fn load(core: &Core, table: &mut Table) {
    for (name, grants) in all::<Grants>(core, kind::ROLE).flatten() {
        table.set_role(name, &grants.0);
    }
    for (principal, roles) in all::<RoleNames>(core, kind::ROLES_OF).flatten() {
        table.set_roles_of(principal, &roles.0);
    }
}

fn all<F: crate::codec::Field>(core: &Core, kind: u8) -> impl Iterator<Item = Option<(&str, F)>> {
    core.store
        .prefix(&[kind])
        .map(|(key, value)| Some((core::str::from_utf8(key.get(1..)?).ok()?, decoded(value).ok()?)))
}

/// All roles with their rights.
pub(super) fn shown(core: &Core) -> Vec<String> {
    let roles = all::<Grants>(core, kind::ROLE).flatten();
    roles
        .map(|(name, grants)| Reply::new().text("role", name).list("allow", texts(&grants.0)).finish())
        .collect()
}

/// Whether roles fit together.
///
/// # Errors
/// With what is wrong.
pub(super) fn sound(core: &Core) -> Result<(), Malformed> {
    let must = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Malformed(why)) };
    let mut count = 0;
    for role in all::<Grants>(core, kind::ROLE) {
        let (name, grants) = role.ok_or(Malformed("check: a role cannot be read"))?;
        let fits = !grants.0.is_empty() && joined_to(Vec::new(), &grants.0).as_ref() == Ok(&grants.0);
        must(fits && is_word(name), "check: a role that cannot be")?;
        count += 1;
    }
    must(count <= ROLES_MAX, "check: too many roles")?;
    let mut principals = 0;
    for of in all::<RoleNames>(core, kind::ROLES_OF) {
        let (principal, RoleNames(roles)) =
            of.ok_or(Malformed("check: a principal's roles cannot be read"))?;
        let fits = (1..=ROLES_PER_PRINCIPAL_MAX).contains(&roles.len()) && roles.is_sorted();
        let are_there = roles.iter().all(|role| core.access.role(role).is_some());
        must(fits && are_there, "check: a principal has roles that there are not")?;
        must(core.access.roles_of(principal) == roles, "check: roles are others than the records say")?;
        principals += 1;
    }
    must(principals <= PRINCIPALS_MAX, "check: too many principals have roles")?;
    must(
        core.access.count_roles() == (count, principals),
        "check: there are other roles than the records say",
    )
}
