//! Who is let in where nothing is proved but the address.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use net_peer_pairs::Lane;

use super::*;
use crate::group_number::GroupNumber;
use crate::handshake::{self, Terms};
use crate::hints::Hints;
use crate::numbering::ClaimedNumber;
use crate::numbering::Numbering;
use crate::testing::credentials_of_three;

const PATIENCE: Duration = Duration::from_secs(60);

/// Member N is at 127.0.7.N.
fn host(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 7, number)
}

/// What a member says of itself that dials member 1.
const fn hello_of(number: u8) -> Hello {
    let (number, wanted) = (ClaimedNumber(number as u64), ClaimedNumber(1));
    let numbering = Numbering::OneByte;
    Hello {
        numbering,
        group: GroupNumber::FIRST,
        lane: Lane::Control,
        attempt: 1,
        number,
        seat: None,
        life: 9,
        wanted,
        level: 1,
    }
}

fn credentials() -> Credentials {
    credentials_of_three(host, None)
}

/// What becomes of one that comes from the address of `from` and says that it is `number`.
fn visit(from: u8, number: u8) -> Result<ClaimedNumber, Refusal> {
    visit_at(&credentials(), from, number)
}

fn visit_at(credentials: &Credentials, from: u8, number: u8) -> Result<ClaimedNumber, Refusal> {
    visit_with((credentials, &FurtherGroups::default()), from, hello_of(number))
}

fn visit_with(
    (credentials, further): (&Credentials, &FurtherGroups),
    from: u8,
    hello: Hello,
) -> Result<ClaimedNumber, Refusal> {
    let listener = TcpListener::bind((host(1), 0)).expect("a port");
    let to = listener.local_addr().expect("bound");
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((host(from), 0)).into()).expect("an address of this machine");
    socket.connect(&to.into()).expect("connected");
    let mut dialler = std::net::TcpStream::from(socket);
    dialler.set_read_timeout(Some(PATIENCE)).expect("set");
    let (stream, peer) = listener.accept().expect("accepted");
    stream.set_nonblocking(true).expect("set");
    let until = Instant::now() + dial::HANDSHAKE_TIMEOUT;
    let stream = TcpStream::from_std(stream);
    let mut incoming = Incoming::new(stream, peer.ip(), until, credentials).expect("an incoming connection");
    let hello = Hello { life: 1, ..hello };
    let told = std::thread::spawn(move || {
        let terms = Terms { own: hello, nonce: [7; 32], prover: None, binding: [0; 32], hints: Hints::PLAIN };
        let said = handshake::open(&mut dialler, &terms);
        let _ = dialler.flush();
        let _ = dialler.read(&mut [0]);
        said
    });
    let verdict = loop {
        match incoming.drive(credentials, further) {
            Ok(Progress::Proved(hello, _)) => break Ok(hello.number),
            Ok(Progress::Waits { .. }) => std::thread::yield_now(),
            Err(why) => break Err(why),
        }
        assert!(Instant::now() < until + PATIENCE, "it comes to no end");
    };
    drop(incoming);
    let heard = told.join().expect("it ended").expect("it was answered");
    assert_eq!(heard.is_ok(), verdict.is_ok());
    verdict
}

#[test]
fn member_that_proves_nothing_is_believed_at_its_own_address_alone() {
    assert_eq!(visit(2, 2), Ok(ClaimedNumber(2)));
    assert_eq!(visit(3, 3), Ok(ClaimedNumber(3)));
    let why = visit(2, 3).expect_err("the address is that of member 2");
    let (number, address) = (PeerNumber(3), IpAddr::from(host(2)));
    assert_eq!(why, Refusal::OtherAddress { number, address, hints: Hints::PLAIN });
    let why = why.to_string();
    assert!(why.contains("member 3, which is not said to be at 127.0.7.2"), "{why}");
}

#[test]
fn member_is_refused_while_another_of_its_number_that_started_later_is_connected() {
    let credentials = credentials();
    let two = PeerNumber(2);
    credentials.connected.begin(two, hello_of(2).life);
    let why = visit_at(&credentials, 2, 2).expect_err("it started earlier");
    assert_eq!(why, Refusal::StartedEarlier(two));
    let why = why.to_string();
    assert!(why.contains("member 2 started later and is connected"), "{why}");
    assert_eq!(visit_at(&credentials, 3, 3), Ok(ClaimedNumber(3)));
    credentials.connected.end(two);
    assert_eq!(visit_at(&credentials, 2, 2), Ok(ClaimedNumber(2)));
}

#[test]
fn member_of_a_further_group_is_answered_by_its_own_group_and_refused_where_that_is_not_served() {
    let (credentials, further) = (credentials(), FurtherGroups::default());
    let group = GroupNumber::new(1).expect("there may be eight");
    let hello = Hello { group, seat: Some((base::MemberId(2), [5; 16])), ..hello_of(2) };
    let why = visit_with((&credentials, &further), 2, hello).expect_err("nobody serves it");
    assert_eq!(why, HelloRefusal::GroupNotServed(group).into());
    let (_poll, waker) = crate::PeerConnections::poll().expect("a poll");
    let own = std::sync::Arc::new(credentials.of_group(group, 3));
    further.add(std::sync::Arc::clone(&own), std::sync::Arc::new(node_threads::Mailbox::new(waker)));
    credentials.identity.begin_membership(base::MemberId(1), [9; 16]);
    own.identity.begin_membership(base::MemberId(1), [5; 16]);
    assert_eq!(visit_with((&credentials, &further), 2, hello), Ok(ClaimedNumber(2)));
    let of_the_first = Hello { group: GroupNumber::FIRST, ..hello };
    let why = visit_with((&credentials, &further), 2, of_the_first).expect_err("it is of another ensemble");
    assert!(matches!(why, Refusal::Hello(HelloRefusal::OtherEnsemble { .. })), "{why:?}");
    further.remove(group);
    let why = visit_with((&credentials, &further), 2, hello).expect_err("it is gone");
    assert_eq!(why, HelloRefusal::GroupNotServed(group).into());
}
