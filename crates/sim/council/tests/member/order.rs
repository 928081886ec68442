//! The order of one connection: replies as asked, each read right behind the write before it.

use council_wire::xid;
use sim_council::disk::SimDisk;
use sim_council::node::{STEPS, Step};
use sim_council::random::{Random, seeds};

use crate::{answers, client, data, start};

#[test]
fn a_pipelined_read_sees_the_write_before_it_and_not_the_one_behind_it() {
    let mut node = start(&SimDisk::new(1));
    let mut client = client(&mut node);
    client.create(&mut node, "/n", b"0", 0);
    client.get(&mut node, "/n", false);
    client.set(&mut node, "/n", b"1");
    client.get(&mut node, "/n", false);
    client.set(&mut node, "/n", b"2");
    let replies = answers(&mut node, &mut client);
    assert_eq!(replies.iter().map(|reply| reply.xid).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(data(&replies[1]), Ok(Some(b"0".to_vec())));
    assert_eq!(data(&replies[3]), Ok(Some(b"1".to_vec())));
    assert!(replies.is_sorted_by_key(|reply| reply.zxid));
}

#[test]
fn a_watch_left_by_a_waiting_read_fires_for_the_next_write_and_before_its_reply() {
    let mut node = start(&SimDisk::new(1));
    let mut client = client(&mut node);
    client.create(&mut node, "/n", b"0", 0);
    client.get(&mut node, "/n", true);
    client.set(&mut node, "/n", b"1");
    client.set(&mut node, "/n", b"2");
    let replies = answers(&mut node, &mut client);
    assert_eq!(replies.iter().map(|reply| reply.xid).collect::<Vec<_>>(), [1, 2, xid::NOTIFICATION, 3, 4]);
    assert_eq!(replies[2].zxid, replies[3].zxid, "an event carries the zxid of its change");
}

#[test]
fn nothing_overtakes_whatever_the_order_of_steps() {
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let mut node = start(&SimDisk::new(seed));
        let mut client = client(&mut node);
        client.create(&mut node, "/n", b"start", 0);
        let mut expected = vec![(1, None)];
        let mut value = String::from("start");
        let mut replies = Vec::new();
        for number in 0..60 {
            match random.below(3) {
                0 => {
                    value = format!("v{number}");
                    expected.push((client.set(&mut node, "/n", value.as_bytes()), None));
                }
                1 => expected.push((client.get(&mut node, "/n", false), Some(value.clone()))),
                _ => {
                    let step: Step = STEPS[random.below(STEPS.len() as u64) as usize];
                    node.step(step).unwrap();
                    replies.extend(client.replies(&mut node));
                }
            }
        }
        replies.extend(answers(&mut node, &mut client));
        assert_eq!(replies.len(), expected.len(), "seed {seed}");
        for (reply, (xid, value)) in replies.iter().zip(&expected) {
            assert_eq!(reply.xid, *xid, "seed {seed}");
            if let Some(value) = value {
                assert_eq!(data(reply), Ok(Some(value.clone().into_bytes())), "seed {seed} xid {xid}");
            }
        }
        assert!(replies.is_sorted_by_key(|reply| reply.zxid), "seed {seed}");
    }
}
