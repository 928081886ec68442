//! Strangers at the port between members when descriptors run short.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsRawFd as _;

use super::*;
use crate::connections::PeerConnections;
use crate::secret::EnsembleSecret;
use crate::testing::credentials_of_three;

/// What of so many connections of strangers is still open when all have been answered.
fn open_after(connections: usize, limit_of: impl Fn(u64) -> u64) -> usize {
    // All that comes from this machine comes from strangers.
    let host = |number| Ipv4Addr::new(192, 0, 2, number);
    let credentials = credentials_of_three(host, EnsembleSecret::new(&[7; 32]));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let at = listener.local_addr().expect("bound");
    let (_poll, waker) = PeerConnections::poll().expect("a poll");
    let core = Arc::new(Mailbox::new(waker));
    let lowest = std::fs::File::open("/dev/null").expect("opened");
    let limit = limit_of(u64::try_from(lowest.as_raw_fd()).expect("a number"));
    drop(lowest);
    let descriptors = Descriptors::new(limit, 2);
    let (acceptor, waker) =
        Acceptor::new(listener, Arc::new(credentials), core, descriptors).expect("a door");
    let thread = std::thread::spawn(move || acceptor.run());
    let mut streams: Vec<_> = (0..connections).map(|_| TcpStream::connect(at).expect("connected")).collect();
    // What is no greeting is answered at once wherever the address is let in.
    let answered = streams.iter_mut().filter_map(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        let _ = std::io::Write::write_all(stream, b"GET / HTTP/1.1\r\n");
        stream.read(&mut [0]).ok().filter(|length| *length > 0)
    });
    let answered = answered.count();
    waker.wake().expect("woken");
    thread.join().expect("it ended").expect("it polled");
    answered
}

#[test]
fn stranger_is_not_listened_to_where_its_descriptor_lies_in_the_reserve() {
    assert_eq!(open_after(3, |_| u64::MAX), 3);
    assert_eq!(open_after(3, |lowest| lowest), 0);
}
