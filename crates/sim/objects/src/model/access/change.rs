//! Changes of tokens and rights. What is refused has changed nothing.

use std::collections::BTreeSet;

use objects_state::limits::{
    GRANTS_PER_PRINCIPAL_MAX, METHODS_PER_GRANT_MAX, TOKEN_MS_MAX, TOKEN_MS_MIN, TOKEN_NAME_BYTES_MAX,
};
use objects_state::{ANONYMOUS, AccessChange, Authority, Caller, Grant, ROOT};
use serde_json::{Value, json};

use super::right::{Right, Word, texts};
use super::{Access, Token};
use crate::model::answer::{Answer, Refusal, bad_argument, refuse};

impl Access {
    /// At that position, and that stamp.
    pub(super) fn change(
        &mut self,
        caller: &Caller,
        change: &AccessChange,
        position: u64,
        now_ms: i64,
    ) -> Answer {
        let mut with = self.clone();
        let answer = match change {
            AccessChange::CreateToken { name, hash, lives_ms, grants } => {
                let (by, principal) = (caller.principal.name.clone(), name.clone());
                let ends_ms = lives_ms.map(|ms| now_ms.saturating_add(ms));
                let token = Token { number: position, principal, hash: *hash, since_ms: now_ms, by, ends_ms };
                with.create(token, *lives_ms, grants)?
            }
            AccessChange::RevokeToken { number } => with.revoke(|token| token.number == *number),
            AccessChange::RevokePrincipal { principal } => {
                with.rights.remove(principal);
                with.roles_of.remove(principal);
                with.revoke(|token| token.principal == *principal)
            }
            AccessChange::Allow { principal, .. } | AccessChange::Roles { principal, .. }
                if !is_principal(principal) =>
            {
                return bad_argument();
            }
            AccessChange::Allow { principal, grants } => {
                with.allow(principal, grants)?;
                json!({ "principal": principal, "allow": with.shown(principal) })
            }
            AccessChange::Deny { principal, grants } => {
                with.deny(principal, grants);
                json!({ "principal": principal, "allow": with.shown(principal) })
            }
            AccessChange::Role { role, grants } => with.set_role(role, grants)?,
            AccessChange::Roles { principal, roles } => with.give(principal, &roles.0)?,
            // Nobody's rights change.
            AccessChange::Quota { .. } => return bad_argument(),
            AccessChange::Set { closed } => {
                with.closed = *closed;
                json!({ "access": if *closed { "closed" } else { "open" } })
            }
        };
        if !self.may_become(&with, caller) {
            return refuse("forbidden");
        }
        *self = with;
        Ok(answer)
    }

    /// Nobody locks himself out; a member's own token is a way back.
    fn may_become(&self, with: &Self, caller: &Caller) -> bool {
        let closes = with.closed && !self.closed;
        let is_safe = with.has_lasting_admin() || (!closes && !self.has_lasting_admin());
        !with.closed || is_safe || caller.principal.authority == Authority::Root
    }

    /// Whether a token without an end administers everything.
    fn has_lasting_admin(&self) -> bool {
        let is_admin = |token: &Token| {
            let rights = self.rights.get(&token.principal).into_iter().flatten();
            token.ends_ms.is_none() && rights.into_iter().any(Right::is_admin)
        };
        self.tokens.iter().any(is_admin)
    }

    fn shown(&self, principal: &str) -> Vec<Value> {
        texts(self.rights.get(principal).map_or(&[], |rights| rights))
    }

    fn create(&mut self, token: Token, lives_ms: Option<i64>, grants: &[Grant]) -> Answer {
        let name = &token.principal;
        let is_name = is_word(name);
        let lives = TOKEN_MS_MIN..=TOKEN_MS_MAX;
        if !is_name || [ANONYMOUS, ROOT].contains(&&**name) || lives_ms.is_some_and(|ms| !lives.contains(&ms))
        {
            return bad_argument();
        }
        let token = match self.tokens.iter().find(|known| known.hash == token.hash) {
            Some(known) if known.principal != *name => return refuse("exists"),
            // Again: nothing changes, its rights included.
            Some(known) => known.clone(),
            None => {
                self.allow(name, grants)?;
                self.tokens.push(token.clone());
                token
            }
        };
        let (number, principal, ends_ms) = (token.number, &token.principal, token.ends_ms);
        let allow = self.shown(principal);
        Ok(json!({ "number": number, "principal": principal, "ends_ms": ends_ms, "allow": allow }))
    }

    fn revoke(&mut self, is_it: impl Fn(&Token) -> bool) -> Value {
        let before = self.tokens.len();
        self.tokens.retain(|token| !is_it(token));
        json!({ "revoked": before - self.tokens.len() })
    }

    fn allow(&mut self, principal: &str, grants: &[Grant]) -> Result<(), Refusal> {
        let rights = self.rights.get(principal).cloned().unwrap_or_default();
        let are_too_much = |right: Right| right.is_admin() && principal == ANONYMOUS;
        if grants.iter().map(Right::of).any(are_too_much) {
            return bad_argument();
        }
        let rights = joined(rights, grants)?;
        self.set(principal, rights);
        Ok(())
    }

    /// These are all rights of a role.
    fn set_role(&mut self, role: &str, grants: &[Grant]) -> Answer {
        let rights = if is_word(role) { joined(Vec::new(), grants)? } else { return bad_argument() };
        let is_everybodys =
            self.roles_of.get(ANONYMOUS).is_some_and(|roles| roles.iter().any(|own| own == role));
        if is_everybodys && rights.iter().any(Right::is_admin) {
            return bad_argument();
        }
        let answer = json!({ "role": role, "allow": texts(&rights) });
        if rights.is_empty() {
            self.roles.remove(role);
            self.roles_of.values_mut().for_each(|roles| roles.retain(|own| own != role));
            self.roles_of.retain(|_, roles| !roles.is_empty());
        } else {
            self.roles.insert(role.into(), rights);
        }
        Ok(answer)
    }

    /// These are all roles of a principal.
    fn give(&mut self, principal: &str, roles: &[String]) -> Answer {
        let roles: BTreeSet<String> = roles.iter().cloned().collect();
        for role in &roles {
            let Some(rights) = self.roles.get(role) else { return bad_argument() };
            if principal == ANONYMOUS && rights.iter().any(Right::is_admin) {
                return bad_argument();
            }
        }
        let roles: Vec<String> = roles.into_iter().collect();
        let answer = json!({ "principal": principal, "roles": roles });
        self.roles_of.remove(principal);
        if !roles.is_empty() {
            self.roles_of.insert(principal.into(), roles);
        }
        Ok(answer)
    }

    fn deny(&mut self, principal: &str, grants: &[Grant]) {
        let mut rights = self.rights.get(principal).cloned().unwrap_or_default();
        if grants.is_empty() {
            rights.clear();
        }
        for less in grants.iter().map(Right::of) {
            for own in rights.iter_mut().filter(|own| own.has_pattern_of(&less)) {
                own.words.retain(|word| !less.words.contains(word));
            }
        }
        rights.retain(|right| !right.words.is_empty());
        self.set(principal, rights);
    }

    fn set(&mut self, principal: &str, rights: Vec<Right>) {
        if rights.is_empty() {
            self.rights.remove(principal);
        } else {
            self.rights.insert(principal.into(), rights);
        }
    }
}

fn is_word(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._-@".contains(sign);
    (1..=TOKEN_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(is_sign)
}

fn is_principal(name: &str) -> bool {
    (1..=255).contains(&name.len()) && !name.chars().any(char::is_control) && name != ROOT
}

/// Rights, and these besides.
fn joined(mut rights: Vec<Right>, grants: &[Grant]) -> Result<Vec<Right>, Refusal> {
    for right in grants.iter().map(Right::of) {
        if !right.is_valid() {
            return bad_argument();
        }
        match rights.iter_mut().find(|own| own.has_pattern_of(&right)) {
            Some(own) => own.words.extend(right.words),
            None => rights.push(right),
        }
    }
    let methods = |right: &Right| right.words.iter().filter(|word| matches!(word, Word::Method(_))).count();
    let has_many = rights.iter().any(|right| methods(right) > METHODS_PER_GRANT_MAX);
    if has_many || rights.len() > GRANTS_PER_PRINCIPAL_MAX {
        return refuse("quota");
    }
    Ok(rights)
}
