//! The keys of records. Bytes order as what they stand for does, so that a range of keys is a walk in the right order.

use crate::allowance::QuotaOf;
use crate::codec::{Cursor, Malformed};
use crate::command::{ObjectName, SessionId, TypeId};
use crate::source::Process;
use crate::version::VersionHash;

pub(crate) use crate::key_bytes::Key;

fn of(parts: &[&[u8]]) -> Key {
    Key::of(parts)
}

/// What a record is, by its key's first byte.
pub(crate) mod kind {
    /// An object, by type and name.
    pub(crate) const OBJECT: u8 = 1;
    /// What belongs to an object: by its space, a table, a key within it.
    pub(crate) const SPACE: u8 = 2;
    pub(crate) const SESSION: u8 = 3;
    /// A reply that a session has not acknowledged, by session and request.
    pub(crate) const REPLY: u8 = 4;
    /// What a session holds, by session, class, position and space.
    pub(crate) const HOLDING: u8 = 5;
    /// A waiting call of a session, by session and ticket.
    pub(crate) const SESSION_TICKET: u8 = 6;
    /// An idempotency key, by principal and key.
    pub(crate) const KEY: u8 = 7;
    /// Where a ticket is, by its id.
    pub(crate) const TICKET_AT: u8 = 8;
    /// What happens when, by time, class and id.
    pub(crate) const DEADLINE: u8 = 9;
    /// What the keys of records of spaces begin with that are being swept: a dead object's, or a part of a living one's.
    pub(crate) const GRAVE: u8 = 10;
    /// A waiting call of a caller without session or key, by its member, the member's process, and ticket.
    pub(crate) const PROCESS_TICKET: u8 = 11;
    /// What types of users take together: one record.
    pub(crate) const TYPE_TOTALS: u8 = 12;
    /// A type of users, by its number.
    pub(crate) const TYPE: u8 = 13;
    /// A version, by its type's number and its hash.
    pub(crate) const VERSION: u8 = 14;
    /// A version's description and source, likewise.
    pub(crate) const VERSION_TEXT: u8 = 15;
    /// The kind of a version's method, likewise and by its name.
    pub(crate) const METHOD: u8 = 16;
    /// A module, or an upload of one, by its hash.
    pub(crate) const MODULE: u8 = 17;
    /// A piece of a module, by its hash and the piece's number.
    pub(crate) const PIECE: u8 = 18;
    /// The id of a session that has ended.
    pub(crate) const ENDED_SESSION: u8 = 19;
    /// The same by the position of its end.
    pub(crate) const ENDED_AT: u8 = 20;
    /// How many of them there are: one record, if there ever were any.
    pub(crate) const ENDED_TOTAL: u8 = 21;
    /// A version some of whose methods take and give bytes, by its type's number and its hash: only from feature level 9 on.
    pub(crate) const OF_BYTES: u8 = 25;
    /// A version of which no objects are created, by its type's number and its hash: only from feature level 9 on.
    pub(crate) const STOPPED: u8 = 24;
    /// A message between objects, by the position of the run that sent it and its number there.
    pub(crate) const MESSAGE: u8 = 30;
    /// An object of which a run is under way beside the commands, or for which something waits behind one, by its space.
    pub(crate) const OCCUPIED: u8 = 32;
    /// How many messages there are: one record, if there are any.
    pub(crate) const MESSAGE_TOTALS: u8 = 31;
    /// Access is closed: one record, if it is.
    pub(crate) const CLOSED: u8 = 40;
    /// A token, by its number.
    pub(crate) const TOKEN: u8 = 41;
    /// The rights of a principal, by its name.
    pub(crate) const RIGHTS: u8 = 42;
    /// A waiting call that is found by its principal, and the call's ticket.
    pub(crate) const PRINCIPAL_TICKET: u8 = 43;
    /// How many of those a principal has, by its name.
    pub(crate) const PRINCIPAL_WAITS: u8 = 44;
    /// A quota, by whose it is and the name.
    pub(crate) const QUOTA: u8 = 45;
    /// What is used of it, likewise.
    pub(crate) const QUOTA_USAGE: u8 = 46;
    /// How far the objects of a namespace have been counted, by its name.
    pub(crate) const QUOTA_WALK: u8 = 47;
    /// A role, by its name.
    pub(crate) const ROLE: u8 = 48;
    /// The roles of a principal, by its name.
    pub(crate) const ROLES_OF: u8 = 49;
    /// Which slots are this group's: one record, from feature level 8 on.
    pub(crate) const SLOTS: u8 = 50;
}

/// The tables of a space. A type's own tables are those from [`table::OWN`] on.
pub(crate) mod table {
    /// The constructor's arguments, if they are not the defaults: one record.
    pub(crate) const CONFIG: u8 = 0;
    /// What sessions hold of it: by session, class and position.
    pub(crate) const HOLDER: u8 = 1;
    /// The object's timers: when each is due.
    pub(crate) const TIMER: u8 = 2;
    /// Calls that wait, by queue.
    pub(crate) const TICKET: u8 = 3;
    /// What is counted of the object for its namespace's quota: one record, if there is one.
    pub(crate) const METERED: u8 = 4;
    pub(crate) const OWN: u8 = 16;
}

pub(crate) fn occupied(space: u64) -> Key {
    Key::beginning([kind::OCCUPIED], &space.to_be_bytes())
}

pub(crate) fn object(name: &ObjectName) -> Key {
    Key::beginning([kind::OBJECT, name.kind.0], name.name.as_bytes())
}

pub(crate) fn objects_of(kind: TypeId) -> Key {
    of(&[&[kind::OBJECT, kind.0]])
}

pub(crate) fn space(space: u64) -> Key {
    of(&[&[kind::SPACE][..], &space.to_be_bytes()])
}

pub(crate) fn entry(space: u64, table: u8, sub: &[u8]) -> Key {
    let mut head = [0; ENTRY_HEAD];
    head[0] = kind::SPACE;
    head[1..9].copy_from_slice(&space.to_be_bytes());
    head[9] = table;
    Key::beginning(head, sub)
}

/// Bytes of an entry's key before the key within its table.
pub(crate) const ENTRY_HEAD: usize = 10;

/// The number of a page, by its key in a table of pages.
pub(crate) fn page_number(key: &[u8]) -> Option<u32> {
    let number = key.get(ENTRY_HEAD..)?.try_into().ok()?;
    Some(u32::from_be_bytes(number))
}

pub(crate) fn session(id: SessionId) -> Key {
    of(&[&[kind::SESSION][..], &id.0])
}

pub(crate) fn ended_session(id: SessionId) -> Key {
    of(&[&[kind::ENDED_SESSION][..], &id.0])
}

pub(crate) fn ended_at(position: u64, id: SessionId) -> Key {
    of(&[&[kind::ENDED_AT][..], &position.to_be_bytes(), &id.0])
}

pub(crate) fn ended_total() -> Key {
    of(&[&[kind::ENDED_TOTAL]])
}

pub(crate) fn replies(id: SessionId) -> Key {
    of(&[&[kind::REPLY][..], &id.0])
}

pub(crate) fn reply(id: SessionId, request: u64) -> Key {
    of(&[&[kind::REPLY][..], &id.0, &request.to_be_bytes()])
}

pub(crate) fn holdings(id: SessionId) -> Key {
    of(&[&[kind::HOLDING][..], &id.0])
}

/// The part of a holding's key that both of its records share.
pub(crate) fn holder(id: SessionId, class: u8, position: u64) -> Key {
    of(&[&id.0[..], &[class], &position.to_be_bytes()])
}

pub(crate) fn holding(id: SessionId, class: u8, position: u64, space: u64) -> Key {
    of(&[&[kind::HOLDING][..], &holder(id, class, position), &space.to_be_bytes()])
}

pub(crate) fn session_tickets(id: SessionId) -> Key {
    of(&[&[kind::SESSION_TICKET][..], &id.0])
}

pub(crate) fn session_ticket(id: SessionId, ticket: u64) -> Key {
    of(&[&[kind::SESSION_TICKET][..], &id.0, &ticket.to_be_bytes()])
}

pub(crate) fn process_ticket(Process { member, incarnation }: Process, ticket: u64) -> Key {
    of(&[&[kind::PROCESS_TICKET, member][..], &incarnation.to_be_bytes(), &ticket.to_be_bytes()])
}

pub(crate) fn idempotency(principal: &str, key: &str) -> Key {
    let length = (principal.len() as u16).to_be_bytes();
    of(&[&[kind::KEY][..], &length, principal.as_bytes(), key.as_bytes()])
}

pub(crate) fn ticket_at(ticket: u64) -> Key {
    of(&[&[kind::TICKET_AT][..], &ticket.to_be_bytes()])
}

/// Times before 1970 come before the others.
pub(crate) fn deadline(at_ms: i64, class: u8, id: &[u8]) -> Key {
    let at = (at_ms as u64) ^ (1 << 63);
    of(&[&[kind::DEADLINE][..], &at.to_be_bytes(), &[class], id])
}

/// Time, class and id of a deadline.
pub(crate) fn read_deadline(key: &[u8]) -> Result<(i64, u8, &[u8]), Malformed> {
    let mut cursor = Cursor::new(key);
    if cursor.u8()? != kind::DEADLINE {
        return Err(Malformed("deadline: not one"));
    }
    let at = (cursor.ordered()? ^ (1 << 63)) as i64;
    Ok((at, cursor.u8()?, cursor.rest()))
}

pub(crate) fn message_totals() -> Key {
    of(&[&[kind::MESSAGE_TOTALS]])
}

pub(crate) fn type_totals() -> Key {
    of(&[&[kind::TYPE_TOTALS]])
}

pub(crate) fn user_type(kind: TypeId) -> Key {
    Key::beginning([kind::TYPE, kind.0], &[])
}

pub(crate) fn versions(kind: TypeId) -> Key {
    of(&[&[kind::VERSION, kind.0]])
}

pub(crate) fn version(kind: TypeId, hash: VersionHash) -> Key {
    of(&[&[kind::VERSION, kind.0][..], &hash.0])
}

pub(crate) fn version_text(kind: TypeId, hash: VersionHash) -> Key {
    of(&[&[kind::VERSION_TEXT, kind.0][..], &hash.0])
}

pub(crate) fn method(kind: TypeId, hash: VersionHash, name: &str) -> Key {
    of(&[&[kind::METHOD, kind.0][..], &hash.0, name.as_bytes()])
}

pub(crate) fn of_bytes(kind: TypeId, hash: VersionHash) -> Key {
    of(&[&[kind::OF_BYTES, kind.0][..], &hash.0])
}

pub(crate) fn stopped(kind: TypeId, hash: VersionHash) -> Key {
    of(&[&[kind::STOPPED, kind.0][..], &hash.0])
}

pub(crate) fn module(hash: [u8; 32]) -> Key {
    of(&[&[kind::MODULE][..], &hash])
}

pub(crate) fn pieces(hash: [u8; 32]) -> Key {
    of(&[&[kind::PIECE][..], &hash])
}

pub(crate) fn piece(hash: [u8; 32], number: u32) -> Key {
    of(&[&[kind::PIECE][..], &hash, &number.to_be_bytes()])
}

pub(crate) fn message(position: u64, number: u32) -> Key {
    of(&[&[kind::MESSAGE][..], &position.to_be_bytes(), &number.to_be_bytes()])
}

pub(crate) fn closed() -> Key {
    of(&[&[kind::CLOSED]])
}

pub(crate) fn slots() -> Key {
    of(&[&[kind::SLOTS]])
}

pub(crate) fn token(number: u64) -> Key {
    of(&[&[kind::TOKEN][..], &number.to_be_bytes()])
}

pub(crate) fn rights(principal: &str) -> Key {
    of(&[&[kind::RIGHTS][..], principal.as_bytes()])
}

pub(crate) fn role(name: &str) -> Key {
    of(&[&[kind::ROLE][..], name.as_bytes()])
}

pub(crate) fn roles_of(principal: &str) -> Key {
    of(&[&[kind::ROLES_OF][..], principal.as_bytes()])
}

pub(crate) fn principal_tickets(principal: &str) -> Key {
    let length = (principal.len() as u16).to_be_bytes();
    of(&[&[kind::PRINCIPAL_TICKET][..], &length, principal.as_bytes()])
}

pub(crate) fn principal_ticket(principal: &str, ticket: u64) -> Key {
    of(&[&principal_tickets(principal)[..], &ticket.to_be_bytes()])
}

pub(crate) fn principal_waits(principal: &str) -> Key {
    of(&[&[kind::PRINCIPAL_WAITS][..], principal.as_bytes()])
}

pub(crate) fn quota(of: &QuotaOf) -> Key {
    self::of(&[&[kind::QUOTA, of.class()][..], of.name().as_bytes()])
}

pub(crate) fn usage(of: &QuotaOf) -> Key {
    self::of(&[&[kind::QUOTA_USAGE, of.class()][..], of.name().as_bytes()])
}

pub(crate) fn quota_walk(namespace: &str) -> Key {
    of(&[&[kind::QUOTA_WALK][..], namespace.as_bytes()])
}

pub(crate) fn metered(space: u64) -> Key {
    entry(space, table::METERED, &[])
}

/// The grave of all records of spaces whose keys begin so.
pub(crate) fn grave(prefix: &[u8]) -> Key {
    of(&[&[kind::GRAVE][..], prefix.get(1..).unwrap_or_default()])
}

/// An integer whose bytes order as it does.
pub(crate) const fn ordered(value: i64) -> [u8; 8] {
    ((value as u64) ^ (1 << 63)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_order_by_time_class_and_id() {
        let keys = [
            deadline(i64::MIN, 3, &[9]),
            deadline(-1, 3, &[9]),
            deadline(0, 1, &[9]),
            deadline(0, 2, &[1]),
            deadline(0, 2, &[1, 0]),
            deadline(i64::MAX, 1, &[]),
        ];
        assert!(keys.is_sorted());
        assert_eq!(read_deadline(&keys[1]), Ok((-1, 3, &[9][..])));
        assert!(ordered(-5) < ordered(3) && ordered(i64::MIN) < ordered(i64::MAX));
    }
}
