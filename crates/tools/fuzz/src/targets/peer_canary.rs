//! A planted bug of the kind that lets strangers in: a judge that looks at the number of the one that dials, and believes
//! the id. What is checked of those who are let in must tell.

use base::{MemberId, MemberNumber};
use net_peers::wire::{Claim, ClaimedNumber};

use super::peer_wire::{Introduction, judge, member};
use crate::input::Input;

/// Takes an input of [`super::peer_wire`] whatever its mode is, and lets in whom a careless judge would.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (Some(_), Some(_), Some(said)) = (input.byte(), input.byte(), Introduction::read(input)) else {
        return;
    };
    let under_attack = member(0);
    let number = |place: usize| {
        let bytes = said.hello.get(1 + place * 8..)?.first_chunk()?;
        Some(ClaimedNumber(u64::from_le_bytes(*bytes)))
    };
    let (Some(own), Some(id), Some(wanted)) = (number(1), number(2), number(4)) else { return };
    let Some(Ok(cluster)) = said.hello.get(41..57).map(<[u8; 16]>::try_from) else { return };
    let is_named = |number: MemberNumber| under_attack.roster.member(number.into()).is_some();
    let careless = own != under_attack.number.into()
        && own.number().is_some_and(is_named)
        && wanted == under_attack.number.into()
        && Some(cluster) == under_attack.cluster;
    if careless {
        let seat = Some((MemberId(id.0), cluster));
        judge(&under_attack, &Claim { number: own, seat, wanted, attempt: 0 });
    }
}
