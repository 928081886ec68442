//! Requests and responses over real sockets.

mod support;

use net_http_server::{Bytes, HttpLimits};
use support::{Mail, Seen, config, serve, site};

#[test]
fn connection_stays_open_for_further_requests() {
    let site = site();
    let mut client = site.client();
    for number in 0..3 {
        let got = client.get(&format!("/{number}"));
        assert_eq!((got.status, got.body), (200, format!("GET /{number}").into_bytes()));
        assert!(got.head.contains("date: ") && !got.head.contains("connection: close"), "{}", got.head);
    }
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let site = site();
    let mut client = site.client();
    let requests: String = (0..50).map(|n| format!("GET /{n} HTTP/1.1\r\nhost: x\r\n\r\n")).collect();
    client.send(requests);
    for number in 0..50 {
        assert_eq!(client.response().body, format!("GET /{number}").into_bytes());
    }
}

#[test]
fn requests_sent_ahead_are_under_way_together_and_answered_in_their_order() {
    let site = site();
    let mut client = site.client();
    client.send(
        "GET /later HTTP/1.1\r\nhost: x\r\n\r\n".repeat(3) + "GET /at-once HTTP/1.1\r\nhost: x\r\n\r\n",
    );
    let ids: Vec<_> = (0..3).map(|_| site.next()).collect();
    for (seen, words) in ids.iter().zip(["first", "second", "third"]).rev() {
        let Seen::Later(id) = seen else { panic!("{seen:?}") };
        site.mail.put(Mail::Respond(*id, words));
    }
    for words in ["first", "second", "third", "GET /at-once"] {
        assert_eq!(client.response().body, words.as_bytes());
    }
}

#[test]
fn no_more_requests_of_a_connection_are_under_way_than_its_limit() {
    let site = site();
    let mut client = site.client();
    client.send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20));
    let later = |seen: Seen| if let Seen::Later(id) = seen { id } else { panic!("{seen:?}") };
    let mut ids: Vec<_> = (0..16).map(|_| later(site.next())).collect();
    assert!(site.seen.recv_timeout(std::time::Duration::from_millis(300)).is_err(), "a further one is shown");
    for answered in 0..20 {
        site.mail.put(Mail::Respond(ids[answered], "done"));
        assert_eq!(client.response().body, b"done");
        if ids.len() < 20 {
            ids.push(later(site.next()));
        }
    }
}

#[test]
fn request_whose_beginning_came_long_before_its_end_is_read_whole() {
    let site = site();
    let mut client = site.client();
    client.send("GET /one HTTP/1.1\r\nhost: x\r\n\r\nGET /t");
    assert_eq!(client.response().body, b"GET /one");
    // Meanwhile the connection gives up its buffers.
    std::thread::sleep(std::time::Duration::from_millis(2_600));
    client.send("wo HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.response().body, b"GET /two");
    std::thread::sleep(std::time::Duration::from_millis(2_600));
    assert_eq!(client.get("/three").body, b"GET /three");
}

#[test]
fn word_to_go_on_comes_behind_the_responses_before_it() {
    let site = site();
    let mut client = site.client();
    client.send(
        "GET /later HTTP/1.1\r\nhost: x\r\n\r\n\
         POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n",
    );
    let Seen::Later(id) = site.next() else { panic!("not the request") };
    site.mail.put(Mail::Respond(id, "first"));
    assert_eq!(client.response().body, b"first");
    let end = client.until(b"\r\n\r\n");
    assert_eq!(&client.read[..end], b"HTTP/1.1 100 Continue\r\n\r\n");
    client.read.drain(..end);
    client.send("body");
    assert_eq!(client.response().body, b"body");
}

#[test]
fn answers_of_other_threads_reach_their_own_requests() {
    let site = site();
    let mut clients: Vec<_> = (0..8).map(|_| site.client()).collect();
    let mut ids = Vec::new();
    for client in &mut clients {
        client.send("GET /later HTTP/1.1\r\nhost: x\r\n\r\n");
        let Seen::Later(id) = site.next() else { panic!("not the request") };
        ids.push(id);
    }
    let words = ["0", "1", "2", "3", "4", "5", "6", "7"];
    let mut batch: Vec<_> = ids.iter().zip(words).rev().map(|(id, word)| Mail::Respond(*id, word)).collect();
    site.mail.put_all(&mut batch);
    for (client, word) in clients.iter_mut().zip(words) {
        assert_eq!(client.response().body, word.as_bytes());
    }
}

#[test]
fn bodies_come_whole_whatever_their_coding_and_pieces() {
    let site = site();
    let mut client = site.client();
    let long = "x".repeat(300_000);
    client.send(format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{long}", long.len()));
    assert_eq!(client.response().body, long.as_bytes());
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    for piece in ["5\r\nhello\r\n", "1", "\r\n \r\n", "5;note=1\r\nworld\r", "\n0\r\n", "trailer: 1\r\n\r\n"]
    {
        client.send(piece);
    }
    assert_eq!(client.response().body, b"hello world");
    for byte in "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc".bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().body, b"abc");
}

#[test]
fn client_that_asks_before_its_body_is_told_to_go_on() {
    let site = site();
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n");
    let end = client.until(b"\r\n\r\n");
    assert_eq!(&client.read[..end], b"HTTP/1.1 100 Continue\r\n\r\n");
    client.read.drain(..end);
    client.send("body");
    assert_eq!(client.response().body, b"body");
}

#[test]
fn client_that_asks_before_a_body_that_is_too_long_is_not_told_to_go_on() {
    let site = serve(config(HttpLimits { body_bytes_max: 10, ..HttpLimits::default() }));
    let mut client = site.client();
    client.send("POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 11\r\n\r\n");
    let got = client.response();
    assert_eq!((got.status, got.body), (413, b"BodyTooLong(10)".to_vec()));
    assert!(got.head.contains("connection: close"));
    assert_eq!(client.rest(), "");
}

#[test]
fn response_to_head_has_a_length_and_no_body() {
    let site = site();
    let mut client = site.client();
    client.send("HEAD /a HTTP/1.1\r\nhost: x\r\n\r\n");
    let got = client.response_with(false);
    assert!(got.head.contains("content-length: 7\r\n"), "{}", got.head);
    assert_eq!(client.get("/b").body, b"GET /b");
}

#[test]
fn old_clients_get_a_response_and_the_end() {
    let site = site();
    let mut client = site.client();
    client.send("GET /old HTTP/1.0\r\n\r\n");
    assert!(client.rest().ends_with("\r\n\r\nGET /old"));
    let mut client = site.client();
    client.send("GET /bye HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(client.rest().ends_with("\r\n\r\nGET /bye"));
}

#[test]
fn long_response_reaches_a_client_that_reads_late() {
    let site = site();
    let mut client = site.client();
    let long = "y".repeat(3_900_000);
    client.send(format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{long}", long.len()));
    let got = client.response();
    assert!(got.body == long.as_bytes());
    assert_eq!(client.get("/after").body, b"GET /after");
}

#[test]
fn stream_sends_each_piece_as_it_comes_and_then_the_next_request_is_answered() {
    let site = site();
    let mut client = site.client();
    client.send("GET /stream HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    for piece in ["data: 1\n\n", "data: 2\n\n"] {
        site.mail.put(Mail::Push(id, Bytes::from_static(piece.as_bytes())));
        client.until(piece.as_bytes());
    }
    site.mail.put(Mail::Finish(id));
    let end = client.until(b"0\r\n\r\n");
    client.read.drain(..end);
    assert_eq!(client.get("/after").body, b"GET /after");
}

#[test]
fn stream_to_an_old_client_ends_with_its_connection() {
    let site = site();
    let mut client = site.client();
    client.send("GET /stream HTTP/1.0\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    site.mail.put(Mail::Push(id, Bytes::from_static(b"data: 1\n\n")));
    site.mail.put(Mail::Finish(id));
    let got = client.rest();
    assert!(
        got.ends_with("\r\n\r\ndata: 1\n\n") && got.to_lowercase().contains("connection: close"),
        "{got}"
    );
}

#[test]
fn old_client_may_ask_for_its_connection_to_stay() {
    let site = site();
    let mut client = site.client();
    for _ in 0..2 {
        client.send("GET /old HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
        assert!(client.response().head.contains("connection: keep-alive"));
    }
}

#[test]
fn stream_that_was_asked_for_by_head_is_over_at_once() {
    let site = site();
    let mut client = site.client();
    client.send("HEAD /stream HTTP/1.1\r\nhost: x\r\n\r\n");
    let Seen::Stream(id) = site.next() else { panic!("not the request") };
    assert_eq!(client.response_with(false).status, 200);
    assert_eq!(site.next(), Seen::Gone(id));
    assert_eq!(client.get("/after").body, b"GET /after");
}
