//! Who may wait at the door, and who has to go when it gets crowded.
//!
//! Everybody who connects waits here until it has proved to be a member. The table is limited, so who has waited longest
//! goes first; and it has parts, so that strangers cannot take the places of members: an address at which a member is said
//! to be has places of its own, and all other addresses together have a few. A stranger with many addresses only drives
//! out other strangers; one at a member's own address competes with that member alone, and has to connect as often as
//! there are places there within the few milliseconds that a handshake takes. Knows no socket and no clock.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Places of one address at which a member is said to be.
const OF_MEMBERS_ADDRESS: usize = 64;
/// Places of all such addresses.
const OF_MEMBERS: usize = 512;
/// Places of one other address.
const OF_OTHER_ADDRESS: usize = 8;
/// Places of all other addresses.
const OF_OTHERS: usize = 64;

/// See the module. Who came later has a higher ticket.
#[derive(Debug, Default)]
pub(crate) struct Places {
    taken: BTreeMap<usize, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    address: IpAddr,
    members: bool,
    /// Its certificate is good: it goes last.
    certified: bool,
}

impl Places {
    /// Takes a place for a connection from `address`; gives the ticket of the one that has to go for it.
    pub(crate) fn take(&mut self, ticket: usize, address: IpAddr, members: bool) -> Option<usize> {
        let (of_address, of_all) =
            if members { (OF_MEMBERS_ADDRESS, OF_MEMBERS) } else { (OF_OTHER_ADDRESS, OF_OTHERS) };
        let same_address = |place: &Place| place.members == members && place.address == address;
        let goes = self
            .oldest(of_address, same_address)
            .or_else(|| self.oldest(of_all, |place| place.members == members));
        if let Some(goes) = goes {
            self.taken.remove(&goes);
        }
        self.taken.insert(ticket, Place { address, members, certified: false });
        goes
    }

    /// The connection with this ticket has shown a certificate of the ensemble's authority.
    pub(crate) fn certify(&mut self, ticket: usize) {
        if let Some(place) = self.taken.get_mut(&ticket) {
            place.certified = true;
        }
    }

    /// The connection with this ticket is gone.
    pub(crate) fn leave(&mut self, ticket: usize) {
        self.taken.remove(&ticket);
    }

    /// Of those that are alike, who has to go if they have all the places that they may.
    fn oldest(&self, places: usize, alike: impl Fn(&Place) -> bool) -> Option<usize> {
        let those = || self.taken.iter().filter(|(_, place)| alike(place));
        if those().count() < places {
            return None;
        }
        those().min_by_key(|(ticket, place)| (place.certified, **ticket)).map(|(ticket, _)| *ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn strangers_drive_out_strangers_and_never_a_member() {
        let mut places = Places::default();
        assert_eq!(places.take(0, address(1), true), None);
        for stranger in 1..=1000 {
            let goes = places.take(
                stranger,
                IpAddr::from(stranger.to_be_bytes()[4..].try_into().map(|four: [u8; 4]| four).expect("four")),
                false,
            );
            assert_eq!(goes, stranger.checked_sub(OF_OTHERS).filter(|goes| *goes > 0), "{stranger}");
        }
        assert_eq!(places.taken.len(), 1 + OF_OTHERS);
        assert!(places.taken.contains_key(&0));
    }

    #[test]
    fn address_has_so_many_places_and_the_oldest_goes() {
        let mut places = Places::default();
        places.take(1, address(9), false);
        for ticket in 2..2 + OF_OTHER_ADDRESS {
            assert_eq!(places.take(ticket, address(8), false), None);
        }
        assert_eq!(places.take(100, address(8), false), Some(2));
        places.leave(3);
        assert_eq!(places.take(101, address(8), false), None);
        assert_eq!(places.take(102, address(8), false), Some(4));
        for ticket in 200..200 + OF_MEMBERS_ADDRESS {
            assert_eq!(places.take(ticket, address(1), true), None);
        }
        assert_eq!(places.take(300, address(1), true), Some(200));
        assert_eq!(places.take(301, address(2), true), None, "another member's are its own");
    }

    #[test]
    fn one_with_a_certificate_goes_last() {
        let mut places = Places::default();
        for ticket in 0..OF_OTHER_ADDRESS {
            places.take(ticket, address(8), false);
        }
        places.certify(0);
        assert_eq!(places.take(100, address(8), false), Some(1));
        (2..OF_OTHER_ADDRESS).chain([100]).for_each(|ticket| places.certify(ticket));
        assert_eq!(places.take(101, address(8), false), Some(0));
    }

    #[test]
    fn all_places_together_are_limited() {
        let mut places = Places::default();
        for ticket in 0..5000 {
            places.take(ticket, address((ticket % 250) as u8), ticket % 2 == 0);
        }
        assert!(places.taken.len() <= OF_MEMBERS + OF_OTHERS, "{}", places.taken.len());
    }
}
