//! Who may do what (rule O32): tokens, rights of principals, whether rights are looked at. Written from `docs/objects.md`: every
//! question walks through all tokens and all rights.

mod change;
mod right;

use std::collections::{BTreeMap, BTreeSet};

use objects_state::{
    ANONYMOUS, AccessChange, Act, Authority, Caller, Command, Identity, ObjectName, Principal, SessionId,
    TokenNumber, type_name,
};
use serde_json::{Value, json};

use super::answer::{Answer, Refusal, refusal};
use super::group::Group;
use super::kind::{Waiter, Why};
use super::methods::{Way, method_of, type_of};
use super::request::Asker;
use right::{Right, Word};

/// The level from which on sessions are their principals', and there are tokens and rights.
pub(crate) const ACCESS_LEVEL: u32 = 6;

/// A token. Its secret is known to its client alone.
#[derive(Clone, Debug)]
struct Token {
    number: TokenNumber,
    principal: String,
    hash: [u8; 32],
    since_ms: i64,
    by: String,
    ends_ms: Option<i64>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    closed: bool,
    tokens: Vec<Token>,
    rights: BTreeMap<String, Vec<Right>>,
    roles: BTreeMap<String, Vec<Right>>,
    /// The roles of principals, in order.
    roles_of: BTreeMap<String, Vec<String>>,
}

impl Access {
    /// Whether rights are looked at.
    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    fn token(&self, number: TokenNumber) -> Option<&Token> {
        self.tokens.iter().find(|token| token.number == number)
    }

    /// Those of the principal, and everybody's; those of their roles, too.
    fn rights_of(&self, principal: &str) -> impl Iterator<Item = &Right> {
        let names = [Some(principal), (principal != ANONYMOUS).then_some(ANONYMOUS)];
        names.into_iter().flatten().flat_map(|name| {
            let roles = self.roles_of.get(name).into_iter().flatten();
            let by_roles = roles.filter_map(|role| self.roles.get(role)).flatten();
            self.rights.get(name).into_iter().flatten().chain(by_roles)
        })
    }

    /// Whether what vouches for a principal holds, and whether it may do anything at all.
    fn admit(&self, principal: &Principal, now_ms: i64) -> Result<(), Refusal> {
        match principal.authority {
            Authority::Root => return Ok(()),
            Authority::Token(number) => {
                let is_valid = |token: &Token| {
                    token.principal == principal.name && token.ends_ms.is_none_or(|at| at > now_ms)
                };
                if !self.token(number).is_some_and(is_valid) {
                    return Err(refusal("unauthenticated"));
                }
            }
            Authority::Member => {}
        }
        let is_known = self.rights_of(&principal.name).next().is_some();
        if !self.closed || is_known { Ok(()) } else { Err(refused(principal)) }
    }

    /// Whether it may do that.
    fn judge(&self, principal: &Principal, act: &Act<'_>) -> Result<(), Refusal> {
        let may = || self.rights_of(&principal.name).any(|right| allows(right, act));
        let is_free = !self.closed || principal.authority == Authority::Root;
        if is_free || may() { Ok(()) } else { Err(refused(principal)) }
    }

    /// Whether it ends what is another's. While access is open nobody has the right to that.
    fn administers(&self, principal: &Principal) -> bool {
        let is_root = principal.authority == Authority::Root;
        is_root || (self.closed && self.judge(principal, &Act::Administer).is_ok())
    }

    /// Whether a call may not wait any more: its token is gone, or the right to its method.
    fn is_over(&self, asker: &Asker, object: &ObjectName, method: &str) -> bool {
        match asker.authority {
            Authority::Root => return false,
            Authority::Token(number) if self.token(number).is_none() => return true,
            Authority::Token(_) | Authority::Member => {}
        }
        // Of a call that began to wait while nobody asked it is not kept which method it is: it takes the right to all of them.
        let act = Act::Method(object, method);
        let allows = |right: &Right| match asker.is_asked {
            true => allows(right, &act),
            false => covers(right, object, &Word::Call),
        };
        self.closed && !self.rights_of(&asker.principal).any(allows)
    }
}

/// Who has sent no credentials may send some.
fn refused(principal: &Principal) -> Refusal {
    refusal(if principal.is_anonymous() { "unauthenticated" } else { "forbidden" })
}

fn covers(right: &Right, object: &ObjectName, word: &Word) -> bool {
    right.is_about(type_name(object.kind).unwrap_or_default(), &object.name) && right.says(word)
}

fn allows(right: &Right, act: &Act<'_>) -> bool {
    let covers = |object: &ObjectName, word: Word| covers(right, object, &word);
    match *act {
        Act::Method(object, method) => {
            let kind = type_name(object.kind).unwrap_or_default();
            if kind == "lock" && method == "steal" {
                return covers(object, Word::Admin);
            }
            let way = type_of(kind).and_then(|kind| method_of(kind, method)).map(|method| method.1);
            let reads = matches!(way, Some(Way::Query | Way::Either));
            covers(object, if reads { Word::Query } else { Word::Call })
                || covers(object, Word::Method(method.into()))
        }
        Act::See(object) => covers(object, Word::Query),
        Act::List(kind, beginning) => {
            right.is_about_all(type_name(kind).unwrap_or_default(), beginning) && right.says(&Word::Query)
        }
        Act::ListAll(beginning) => right.is_about_all_types(beginning) && right.says(&Word::Query),
        Act::Create(object) => covers(object, Word::Create),
        Act::LookAfter(object) => covers(object, Word::Admin),
        Act::LookAfterType(kind) => right.is_about_all(kind, "") && right.says(&Word::Admin),
        Act::BringModule => right.is_about_all_of_a_type() && right.says(&Word::Admin),
        Act::Administer => right.is_admin(),
        Act::Know => true,
    }
}

impl Group {
    /// Whether whoever gives a command gets in at all: that is asked before everything else.
    pub(crate) fn let_in(&self, command: &Command) -> Result<(), Refusal> {
        command.caller().map_or(Ok(()), |caller| self.access.admit(&caller.principal, self.now_ms))
    }

    /// Whether a principal may do that here, at this position.
    pub(crate) fn judge(&self, principal: &Principal, act: &Act<'_>) -> Result<(), Refusal> {
        self.access.judge(principal, act)?;
        match *act {
            Act::Method(object, _) | Act::See(object) | Act::Create(object) | Act::LookAfter(object) => {
                self.check_here(object)
            }
            _ => Ok(()),
        }
    }

    /// The same for a query, which is judged by the state that answers it.
    pub(crate) fn judge_query(&self, principal: &Principal, act: &Act<'_>) -> Result<(), Refusal> {
        let judged = self.access.admit(principal, self.now_ms).and_then(|()| self.judge(principal, act));
        judged.map_err(|refusal| Refusal { position: self.position, ..refusal })
    }

    /// Whether rights are looked at, and it has that to everything; or it is a member's own.
    pub(crate) fn administers(&self, principal: &Principal) -> bool {
        self.access.administers(principal)
    }

    /// Whether a session is that principal's. Before there were rights nobody asked.
    pub(crate) fn is_own_session(&self, owner: &str, principal: &str) -> bool {
        owner == principal || self.level < ACCESS_LEVEL
    }

    /// Whether a request leaves no trace: who asks does not get in, or names another's session.
    pub(crate) fn turns_away(&self, command: &Command, stamp_ms: i64) -> bool {
        let Some(caller) = command.caller() else { return false };
        let now_ms = self.now_ms.max(stamp_ms);
        self.access.admit(&caller.principal, now_ms).is_err() || self.is_of_anothers_session(command, caller)
    }

    fn is_of_anothers_session(&self, command: &Command, caller: &Caller) -> bool {
        // Of other commands a session is what they are about.
        let is_request = matches!(
            command,
            Command::Call(_)
                | Command::Batch(_)
                | Command::Create { .. }
                | Command::Delete { .. }
                | Command::Import { .. }
        );
        let (true, Identity::Session { session, .. }) = (is_request, &caller.identity) else { return false };
        self.is_anothers_session(*session, &caller.principal.name)
    }

    /// Whether a session is open, and not that principal's.
    pub(crate) fn is_anothers_session(&self, id: SessionId, principal: &str) -> bool {
        let open = self.sessions.iter().find(|open| open.id == id);
        open.is_some_and(|open| !self.is_own_session(&open.principal, principal))
    }

    /// Ends all calls that may not wait any more, and only then grants what is due.
    pub(crate) fn end_forbidden(&mut self) {
        let mut over = Vec::new();
        for object in &self.objects {
            let is_over = |waiter: &&Waiter| self.access.is_over(&waiter.asker, &object.name, &waiter.method);
            let waiters = object.waiters.iter().filter(is_over);
            over.extend(waiters.map(|waiter| (waiter.ticket, object.name.clone())));
        }
        over.sort();
        let mut touched: Vec<ObjectName> = Vec::new();
        for (ticket, name) in over {
            self.end_ticket(ticket, Why::Forbidden, false);
            if !touched.contains(&name) {
                touched.push(name);
            }
        }
        for name in touched {
            if let Some(object) = self.objects.iter().find(|object| object.name == name).cloned() {
                self.settle(object, Vec::new());
            }
        }
    }

    /// The next token whose time passes: when, and its number.
    pub(crate) fn first_token(&self) -> Option<(i64, TokenNumber)> {
        self.access.tokens.iter().filter_map(|token| Some((token.ends_ms?, token.number))).min()
    }

    /// Its time has passed.
    pub(crate) fn end_token(&mut self, number: TokenNumber) {
        self.access.tokens.retain(|token| token.number != number);
        self.end_forbidden();
    }

    /// What a principal is shown of rights.
    pub(crate) fn shown_access(&self, principal: &Principal) -> Value {
        let access = &self.access;
        let own = access.rights.get(&principal.name).map_or(&[][..], |rights| rights);
        let mut shown = json!({
            "access": if access.closed { "closed" } else { "open" },
            "principal": principal.name,
            "allow": right::texts(own),
            "position": self.position,
        });
        let with_roles = |name: &str, mut shown: Value| {
            if let Some(roles) = access.roles_of.get(name) {
                shown["roles"] = json!(roles);
            }
            shown
        };
        shown = with_roles(&principal.name, shown);
        if access.judge(principal, &Act::Administer).is_ok() {
            let names: BTreeSet<&String> = access.rights.keys().chain(access.roles_of.keys()).collect();
            let of_one = |name: &String| {
                let rights = access.rights.get(name).map_or(&[][..], |rights| rights);
                with_roles(name, json!({ "principal": name, "allow": right::texts(rights) }))
            };
            shown["principals"] = names.into_iter().map(of_one).collect();
            let of_role = |(name, rights): (&String, &Vec<Right>)| json!({ "role": name, "allow": right::texts(rights) });
            shown["defined_roles"] = access.roles.iter().map(of_role).collect();
            // All of them fit.
            shown["quotas"] = self.shown_quotas().into();
            shown["next"] = Value::Null;
        }
        shown
    }

    /// All tokens, without their secrets.
    pub(crate) fn shown_tokens(&self) -> Value {
        let one = |token: &Token| {
            let mark: String = token.hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "number": token.number, "principal": token.principal, "mark": mark, "since_ms": token.since_ms,
                "by": token.by, "ends_ms": token.ends_ms,
            })
        };
        let tokens: Vec<_> = self.access.tokens.iter().map(one).collect();
        json!({ "tokens": tokens, "position": self.position })
    }

    /// What a change is answered; calls that it ends are told before.
    pub(crate) fn change_access(&mut self, caller: &Caller, change: &AccessChange) -> Answer {
        self.judge(&caller.principal, &Act::Administer)?;
        if let AccessChange::Quota { of, limits } = change {
            return self.set_quota(of, limits);
        }
        let answer = self.access.change(caller, change, self.position, self.now_ms)?;
        self.end_forbidden();
        Ok(answer)
    }
}
