//! Live objects with curl, as the documentation shows it.

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Site, config, is_there_curl, serve};

fn site() -> Option<Site> {
    is_there_curl().then(|| serve(config()))
}

#[test]
fn counter_counts_from_the_first_call() {
    let Some(site) = site() else { return };
    for value in 1..=3 {
        let got = site.curl(&["-XPOST", "/objects/counter/visits/increment"]);
        assert_eq!((got.status, got.json()["value"].as_i64()), (200, Some(value)), "{got:?}");
        assert_eq!(got.field("diwan-position"), Some(value.to_string().as_str()));
        assert_eq!(got.field("content-type"), Some("application/json"));
    }
    let got = site.curl(&["/objects/counter/visits/get?consistency=stale&min_position=3"]);
    assert_eq!((got.status, got.json()["value"].as_i64()), (200, Some(3)));
}

#[test]
fn curl_holds_a_lock_by_a_session_that_the_call_opens() {
    let Some(site) = site() else { return };
    let got = site.post("/objects/lock/build/acquire", r#"{"ttl_ms":30000}"#);
    let held = got.json();
    assert_eq!((got.status, &held["acquired"], &held["expires_in_ms"]), (200, &json!(true), &json!(30_000)));
    let credential = got.field("diwan-session").expect("the session").to_owned();
    let shown = format!("{}.{}", held["session"].as_str().unwrap(), held["secret"].as_str().unwrap());
    assert_eq!(credential, shown);
    let missed = site.post("/objects/lock/build/acquire?wait_ms=0", r#"{"ttl_ms":30000}"#);
    assert_eq!((missed.status, &missed.json()["acquired"]), (200, &json!(false)));
    assert_eq!(missed.field("diwan-session"), None);
    let session = format!("Diwan-Session: {credential}");
    let release = format!("{{\"fence\":{}}}", held["fence"]);
    let path = "/objects/lock/build/release";
    assert_eq!(site.curl(&["-XPOST", path, "-H", &session, "-d", &release]).slug(), "bad-argument");
    let wrong = format!("Diwan-Session: {}.{}", held["session"].as_str().unwrap(), "0".repeat(32));
    let got = site.curl(&["-XPOST", path, "-H", &wrong, "-H", "Diwan-Request: 1", "-d", &release]);
    assert_eq!((got.status, got.slug()), (403, "forbidden".into()));
    for _ in 0..2 {
        let got = site.curl(&["-XPOST", path, "-H", &session, "-H", "Diwan-Request: 1", "-d", &release]);
        assert_eq!((got.status, &got.json()["holds"]), (200, &json!(0)), "{got:?}");
    }
}

#[test]
fn waiting_call_is_answered_when_its_turn_comes() {
    let Some(site) = site() else { return };
    let url = site.url("objects/queue/jobs/take");
    let waiting =
        Command::new("curl").args(["-s", "--max-time", "20", "-XPOST", &url]).stdout(Stdio::piped()).spawn();
    let waiting = waiting.expect("curl runs");
    until(|| site.curl(&["/objects/queue/jobs"]).json()["waiting"] == json!(1));
    assert_eq!(site.post("/objects/queue/jobs/put", r#"{"item":{"n":1}}"#).status, 200);
    let output = waiting.wait_with_output().expect("curl ends").stdout;
    let items: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    assert_eq!(items["items"][0]["item"], json!({"n":1}));
}

fn until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "it takes too long");
    }
}

#[test]
fn call_without_a_key_ends_with_its_connection() {
    let Some(site) = site() else { return };
    let url = site.url("objects/queue/jobs/take");
    let mut waiting = Command::new("curl").args(["-s", "-XPOST", &url]).spawn().expect("curl runs");
    until(|| site.curl(&["/objects/queue/jobs"]).json()["waiting"] == json!(1));
    waiting.kill().expect("killed");
    waiting.wait().expect("gone");
    until(|| site.curl(&["/objects/queue/jobs"]).status == 404);
}

#[test]
fn ticket_is_collected_after_the_hold_and_a_repeat_gets_the_same_bytes() {
    let Some(site) = site() else { return };
    let take = |hold: &str| {
        let path = format!("/objects/queue/jobs/take?hold_ms={hold}");
        site.curl(&["-XPOST", &path, "-H", "Idempotency-Key: \"k1\""])
    };
    let got = take("50");
    let ticket = got.json()["ticket"].as_u64().expect("a ticket");
    assert_eq!(got.status, 202);
    let path = format!("/tickets/{ticket}?hold_ms=0");
    assert_eq!(got.field("location"), Some(format!("/v1/tickets/{ticket}").as_str()));
    assert_eq!(site.curl(&[&path]).status, 202);
    assert_eq!(take("0").json()["ticket"].as_u64(), Some(ticket), "a repeat joins the ticket");
    site.post("/objects/queue/jobs/put", r#"{"item":7}"#);
    let got = site.curl(&[&path]);
    assert_eq!((got.status, &got.json()["items"][0]["item"]), (200, &json!(7)));
    assert_eq!(take("0").body, got.body);
    let got = site.curl(&["-XDELETE", &format!("/tickets/{ticket}")]);
    assert_eq!((got.status, got.slug()), (409, "already-granted".into()));
    assert_eq!(got.json()["result"]["items"][0]["item"], json!(7));
    let other =
        site.curl(&["-XPOST", "/objects/queue/jobs/take", "-H", "Idempotency-Key: k1", "-d", "{\"n\":2}"]);
    assert_eq!((other.status, other.slug()), (422, "key-reused".into()));
}

#[test]
fn waiting_call_is_cancelled_by_its_ticket() {
    let Some(site) = site() else { return };
    let got = site.curl(&["-XPOST", "/objects/queue/q/take?hold_ms=0", "-H", "Idempotency-Key: c"]);
    let path = format!("/tickets/{}", got.json()["ticket"]);
    assert_eq!(site.curl(&["-XDELETE", &path]).json()["cancelled"], json!(true));
    assert_eq!(site.curl(&[&path]).json()["items"], json!([]));
    assert_eq!(site.curl(&["/tickets/999999"]).slug(), "no-such-ticket");
}

#[test]
fn objects_are_created_described_listed_and_deleted() {
    let Some(site) = site() else { return };
    let put = |body: &str| site.curl(&["-XPUT", "/objects/counter/c", "-d", body]);
    assert_eq!((put(r#"{"max":2}"#).status, put(r#"{"max":2}"#).status), (201, 200));
    assert_eq!((put(r#"{"max":3}"#).status, put(r#"{"max":3}"#).slug()), (409, "exists".into()));
    let described = site.curl(&["/objects/counter/c"]).json();
    assert_eq!((&described["type"], &described["explicit"]), (&json!("counter"), &json!(true)));
    site.curl(&["-XPUT", "/objects/counter/d%2F%20e"]);
    let list = site.curl(&["/objects?type=counter&limit=1"]).json();
    assert_eq!((&list["objects"][0]["name"], &list["next"]), (&json!("c"), &json!("c")));
    let list = site.curl(&["/objects?type=counter&after=c"]).json();
    assert_eq!((&list["objects"][0]["name"], &list["next"]), (&json!("d/ e"), &json!(null)));
    let wrong = site.curl(&["-XDELETE", "/objects/counter/c", "-H", "If-Match: \"999\""]);
    assert_eq!((wrong.status, wrong.slug()), (412, "wrong-incarnation".into()));
    let right = format!("If-Match: \"{}\"", described["incarnation"]);
    assert_eq!(site.curl(&["-XDELETE", "/objects/counter/c", "-H", &right]).status, 200);
    assert_eq!(site.curl(&["/objects/counter/c"]).slug(), "no-such-object");
}

#[test]
fn calls_of_a_batch_are_carried_out_one_behind_the_other() {
    let Some(site) = site() else { return };
    let body = r#"{"calls":[{"method":"increment"},{"method":"increment","args":{"by":5}},{"method":"no"}]}"#;
    let got = site.post("/objects/counter/b:batch", body).json();
    assert_eq!(
        (&got["results"][0]["result"]["value"], &got["results"][1]["result"]["value"]),
        (&json!(1), &json!(6))
    );
    assert_eq!(got["results"][2]["problem"]["type"], json!("urn:diwan:problem:no-such-method"));
}

#[test]
fn session_is_opened_renewed_shown_and_closed() {
    let Some(site) = site() else { return };
    let got = site.post("/sessions", r#"{"ttl_ms":5000,"name":"me"}"#);
    assert_eq!(got.status, 201);
    let credential = format!("Diwan-Session: {}", got.field("diwan-session").expect("the session"));
    let path = format!("/sessions/{}", got.json()["session"].as_str().unwrap());
    let renew = format!("{path}/renew");
    assert_eq!(site.curl(&["-XPOST", &renew, "-H", &credential]).json()["ttl_ms"], json!(5_000));
    assert_eq!(site.curl(&["-XPOST", &renew]).status, 401);
    assert_eq!(site.curl(&[&path, "-H", &credential]).json()["ttl_ms"], json!(5_000));
    let close = site.curl(&["-XDELETE", &path, "-H", &credential]);
    assert_eq!((close.status, &close.json()["closed"]), (200, &json!(true)));
    let gone = site.curl(&["-XPOST", &renew, "-H", &credential]);
    assert_eq!((gone.status, gone.slug()), (410, "session-expired".into()));
}

#[test]
fn open_stream_of_events_tells_what_happens_and_keeps_its_session() {
    let Some(site) = site() else { return };
    let got = site.post("/sessions", r#"{"ttl_ms":1000}"#);
    let credential = format!("Diwan-Session: {}", got.field("diwan-session").expect("the session"));
    let path = format!("sessions/{}", got.json()["session"].as_str().unwrap());
    let events = site.url(&format!("{path}/events"));
    let mut curl = Command::new("curl");
    curl.args(["-sN", "--max-time", "20", "-H", &credential, &events]).stdout(Stdio::piped());
    let mut curl = curl.spawn().expect("curl runs");
    let mut lines = BufReader::new(curl.stdout.take().expect("a pipe")).lines();
    let mut wait_for = |wanted: &str| {
        let found = lines.by_ref().find(|line| line.as_ref().is_ok_and(|line| line.contains(wanted)));
        assert!(found.is_some(), "the stream ends before {wanted}");
    };
    wait_for(": watching");
    let path_with_slash = format!("/{path}");
    // Three times its time to live: only the stream keeps it.
    (0..3).for_each(|_| wait_for(": alive"));
    let acquire = ["-XPOST", "/objects/lock/l/acquire", "-H", &credential, "-H", "Diwan-Request: 1"];
    assert_eq!(site.curl(&acquire).json()["acquired"], json!(true));
    wait_for("event: acquired");
    wait_for("\"name\":\"l\"");
    site.curl(&["-XDELETE", &path_with_slash, "-H", &credential]);
    wait_for("event: closed");
    assert!(curl.wait().expect("curl ends").success(), "the stream ends with the session");
}

#[test]
fn stream_that_keeps_nothing_tells_of_the_end_of_its_session() {
    let Some(site) = site() else { return };
    let got = site.post("/sessions", r#"{"ttl_ms":1000}"#);
    let credential = format!("Diwan-Session: {}", got.field("diwan-session").expect("the session"));
    let session = got.json()["session"].as_str().expect("a session").to_owned();
    let path = format!("/sessions/{session}/events?keep=false");
    let events = site.curl(&["-N", &path, "-H", &credential]);
    assert!(events.body.contains("event: expired"), "{events:?}");
}

#[test]
fn silent_session_ends_and_its_lock_goes_to_who_waits() {
    let Some(site) = site() else { return };
    // Before the first call: however long curl takes, the lock is not given on within the time to live.
    let begun = Instant::now();
    assert_eq!(site.post("/objects/lock/l/acquire", r#"{"ttl_ms":1000}"#).json()["acquired"], json!(true));
    // The session of the call that waits is silent, too: it has to live for longer.
    assert_eq!(site.post("/objects/lock/l/acquire", r#"{"ttl_ms":30000}"#).json()["acquired"], json!(true));
    assert!(begun.elapsed() >= Duration::from_millis(1_000), "{:?}", begun.elapsed());
}

#[test]
fn waiting_call_keeps_the_session_that_it_opens() {
    let Some(site) = site() else { return };
    let held = site.post("/objects/lock/l/acquire", r#"{"ttl_ms":600000}"#).json();
    let (url, body) = (site.url("objects/lock/l/acquire"), r#"{"ttl_ms":1000}"#);
    let waits = || {
        let arguments = ["-s", "--max-time", "20", "-XPOST", &url, "-d", body];
        Command::new("curl").args(arguments).stdout(Stdio::piped()).spawn().expect("curl runs")
    };
    let (mut leaves, stays) = (waits(), waits());
    until(|| site.curl(&["/objects/lock/l"]).json()["waiting"] == json!(2));
    let sessions = || site.curl(&["/groups"]).json()["groups"][0]["sessions"].clone();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(2_500) {
        assert_eq!(sessions(), json!(3));
        std::thread::sleep(Duration::from_millis(50));
    }
    leaves.kill().expect("killed");
    leaves.wait().expect("gone");
    let gone = Instant::now();
    until(|| sessions() == json!(2));
    assert!(gone.elapsed() < Duration::from_secs(5), "{:?}", gone.elapsed());
    let holder = held["session"].as_str().expect("a session");
    let credential = format!("Diwan-Session: {holder}.{}", held["secret"].as_str().expect("a secret"));
    let closed = site.curl(&["-XDELETE", &format!("/sessions/{holder}"), "-H", &credential]);
    assert_eq!(closed.status, 200);
    let output = stays.wait_with_output().expect("curl ends").stdout;
    let granted: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    assert_eq!(granted["acquired"], json!(true));
}

#[test]
fn descriptions_and_probes_answer() {
    let Some(site) = site() else { return };
    assert_eq!(site.curl(&["/live"]).json(), json!({"live":true}));
    assert_eq!(site.curl(&["/ready"]).json()["ready"], json!(true));
    assert_eq!(site.curl(&["/groups"]).json()["groups"][0]["objects"], json!(0));
    let document = site.curl(&["/openapi.json"]).json();
    assert_eq!(document["openapi"], json!("3.1.0"));
    assert!(document["paths"]["/objects/lock/{name}/acquire"]["post"].is_object());
    assert!(document["paths"]["/objects/counter/{name}/get"]["get"].is_object());
    let types = site.curl(&["/types"]).json();
    assert_eq!(types["types"].as_array().map(Vec::len), Some(objects_state::TYPES.len()));
    let head = site.curl(&["-I", "/live"]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn server_that_stops_answers_calls_that_wait() {
    let Some(mut site) = site() else { return };
    let url = site.url("objects/queue/jobs/take?wait_ms=60000");
    let curl = |key: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-i", "--max-time", "20", "-XPOST", &url, "-H", key]).stdout(Stdio::piped());
        curl.spawn().expect("curl runs")
    };
    let (with_key, without) = (curl("Idempotency-Key: s"), curl("X: y"));
    until(|| site.curl(&["/objects/queue/jobs"]).json()["waiting"] == json!(2));
    site.server.stop();
    let text = |child: std::process::Child| {
        String::from_utf8(child.wait_with_output().expect("curl ends").stdout).expect("text")
    };
    let (with_key, without) = (text(with_key), text(without));
    assert!(with_key.starts_with("HTTP/1.1 202 ") && with_key.contains("{\"ticket\":"), "{with_key}");
    assert!(without.starts_with("HTTP/1.1 504 ") && without.contains("outcome-unknown"), "{without}");
}
