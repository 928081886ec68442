use council_wire::{KeeperState, SessionId, Stat, Zxid};

use super::*;

const OWN: &str = "00000000000000000000000000000001__lock__0000000007";
const OTHER: &str = "00000000000000000000000000000002__lock__0000000006";

fn contender(again: bool) -> Contender {
    Contender::new(ContenderSettings {
        path: String::from("/l"),
        layout: Layout::Kazoo,
        kind: Kind::Exclusive,
        guid: format!("{:032x}", 1),
        data: Vec::new(),
        acl: vec![Acl::open()],
        again,
    })
}

/// Takes the next request, and answers it.
fn answer(contender: &mut Contender, result: Result<Reply, Error>) -> Request {
    let Ask { id, request } = contender.next().expect("a request");
    contender.tell(Input::Replied(id, Replied { zxid: Zxid(1), result }));
    request
}

fn names(names: &[&str]) -> Result<Reply, Error> {
    Ok(Reply::Children(names.iter().map(|name| String::from(*name)).collect(), Stat::default()))
}

fn stat(czxid: i64, ephemeral_owner: i64) -> Stat {
    Stat { czxid, ephemeral_owner, ..Stat::default() }
}

fn deleted(name: &str) -> Input {
    let path = Some(child("/l", name));
    Input::Event(Event {
        kind: EventKind::NodeDeleted,
        state: KeeperState::SyncConnected,
        path,
        zxid: Zxid(1),
    })
}

/// A contender of session 5 that holds the lock under the epoch 9.
fn holder(again: bool) -> Contender {
    let mut contender = contender(again);
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[]));
    let create = answer(&mut contender, Ok(Reply::Created(child("/l", OWN), stat(9, 5))));
    assert!(matches!(create, Request::Create { mode: CreateMode::EphemeralSequential, .. }));
    answer(&mut contender, names(&[OWN, "something else"]));
    answer(&mut contender, Ok(Reply::Data(None, stat(9, 5))));
    assert_eq!((contender.held(), contender.next()), (Some(9), None));
    contender
}

#[test]
fn holder_is_suspended_without_a_server_and_goes_on_under_its_epoch() {
    let mut contender = holder(false);
    contender.tell(Input::Disconnected);
    assert_eq!(*contender.standing(), Standing::Suspended { epoch: 9 });
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[OWN]));
    answer(&mut contender, Ok(Reply::Exists(Some(stat(9, 5)))));
    assert_eq!(contender.held(), None);
    answer(&mut contender, names(&[OWN]));
    assert_eq!(contender.held(), Some(9));
}

#[test]
fn holder_whose_session_expired_has_lost_the_lock_for_good() {
    let mut contender = holder(false);
    contender.tell(Input::Expired);
    assert_eq!((contender.standing(), contender.is_over()), (&Standing::Lost { epoch: 9 }, true));
    contender.tell(Input::Connected { session: SessionId(6) });
    assert_eq!(contender.next(), None);
}

#[test]
fn candidate_whose_session_expired_contends_again_beside_what_is_left_of_it() {
    let mut contender = holder(true);
    contender.tell(Input::Expired);
    assert_eq!(*contender.standing(), Standing::Lost { epoch: 9 });
    contender.tell(Input::Connected { session: SessionId(6) });
    answer(&mut contender, Ok(Reply::Done));
    // The node of the old session is still there, and is none to rely on.
    answer(&mut contender, names(&[OWN]));
    answer(&mut contender, Ok(Reply::Exists(Some(stat(9, 5)))));
    let delete = answer(&mut contender, Ok(Reply::Done));
    assert_eq!(delete, Request::Delete { path: child("/l", OWN), version: -1 });
    answer(&mut contender, names(&[]));
    let create = answer(&mut contender, Ok(Reply::Created(child("/l", OWN), stat(12, 6))));
    assert!(matches!(create, Request::Create { .. }));
    answer(&mut contender, names(&[OWN]));
    assert_eq!(contender.held(), Some(12));
}

#[test]
fn holder_whose_node_was_deleted_has_lost_the_lock() {
    let mut contender = holder(false);
    contender.tell(deleted(OWN));
    assert_eq!((contender.standing(), contender.is_over()), (&Standing::Lost { epoch: 9 }, true));
}

#[test]
fn node_that_may_have_been_made_is_found_and_not_made_twice() {
    let mut contender = contender(false);
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[]));
    answer(&mut contender, Err(Error::ConnectionLost));
    contender.tell(Input::Disconnected);
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[OWN, OTHER]));
    answer(&mut contender, Ok(Reply::Exists(Some(stat(9, 5)))));
    answer(&mut contender, names(&[OWN, OTHER]));
    let watch = answer(&mut contender, Ok(Reply::Data(None, stat(8, 4))));
    assert_eq!(watch, Request::Data { path: child("/l", OTHER), watch: true });
    assert_eq!(*contender.standing(), Standing::Waiting);
    contender.tell(deleted(OTHER));
    answer(&mut contender, names(&[OWN]));
    assert_eq!(contender.held(), Some(9));
}

#[test]
fn contender_that_is_released_before_it_has_its_node_deletes_what_it_finds() {
    let mut contender = contender(false);
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[OWN]));
    contender.next().expect("whose it is");
    contender.tell(Input::Release);
    assert!(!contender.is_over());
    answer(&mut contender, names(&[OWN]));
    let delete = answer(&mut contender, Ok(Reply::Done));
    assert_eq!(delete, Request::Delete { path: child("/l", OWN), version: -1 });
    answer(&mut contender, names(&[]));
    assert_eq!((contender.standing(), contender.is_over()), (&Standing::Released, true));
}

#[test]
fn refusal_ends_the_contender_and_says_why() {
    let mut contender = contender(true);
    contender.tell(Input::Connected { session: SessionId(5) });
    answer(&mut contender, Ok(Reply::Done));
    answer(&mut contender, names(&[]));
    let refused = Error::Refused { code: ErrorCode::NoAuth, path: "/l".into() };
    answer(&mut contender, Err(refused.clone()));
    assert_eq!((contender.standing(), contender.is_over()), (&Standing::Failed(refused), true));
}
