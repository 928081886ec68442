//! Which of two pairs of connections with a member is kept.

use base::MonoTime;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use net_peer_pairs::{QUIET_MS, YOUTH_MS};
use node_threads::Supervisor;

use super::*;
use crate::dial::Means;
use crate::group_number::GroupNumber;
use crate::hello::Hello;
use crate::numbering::ClaimedNumber;
use crate::numbering::Numbering;
use crate::roster::MemberAddress;
use crate::testing::credentials_of_three;

const CLUSTER: [u8; 16] = [9; 16];

/// Channel 0, whose messages may have a kilobyte.
fn channel() -> Channel {
    Channel { number: ChannelNumber::ZERO, message_bytes_max: |_, _| 1024, request_bytes_max: 0 }
}

/// A switchboard of member 1, and the far ends of the connections that it was given.
struct World {
    switchboard: PeerConnections,
    listener: TcpListener,
    far: Vec<TcpStream>,
}

impl World {
    fn new() -> Self {
        let credentials = Arc::new(credentials_of_three(|_| Ipv4Addr::LOCALHOST, None));
        let (poll, waker) = PeerConnections::poll().expect("a poll");
        let means = Means {
            credentials: Arc::clone(&credentials),
            source: None,
            established: Arc::new(node_threads::Mailbox::new(Arc::clone(&waker))),
            supervisor: Arc::new(Supervisor::default()),
        };
        let switchboard =
            PeerConnections::new(credentials, (poll, waker), Diallers::new(means), &[channel()])
                .expect("made");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        Self { switchboard, listener, far: Vec::new() }
    }

    fn take(&mut self, hello: Hello, proved: bool, now_ms: u64) {
        let far = TcpStream::connect(self.listener.local_addr().expect("bound")).expect("connected");
        self.far.push(far);
        let (stream, _) = self.listener.accept().expect("accepted");
        let attempt = hello.attempt;
        let established =
            Established { stream, encryption: None, hello, seated: false, proved, dialled: false, attempt };
        self.switchboard.take(established, MonoTime::of_ms(now_ms));
    }

    fn take_both(&mut self, hello: Hello, proved: bool, now_ms: u64) {
        for lane in [LaneName::Control, LaneName::Bulk] {
            self.take(Hello { lane, ..hello }, proved, now_ms);
        }
    }

    /// The pair with member 2.
    fn pair(&self) -> Option<&Pair<Lane>> {
        self.switchboard.pairs.iter().find(|pair| pair.reference().number == PeerNumber(2))
    }

    /// The life of member 2 with which it is connected.
    fn life(&self) -> Option<u64> {
        self.pair().filter(|pair| pair.is_up()).map(Pair::process)
    }
}

fn hello(life: u64) -> Hello {
    let seat = Some((MemberId(2), CLUSTER));
    let (number, wanted) = (ClaimedNumber(2), ClaimedNumber(1));
    let numbering = Numbering::OneByte;
    Hello {
        numbering,
        group: GroupNumber::FIRST,
        lane: LaneName::Control,
        attempt: 4,
        number,
        seat,
        life,
        wanted,
        level: 1,
    }
}

#[test]
fn claim_of_a_later_life_replaces_a_pair_only_once_that_is_quiet() {
    let mut world = World::new();
    world.take_both(hello(5), false, 0);
    for now_ms in [1, YOUTH_MS, QUIET_MS] {
        world.take_both(hello(u64::MAX), false, now_ms);
        assert_eq!(world.life(), Some(5), "{now_ms}");
    }
    world.take_both(hello(6), false, QUIET_MS + 1);
    assert_eq!(world.life(), Some(6));
}

#[test]
fn proof_of_a_later_life_replaces_a_pair_at_once_and_an_earlier_one_never() {
    let mut world = World::new();
    world.take_both(hello(5), true, 0);
    world.take_both(hello(6), true, 1);
    assert_eq!(world.life(), Some(6));
    world.take_both(hello(5), true, QUIET_MS + 1);
    assert_eq!(world.life(), Some(6));
}

#[test]
fn earlier_process_is_told_why_while_a_later_one_is_connected() {
    let mut world = World::new();
    world.take_both(hello(6), true, 0);
    let judge = |world: &World, life| world.switchboard.credentials.connected.judge(PeerNumber(2), life);
    let why = judge(&world, 5).expect_err("it started earlier").to_string();
    assert!(why.contains("another machine that says that it is member 2 started later"), "{why}");
    assert_eq!((judge(&world, 6), judge(&world, 7)), (Ok(()), Ok(())));
    let pair = world.switchboard.pairs.pair_with(PeerNumber(2)).expect("it stands");
    world.switchboard.drop_pair(pair);
    assert_eq!(judge(&world, 5), Ok(()));
}

#[test]
fn pairs_dialled_at_once_are_settled_without_proof_while_they_are_young() {
    let mut world = World::new();
    world.take_both(hello(5), false, 0);
    world.take_both(Hello { attempt: 9, ..hello(5) }, false, YOUTH_MS - 1);
    assert_eq!(world.pair().map(Pair::attempt), Some(9));
    world.take_both(Hello { attempt: 10, ..hello(5) }, false, YOUTH_MS * 2);
    assert_eq!(world.pair().map(Pair::attempt), Some(9));
}

#[test]
fn connection_of_a_pair_comes_once_and_from_one_member() {
    let mut world = World::new();
    let other_disk = Hello { lane: LaneName::Bulk, seat: Some((MemberId(2 + 256), CLUSTER)), ..hello(5) };
    world.take(hello(5), true, 0);
    world.take(other_disk, true, 0);
    assert_eq!(world.life(), None, "the second is another's");
    world.take(Hello { lane: LaneName::Bulk, ..hello(5) }, true, 0);
    assert_eq!(world.life(), Some(5));
    world.take(hello(5), true, 0);
    let last = world.far.last_mut().expect("it connected");
    assert_eq!(io::Read::read(last, &mut [0]).expect("closed in order"), 0);
}

#[test]
fn connection_of_a_number_that_is_not_named_is_closed() {
    let mut world = World::new();
    let seven = Hello { number: ClaimedNumber(7), seat: Some((MemberId(7), CLUSTER)), ..hello(5) };
    world.take_both(seven, true, 0);
    assert_eq!(world.switchboard.pairs.iter().count(), 0);
}

#[test]
fn pair_of_which_a_message_is_refused_ends_and_nothing_behind_the_message_is_told() {
    let mut world = World::new();
    world.take_both(hello(5), true, 0);
    assert!(matches!(world.switchboard.next_news(), Some(News::Up(MemberId(2), 1))));
    for far in &mut world.far {
        let mut bytes = Vec::new();
        for message in [&b"\x01one"[..], b"\x02two", b"\x03three"] {
            frame::append_message(&mut bytes, ChannelNumber::ZERO, |out| out.extend_from_slice(message));
        }
        io::Write::write_all(far, &bytes).expect("written");
    }
    let mut told = Vec::new();
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !told.contains(&None) && std::time::Instant::now() < until {
        world.switchboard.turn(MonoTime::of_ms(1)).expect("polled");
        world.switchboard.sleep(Duration::from_millis(1), || false).expect("polled");
        while let Some(news) = world.switchboard.next_news() {
            match news {
                News::Message(message) => {
                    if message.bytes[..] == *b"\x02two" {
                        world.switchboard.refuse(message.pair, "it is no number");
                    }
                    told.push(Some(message.bytes));
                }
                News::Down(MemberId(2)) => told.push(None),
                other => panic!("{other:?}"),
            }
        }
    }
    let [said @ .., None] = &told[..] else { panic!("it has not ended: {told:?}") };
    let said: Vec<_> = said.iter().flatten().collect();
    assert_eq!(said.iter().filter(|message| message[..] == *b"\x02two").count(), 1, "{said:?}");
    assert!(said.last().is_some_and(|last| last[..] == *b"\x02two"), "{said:?}");
    assert_eq!(world.switchboard.pairs.iter().count(), 0);
}

#[test]
fn members_told_from_outside_lose_and_refuse_those_that_are_gone_or_outdated() {
    let mut world = World::new();
    let address =
        |number| MemberAddress { number: PeerNumber(number), host: Ipv4Addr::LOCALHOST.to_string(), port: 1 };
    let tell = |world: &mut World, numbers: &[u32], process| {
        let members = numbers.iter().map(|number| address(*number));
        let processes = numbers.iter().map(|number| (PeerNumber(*number), process)).collect();
        world.switchboard.set_members(Roster::new(members, 0), processes);
    };
    tell(&mut world, &[2, 9], 5);
    world.take_both(hello(5), true, 0);
    assert_eq!(world.switchboard.standing(PeerNumber(2)).map(|(_, process)| process), Some(5));
    tell(&mut world, &[2], 5);
    assert_eq!(world.life(), Some(5), "it is still the same");
    tell(&mut world, &[2], 6);
    assert_eq!(world.life(), None, "a later process is known to run");
    let judge = |world: &World, life| world.switchboard.credentials.connected.judge(PeerNumber(2), life);
    assert!(judge(&world, 5).is_err() && judge(&world, 6).is_ok());
    world.take_both(hello(6), true, 1);
    assert_eq!(world.life(), Some(6));
    let pair = world.switchboard.standing(PeerNumber(2)).expect("it stands").0;
    tell(&mut world, &[9], 5);
    assert_eq!((world.life(), world.switchboard.last_heard(pair)), (None, None));
}

#[test]
fn pair_that_is_held_is_not_read_and_not_silent() {
    let mut world = World::new();
    world.take_both(hello(5), true, 0);
    let pair = world.switchboard.standing(PeerNumber(2)).expect("it stands").0;
    for lane in [LaneName::Control, LaneName::Bulk] {
        world.switchboard.hold(pair, lane, true);
    }
    let mut message = Vec::new();
    frame::append_message(&mut message, ChannelNumber::ZERO, |out| out.push(7));
    io::Write::write_all(&mut world.far[0], &message).expect("written");
    let mut hear = |now_ms| {
        world.switchboard.turn(MonoTime::of_ms(now_ms)).expect("polled");
        std::iter::from_fn(|| world.switchboard.next_news())
            .filter(|news| matches!(news, News::Message(_)))
            .count()
    };
    for turn in 1..50 {
        assert_eq!(hear(turn * 1000), 0);
    }
    assert_eq!(world.switchboard.last_heard(pair), Some(MonoTime::of_ms(49_000)));
    world.switchboard.hold(pair, LaneName::Control, false);
    let mut heard = 0;
    while heard == 0 {
        world.switchboard.turn(MonoTime::of_ms(50_000)).expect("polled");
        while let Some(news) = world.switchboard.next_news() {
            heard += u32::from(matches!(news, News::Message(_)));
        }
    }
    assert_eq!(heard, 1);
}
