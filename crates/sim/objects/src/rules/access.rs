//! O32 access is judged at the position: what a revoked token was worth is over at once, in acts and in waits. From what the
//! state itself answered to those who administer.

use std::collections::BTreeMap;

use objects_state::{AccessChange, Authority, Command, Effect, Outcome, TokenNumber};
use sim_kit::Judged;

use super::{Seen, Wrong, judged};
use crate::model::{Answer, Told};

/// A token that was created.
#[derive(Debug)]
struct Token {
    principal: String,
    is_revoked: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Access {
    tokens: BTreeMap<TokenNumber, Token>,
    /// Calls that wait by a token.
    waits: BTreeMap<u64, TokenNumber>,
}

impl Access {
    pub(super) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        count(seen, all);
        self.revoked(seen, all)?;
        turned_away(seen, all)?;
        self.note_changes(seen);
        self.ends(seen, all)
    }

    /// A client that comes by a token that was revoked before is unauthenticated.
    fn revoked(&self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let authority = seen.command.caller().map(|caller| caller.principal.authority);
        let Some(Authority::Token(number)) = authority else { return Ok(()) };
        if !self.tokens.get(&number).is_some_and(|token| token.is_revoked) {
            return Ok(());
        }
        judged(all, 32, "acts by revoked tokens");
        match seen.shown {
            [Told::Answered(_, Err(refusal))] if refusal.slug == "unauthenticated" => Ok(()),
            other => Err((32, format!("token {number} was revoked, and: {other:?}"))),
        }
    }

    fn note_changes(&mut self, seen: &Seen<'_>) {
        let Command::Access { change, .. } = seen.command else { return };
        let Some(Ok(result)) = answer_of(seen.shown) else { return };
        match change {
            AccessChange::CreateToken { name, .. } => {
                let number = result["number"].as_u64().unwrap_or_default();
                self.tokens.insert(number, Token { principal: name.clone(), is_revoked: false });
            }
            AccessChange::RevokeToken { number } => {
                self.tokens.get_mut(number).into_iter().for_each(|token| token.is_revoked = true);
            }
            AccessChange::RevokePrincipal { principal } => {
                let tokens = self.tokens.values_mut().filter(|token| token.principal == *principal);
                tokens.for_each(|token| token.is_revoked = true);
            }
            _ => {}
        }
    }

    /// Waits end, and with a token's end all that came by it.
    fn ends(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let authority = seen.command.caller().map(|caller| caller.principal.authority);
        for effect in seen.effects {
            match effect {
                Effect::Parked { ticket, .. } if *ticket == seen.first => {
                    if let Some(Authority::Token(number)) = authority {
                        self.waits.insert(*ticket, number);
                    }
                }
                Effect::TicketEnded { ticket, outcome, .. } => {
                    let is_forbidden =
                        matches!(outcome, Outcome::Refused(problem) if problem.slug.name() == "forbidden");
                    if is_forbidden {
                        judged(all, 32, "waits that end forbidden");
                    }
                    let token = self.waits.remove(ticket).and_then(|number| self.tokens.get(&number));
                    if token.is_some_and(|token| token.is_revoked) && !is_forbidden {
                        return Err((32, format!("ticket {ticket} ends with its token: {outcome:?}")));
                    }
                }
                _ => {}
            }
        }
        let is_over = |number: &TokenNumber| self.tokens.get(number).is_some_and(|token| token.is_revoked);
        match self.waits.iter().find(|(_, number)| is_over(number)) {
            Some((ticket, number)) => {
                Err((32, format!("token {number} was revoked, and ticket {ticket} waits by it")))
            }
            None => Ok(()),
        }
    }
}

/// Who does not get in, or names another's session, is refused and nothing else happens.
fn turned_away(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
    if !seen.is_turned_away {
        return Ok(());
    }
    judged(all, 32, "requests that leave no trace");
    match seen.shown {
        [Told::Answered(_, Err(refusal))] if ["forbidden", "unauthenticated"].contains(&refusal.slug) => {
            Ok(())
        }
        other => Err((32, format!("who asks does not get in, and: {other:?}"))),
    }
}

fn count(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) {
    let Some(caller) = seen.command.caller() else { return };
    match (seen.command, answer_of(seen.shown)) {
        (_, Some(Err(refusal))) if refusal.slug == "unauthenticated" => judged(all, 32, "unauthenticated"),
        (Command::Access { caller, .. }, Some(Err(refusal)))
            if refusal.slug == "forbidden" && seen.group.administers(&caller.principal) =>
        {
            judged(all, 32, "administrators that stay");
        }
        (_, Some(Err(refusal))) if refusal.slug == "forbidden" => judged(all, 32, "forbidden"),
        (Command::Call(_), _) if seen.state.is_closed() && caller.principal.authority != Authority::Root => {
            judged(all, 32, "calls that are allowed");
        }
        _ => {}
    }
}

fn answer_of(shown: &[Told]) -> Option<&Answer> {
    shown.iter().find_map(|told| match told {
        Told::Answered(_, answer) => Some(answer),
        _ => None,
    })
}
