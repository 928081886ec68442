//! `/zookeeper/config` is in the form that ZooKeeper's own parser reads, with two ports for each member, whatever form
//! the members were named in.

use base::MemberId;
use council_tree::Roster;
use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::load::SUPER;

use crate::three::{Nodes, leader, node, pass, three};

fn text(nodes: &mut Nodes, number: u64) -> String {
    let bytes =
        node(nodes, number).tree().node("/zookeeper/config").and_then(|node| node.data().map(<[u8]>::to_vec));
    String::from_utf8(bytes.expect("there is that node")).expect("text")
}

/// Each member's ports, in the order of their numbers.
fn ports(nodes: &mut Nodes, number: u64) -> Vec<(u16, u16)> {
    let text = text(nodes, number);
    let roster = Roster::parse(text.as_bytes()).expect("members");
    assert_eq!(roster.text(), text, "no text but the one that the members give");
    roster.members().map(|member| (member.peer_port, member.election_port)).collect()
}

fn operator(nodes: &mut Nodes, led: u64) -> Client {
    let mut operator = Client::connect(node(nodes, led), 20_000);
    pass(nodes, 50, |_, _| true);
    operator.ask(node(nodes, led), OpCode::Auth, |writer| {
        writer.i32(0).text("digest").buffer(Some(SUPER.as_bytes()));
    });
    operator
}

/// Gives the error code of the answer.
fn reconfig(
    nodes: &mut Nodes,
    led: u64,
    by: &mut Client,
    joining: Option<&str>,
    members: Option<&str>,
) -> i32 {
    let asked = by.ask(node(nodes, led), OpCode::Reconfig, |writer| {
        writer.string(joining).string(None).string(members).i64(-1);
    });
    pass(nodes, 300, |_, _| true);
    let replies = by.replies(node(nodes, led));
    replies.iter().find(|reply| reply.xid == asked).expect("an answer").err
}

#[test]
fn published_members_have_two_ports_however_they_were_named() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    // The members' own configuration names one port each.
    assert_eq!(ports(&mut nodes, led), [(1, 1001); 3]);

    let mut by = operator(&mut nodes, led);
    assert_eq!(reconfig(&mut nodes, led, &mut by, Some("server.4=d:7:observer;2181"), None), 0);
    assert!(text(&mut nodes, led).contains("server.4=d:7:1007:observer;0.0.0.0:2181"));
    let all: Vec<_> = (1..=3).map(|number| format!("server.{number}=member{number}:1")).collect();
    assert_eq!(reconfig(&mut nodes, led, &mut by, None, Some(&all.join(","))), 0);
    assert_eq!(ports(&mut nodes, led), [(1, 1001); 3]);
    // ZooKeeper's parser could not read these.
    for joining in ["server.4=d:7;port", "server.4=d d:7"] {
        assert_eq!(
            reconfig(&mut nodes, led, &mut by, Some(joining), None),
            council_wire::ErrorCode::BadArguments.code()
        );
    }
    for number in 1..=3 {
        assert_eq!(text(&mut nodes, number), text(&mut nodes, led), "the same at each member");
    }
}

#[test]
fn published_text_of_an_older_build_is_mended_by_the_next_leader_which_takes_changes_afterwards() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    let mut by = operator(&mut nodes, led);
    let version = node(&mut nodes, led).tree().roster().expect("members").version;
    let older: String =
        (1..=3).map(|number| format!("server.{number}=member{number}:1:participant\n")).collect();
    let older = format!("{older}version={version:x}");
    by.set(node(&mut nodes, led), "/zookeeper/config", older.as_bytes());
    pass(&mut nodes, 300, |_, _| true);
    assert_eq!(text(&mut nodes, led), older);

    // The others elect a leader of their own.
    let apart = |from, to| from != led && to != led;
    let others: Vec<_> = (1..=3).filter(|number| *number != led).collect();
    others.iter().for_each(|other| node(&mut nodes, *other).link(MemberId(led), false));
    let next = leader(&mut nodes, |number| number != led, apart);
    pass(&mut nodes, 500, apart);
    assert_eq!(ports(&mut nodes, next), [(1, 1001); 3]);
    assert_eq!(node(&mut nodes, next).tree().roster().expect("members").version, version);
    let mut by = operator(&mut nodes, next);
    pass(&mut nodes, 500, apart);
    let asked = by.ask(node(&mut nodes, next), OpCode::Reconfig, |writer| {
        writer.string(Some("server.4=d:7:observer")).string(None).string(None).i64(version);
    });
    pass(&mut nodes, 500, apart);
    let replies = by.replies(node(&mut nodes, next));
    assert_eq!(replies.iter().find(|reply| reply.xid == asked).expect("an answer").err, 0);
    assert_eq!(ports(&mut nodes, next), [(1, 1001), (1, 1001), (1, 1001), (7, 1007)]);
}

#[test]
fn reconfig_without_permission_hears_noauth_where_a_majority_is_missing() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    let mut stranger = Client::connect(node(&mut nodes, led), 20_000);
    pass(&mut nodes, 50, |_, _| true);
    let absent = "server.1=a:1,server.7=g:1,server.8=h:1";
    let heard = reconfig(&mut nodes, led, &mut stranger, None, Some(absent));
    assert_eq!(heard, council_wire::ErrorCode::NoAuth.code());
    let mut by = operator(&mut nodes, led);
    let heard = reconfig(&mut nodes, led, &mut by, None, Some(absent));
    assert_eq!(heard, council_wire::ErrorCode::NewConfigNoQuorum.code());
}

/// Half of the members that are to vote are here: that is no majority.
#[test]
fn reconfig_to_twice_as_many_voters_as_are_here_is_refused() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    let mut by = operator(&mut nodes, led);
    let two_of_four = "server.1=a:1,server.2=b:1,server.7=g:1,server.8=h:1";
    let heard = reconfig(&mut nodes, led, &mut by, None, Some(two_of_four));
    assert_eq!(heard, council_wire::ErrorCode::NewConfigNoQuorum.code());
    let three_of_five = format!("server.3=c:1,{two_of_four}");
    assert_eq!(reconfig(&mut nodes, led, &mut by, None, Some(&three_of_five)), 0);
}

/// The engine forgets, at each look for a majority, who was active until it hears of them again.
#[test]
fn reconfig_is_taken_whenever_it_comes_between_two_words_of_the_others() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    let mut by = operator(&mut nodes, led);
    for round in 0..60 {
        pass(&mut nodes, 40, |_, to| to != led);
        let (joining, leaving) =
            if round % 2 == 0 { (Some("server.4=d:7:observer"), None) } else { (None, Some("4")) };
        let asked = by.ask(node(&mut nodes, led), OpCode::Reconfig, |writer| {
            writer.string(joining).string(leaving).string(None).i64(-1);
        });
        pass(&mut nodes, 5, |_, to| to != led);
        pass(&mut nodes, 300, |_, _| true);
        let replies = by.replies(node(&mut nodes, led));
        assert_eq!(replies.iter().find(|reply| reply.xid == asked).expect("an answer").err, 0, "{round}");
    }
}
