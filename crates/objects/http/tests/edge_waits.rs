//! What is asked of the core for pages of who waits for whom, and for events that a member remembers.

mod world;

use objects_replica::edge::{Consistency, EventId, Question, Request};
use objects_state::type_named;
use world::{World, done, json, origin_of};

#[test]
fn waits_are_asked_for_as_objects_are_listed() {
    let mut world = World::new();
    let all = world.asked("GET", "/v1/waits?prefix=a&after=map/ab&limit=7", &[], "");
    let Request::Query { question, consistency: Consistency::Linearizable, .. } = all else {
        panic!("{all:?}")
    };
    let (prefix, after) = (String::from("a"), Some(String::from("map/ab")));
    assert_eq!(question, Question::Waits { kind: None, prefix, after, limit: 7 });
    let locks = world.asked("GET", "/v1/waits?type=lock&after=b", &[], "");
    let Request::Query { question, .. } = locks else { panic!("{locks:?}") };
    let (kind, prefix, after) = (type_named("lock"), String::new(), Some(String::from("b")));
    assert_eq!(question, Question::Waits { kind, prefix, after, limit: 100 });
    let users = world.asked("GET", "/v1/waits?type=hits", &[], "");
    assert!(matches!(users, Request::OfType { type_name, .. } if type_name == "hits"));
    let inside = world.asked("GET", "/v1/ns/team/waits?prefix=b", &[], "");
    let Request::Query { question: Question::Waits { ref prefix, .. }, .. } = inside else {
        panic!("{inside:?}")
    };
    assert_eq!(prefix, "team/b");
    let page = r#"{"objects":[{"type":"lock","name":"team/b","calls":[]}],"next":"lock/team/b"}"#;
    let shown = json(&world.done(origin_of(&inside), done(page)));
    assert_eq!((&shown["objects"][0]["name"], &shown["next"]), (&"b".into(), &"lock/b".into()));
    assert_eq!(world.slug("POST", "/v1/waits", &[], ""), (405, "method-not-allowed".into()));
    assert_eq!(world.slug("GET", "/v1/waits?limits=1", &[], ""), (400, "bad-argument".into()));
}

#[test]
fn remembered_events_are_a_query_and_others_a_stream() {
    let mut world = World::new();
    let path = "/v1/objects/lock/l/events";
    let asked = world.asked("GET", &format!("{path}?follow=false&after=12.3"), &[], "");
    let Request::Query { question: Question::History { object, after }, .. } = &asked else {
        panic!("{asked:?}")
    };
    assert_eq!((object.name.as_str(), *after), ("l", Some(EventId { position: 12, ordinal: 3 })));
    let response = world.done(origin_of(&asked), done(r#"{"events":[]}"#));
    assert_eq!((response.status, response.content_type), (200, "application/json"));
    assert!(matches!(world.asked("GET", &format!("{path}?follow=true"), &[], ""), Request::Watch { .. }));
    for wrong in ["follow=no", "follow=false&after=12", "follow=true&after=1.2", "after=1.2"] {
        assert_eq!(world.slug("GET", &format!("{path}?{wrong}"), &[], "").0, 400, "{wrong}");
    }
    let users = world.asked("GET", "/v1/objects/hits/h/events?follow=false", &[], "");
    assert!(matches!(users, Request::OfType { type_name, .. } if type_name == "hits"));
}
