//! Clients that go from one member to another.

use sim_council::client::Client;

use crate::three::{leader, node, pass, three};

/// A member without clients is told only now and then what is committed. That sends nobody away who comes from another.
#[test]
fn client_that_comes_to_a_member_that_lags_is_served_once_that_has_caught_up() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 2_000, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    let mut lagged = 0;
    for turn in 0..20 {
        let (from, to) = if turn % 2 == 0 { (led, late) } else { (late, led) };
        client.create(node(&mut nodes, from), &format!("/{turn}"), b"", 0);
        let answered = (0..20).any(|_| {
            pass(&mut nodes, 10, |_, _| true);
            !client.replies(node(&mut nodes, from)).is_empty()
        });
        assert!(answered);
        lagged += u32::from(node(&mut nodes, to).tree().last_zxid().0 < client.last_zxid);
        client.reconnect(node(&mut nodes, to), 30_000);
        pass(&mut nodes, 150, |_, _| true);
        assert_eq!(client.replies(node(&mut nodes, to)), []);
        assert!(client.is_connected(), "turn {turn}");
        // Long enough for the other to have no client and to have asked for nothing lately.
        pass(&mut nodes, 1_500, |_, _| true);
    }
    assert!(lagged > 0, "the other never lagged");
}
