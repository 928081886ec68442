//! What the front allocates: nothing for a read once warm, little for an idle connection, and never what a peer
//! merely claims.

mod support;

use net_event_loop::ConnId;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use council_frontend::{FromCore, Front, FrontConfig, ToCore};
use council_wire::{ConnectRequest, OpCode, SessionId};
use support::{House, peer, wire};

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The other two are of the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches atomics only.
#[expect(unsafe_code, reason = "counting allocations needs an allocator, whose trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of the same method of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

fn house() -> House {
    let config = FrontConfig { connections_per_ip_max: 0, ..FrontConfig::default() };
    House::new(&config, 1)
}

/// What a driver does with a connection's bytes, without a copy of its own.
fn serve(house: &mut House, conn: ConnId, bytes: &[u8]) -> usize {
    let front = &mut house.fronts[0];
    assert_eq!(front.receive(conn, bytes, &house.core.tree, house.now), bytes.len());
    front.dirty().for_each(drop);
    let pending = front.unsent(conn);
    front.sent(conn, pending);
    assert_eq!(front.events().count(), 0);
    pending
}

#[test]
fn a_read_allocates_nothing_once_warm() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut house = house();
    house.connect("a");
    house.ask("a", OpCode::Create, &wire::create("/a", Some(&[7; 1024]), &[council_wire::Acl::open()], 0));
    house.ask("a", OpCode::Create, &wire::create("/a/child", None, &[council_wire::Acl::world(1)], 0));
    let conn = house.clients["a"].conn.unwrap();
    let mut batch = Vec::new();
    for xid in 1..50 {
        for (opcode, path) in [
            (OpCode::GetData, "/a"),
            (OpCode::Exists, "/a/child"),
            (OpCode::GetChildren2, "/a"),
            (OpCode::GetChildren, "/"),
            (OpCode::GetData, "/missing"),
        ] {
            batch.extend(wire::request(xid, opcode.code(), &wire::read(path, false)));
        }
        batch.extend(wire::request(
            xid,
            OpCode::GetAcl.code(),
            &wire::body(|writer| {
                writer.text("/a");
            }),
        ));
        batch.extend(wire::request(-2, OpCode::Ping.code(), &[]));
    }
    let expected = serve(&mut house, conn, &batch);
    serve(&mut house, conn, &batch);
    let before = COUNT.get();
    for _ in 0..100 {
        assert_eq!(serve(&mut house, conn, &batch), expected);
    }
    assert_eq!(COUNT.get() - before, 0);
    // A value of 1 KiB with its length, a Stat and a header; the smallest is a ping's.
    let sizes = house.fronts[0].stats().responses;
    assert_eq!((sizes.max, sizes.min), (16 + 4 + 1024 + 68, 16));
}

/// Opens a session on a front alone, without the house's own memory.
fn open(front: &mut Front, house: &House, session: i64) -> ConnId {
    let conn = front.accept(peer(), house.now);
    let request = ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout_ms: 10_000,
        session_id: 0,
        password: Some(&[0; 16]),
        read_only: Some(false),
    };
    front.receive(conn, &wire::connect(&request), &house.core.tree, house.now);
    assert!(matches!(front.to_core().drain(..).next(), Some(ToCore::Connect { .. })));
    let session = SessionId(session);
    let password = [1; 16];
    let item =
        FromCore::Connected { conn, session, generation: 1, timeout_ms: 10_000, password, read_only: false };
    front.deliver(&item, &house.core.tree, house.now);
    front.dirty().for_each(drop);
    front.sent(conn, front.unsent(conn));
    front.events().for_each(drop);
    conn
}

#[test]
fn an_idle_connection_costs_less_than_500_bytes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const CONNECTIONS: usize = 10_000;
    let mut house = house();
    let config = FrontConfig { connections_per_ip_max: 0, ..FrontConfig::default() };
    let mut front = Front::new(config, 0);
    let before = live();
    for session in 0..CONNECTIONS {
        let conn = open(&mut front, &house, 1 + session as i64);
        // Each has done something: it has written, and read with a watch that has fired.
        let mut bytes = wire::request(
            1,
            OpCode::Sync.code(),
            &wire::body(|writer| {
                writer.text("/");
            }),
        );
        bytes.extend(wire::request(-2, OpCode::Ping.code(), &[]));
        front.receive(conn, &bytes, &house.core.tree, house.now);
        let Some(ToCore::Read { session, xid, opcode, body, identities, policy, .. }) = front.to_core().pop()
        else {
            panic!("a sync goes to the core");
        };
        let asker = council_frontend::Asker { session, identities: identities.identities(), policy };
        let reply = council_frontend::read::evaluate(&house.core.tree, opcode, xid, &body, asker);
        front.deliver(&FromCore::ReadDone { conn, xid, reply }, &house.core.tree, house.now);
        front.dirty().for_each(drop);
        let pending = front.unsent(conn);
        assert_eq!(pending, 4 + 16 + 5 + 4 + 16);
        front.sent(conn, pending);
    }
    house.now.mono_us += 100_000_000;
    front.tick(house.now);
    let each = (live() - before) / CONNECTIONS;
    assert!(each < 500, "{each} bytes");
}

#[test]
fn a_length_alone_makes_nobody_allocate() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut house = house();
    house.connect("a");
    let conn = house.clients["a"].conn.unwrap();
    let before = live();
    PEAK.store(before, Ordering::Relaxed);
    let claims: [&[u8]; 4] = [&[0x7f; 4], &[0xff; 4], &[0, 0x0f, 0xff, 0xff], &[0; 4]];
    for (xid, (opcode, claim)) in
        OpCode::ALL.iter().flat_map(|opcode| claims.iter().map(move |claim| (opcode, claim))).enumerate()
    {
        let mut body = Vec::with_capacity(64);
        for filler in [0, 4, 8] {
            body.clear();
            body.resize(filler, 0);
            body.extend_from_slice(claim);
            body.extend_from_slice(&[0xff; 8]);
            let bytes = wire::request(xid as i32, opcode.code(), &body);
            house.fronts[0].receive(conn, &bytes, &house.core.tree, house.now);
        }
    }
    let grown = PEAK.load(Ordering::Relaxed) - before;
    assert!(grown < 256 << 10, "{grown} bytes");
}
