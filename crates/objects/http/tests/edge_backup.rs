//! A backup over HTTP: a file that the driver reads, from the core's word that it is there until its client has it.

mod world;

use base::{LogIndex, MonoTime};
use objects_http::{Note, OCTETS, Say};
use objects_replica::edge::{Answer, Consistency, Question, Request};
use objects_state::{Outcome, Problem, Slug};
use world::{World, header, origin_of, slug};

const INDEX: LogIndex = LogIndex(77);

/// A world in which a client has asked for a backup: the key of its request, and what the core was asked.
fn asked() -> (World, u32, Request) {
    let mut world = World::new();
    let request = world.asked("GET", "/v1/backup", &[], "");
    let key = world.next;
    (world, key, request)
}

/// The same, when the client is sent it.
fn begun() -> (World, u32, Request) {
    let (mut world, key, request) = asked();
    world.edge.answer(Answer::Backup { origin: origin_of(&request), index: INDEX }, MonoTime::of_ms(2_000));
    assert_eq!(world.says(), [Say::Backup(key, INDEX)]);
    world.edge.backup_begins(key, 4_711);
    (world, key, request)
}

fn gone(request: &Request) -> Vec<Request> {
    vec![Request::Gone { origin: origin_of(request) }]
}

#[test]
fn backup_is_a_linearizable_query_and_its_response_a_file_of_that_position() {
    let (mut world, key, request) = begun();
    let Request::Query { question: Question::Backup, consistency, .. } = &request else {
        panic!("{request:?}")
    };
    assert_eq!(*consistency, Consistency::Linearizable);
    let says = world.says();
    let [Say::Respond(to, response)] = &says[..] else { panic!("{says:?}") };
    assert_eq!((*to, response.status, response.content_type, response.is_stream), (key, 200, OCTETS, true));
    assert_eq!((response.position, header(response, "cache-control")), (Some(4711), Some("no-store")));
    let mut notes = Vec::new();
    world.edge.take_notes(&mut notes);
    assert!(
        matches!(&notes[..], [Note::Administered { what }] if what.contains("GET /v1/backup")),
        "{notes:?}"
    );
    assert!(world.edge.backup_ended(key) && !world.edge.backup_ended(key));
    assert_eq!((world.asks(), world.edge.under_way()), (gone(&request), 0));
    for target in ["/v1/backup?consistency=stale", "/v1/backup?min_position=7", "/v1/ns/team/backup"] {
        assert_eq!(World::new().refused("GET", target, &[], "").status, 400, "{target}");
    }
    assert_eq!(World::new().refused("POST", "/v1/backup", &[], "").status, 405);
}

#[test]
fn core_is_told_of_a_client_that_goes_also_before_its_backup_is_there() {
    let (mut world, key, request) = asked();
    world.edge.gone(key);
    assert_eq!(world.asks(), gone(&request));
    // The core may not have heard it when it gave the backup.
    world.edge.answer(Answer::Backup { origin: origin_of(&request), index: INDEX }, MonoTime::of_ms(2_000));
    assert_eq!((world.asks(), world.says()), (gone(&request), vec![]));
    let (mut world, key, request) = begun();
    world.edge.gone(key);
    assert_eq!(world.asks(), gone(&request));
    assert!(!world.edge.backup_ended(key), "the driver's word comes too late");
}

#[test]
fn backup_that_has_begun_is_broken_off_when_the_right_the_core_or_the_member_ends() {
    let forbidden = |request: &Request| {
        let outcome = Outcome::Refused(Problem::new(Slug::Forbidden, "no"));
        Answer::Done { origin: origin_of(request), position: 9, outcome }
    };
    let (mut world, key, request) = begun();
    world.says();
    world.edge.answer(forbidden(&request), MonoTime::of_ms(2_000));
    assert_eq!(world.says(), [Say::Abort(key)]);
    let (mut world, key, _) = begun();
    world.says();
    world.edge.core_ended();
    assert_eq!(world.says(), [Say::Abort(key)]);
    // One that has not begun is refused in words.
    let (mut world, key, request) = asked();
    world.edge.answer(forbidden(&request), MonoTime::of_ms(2_000));
    let says = world.says();
    assert!(
        matches!(&says[..], [Say::Respond(to, response)] if *to == key && response.status == 403),
        "{says:?}"
    );
    let (mut world, key, request) = asked();
    world.edge.stop();
    let says = world.says();
    assert!(
        matches!(&says[..], [Say::Respond(to, response)] if *to == key && response.status == 503),
        "{says:?}"
    );
    assert_eq!(world.asks(), gone(&request));
}

#[test]
fn file_that_cannot_be_read_is_a_refusal_that_says_when_to_ask_again() {
    let (mut world, key, request) = asked();
    world.edge.answer(Answer::Backup { origin: origin_of(&request), index: INDEX }, MonoTime::of_ms(2_000));
    world.says();
    world.edge.backup_is_lost(key, "it has gone");
    let says = world.says();
    let [Say::Respond(_, response)] = &says[..] else { panic!("{says:?}") };
    assert_eq!((response.status, slug(response)), (429, "rate".into()));
    assert_eq!(header(response, "retry-after"), Some("1"));
    assert_eq!(world.asks(), gone(&request));
}
