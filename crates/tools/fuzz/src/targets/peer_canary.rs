//! A planted bug of the kind that lets strangers in: a judge that looks at the number of the one that dials, and believes
//! the id. What is checked of those who are let in must tell.

use base::MemberId;
use net_peers::wire::Claim;

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
        Some(u64::from_le_bytes(*bytes))
    };
    let (Some(own), Some(id), Some(wanted)) = (number(1), number(2), number(4)) else { return };
    let Some(Ok(cluster)) = said.hello.get(41..57).map(<[u8; 16]>::try_from) else { return };
    let careless = own != under_attack.number
        && under_attack.roster.member(own).is_some()
        && wanted == under_attack.number
        && Some(cluster) == under_attack.cluster;
    if careless {
        judge(&under_attack, &Claim { number: own, seat: Some((MemberId(id), cluster)), wanted, attempt: 0 });
    }
}
