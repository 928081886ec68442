//! Sends a snapshot's file to a client, on a thread of its own: disks and clients may be slow, and edges and the core must not
//! wait for them.
//!
//! A few pieces are under way at a time, and the next one is read when one of them is on its way, so a client takes as much memory
//! as any other. The thread keeps to a rate, so that others have the disk and the network, too. A client that takes too little ends
//! its backup. The file stays whole while it is open, also if the journal removes it ([`ReadingDisk`]).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::LogIndex;
use net_http_server::{Bytes, RequestId, ShardMail};
use node_threads::{Supervisor, spawn};
use objects_edge::BackupMail;
use parking_lot::{Condvar, Mutex};
use storage_dir_disk::ReadingDisk;
use storage_raft_log::{Disk as _, LooseSnapshot};

use crate::to_edge::ToEdge;

/// Bytes of a piece, and how many are under way at a time: less than a stream may have waiting.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_MAX: usize = 3;
/// A client takes so many bytes ...
const STRETCH_BYTES: u64 = 1 << 20;
/// ... in this time, or its backup ends.
const STRETCH_MAX: Duration = Duration::from_secs(30);

/// Where an edge's backups are begun and ended.
pub(crate) struct Senders {
    data_dir: PathBuf,
    bytes_per_second: u64,
    mail: ShardMail<ToEdge>,
    supervisor: Arc<Supervisor>,
    under_way: BTreeMap<RequestId, Arc<Window>>,
}

/// How much is under way to a client.
#[derive(Default)]
struct Window {
    state: Mutex<Under>,
    changed: Condvar,
}

#[derive(Default)]
struct Under {
    pieces: usize,
    is_ended: bool,
}

/// A piece that is under way until it is dropped.
struct Piece {
    bytes: Vec<u8>,
    window: Arc<Window>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.window.state.lock().pieces -= 1;
        self.window.changed.notify_all();
    }
}

impl Window {
    /// Waits for room; false if there is none by then, or nobody reads any more.
    fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while state.pieces >= PIECES_MAX && !state.is_ended {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return false;
            }
        }
        !state.is_ended
    }

    /// Waits until then, or until nobody reads any more. Gives for how long.
    fn rest(&self, until: Instant) -> Duration {
        let began = Instant::now();
        let mut state = self.state.lock();
        while !state.is_ended && !self.changed.wait_until(&mut state, until).timed_out() {}
        began.elapsed()
    }

    fn is_ended(&self) -> bool {
        self.state.lock().is_ended
    }

    fn end(&self) {
        self.state.lock().is_ended = true;
        self.changed.notify_all();
    }
}

impl Senders {
    /// Of the member whose data lies there, for the edge that has this mailbox.
    pub(crate) fn new(
        data_dir: PathBuf,
        bytes_per_second: u64,
        mail: ShardMail<ToEdge>,
        supervisor: Arc<Supervisor>,
    ) -> Self {
        Self { data_dir, bytes_per_second, mail, supervisor, under_way: BTreeMap::new() }
    }

    /// Sends the snapshot whose last entry this is, or a newer one.
    pub(crate) fn begin(&mut self, id: RequestId, index: LogIndex) {
        let window = Arc::new(Window::default());
        self.under_way.insert(id, Arc::clone(&window));
        let (mail, data_dir, bytes_per_second) =
            (self.mail.clone(), self.data_dir.clone(), self.bytes_per_second);
        let thread = spawn("objects backup", &self.supervisor, move || {
            let tell = |what| mail.put(ToEdge::Backup(id, what));
            run(&data_dir, index, bytes_per_second, &window, &tell);
            Ok::<(), Infallible>(())
        });
        if let Err(error) = thread {
            let why = format!("the system refuses a thread: {error}");
            self.mail.put(ToEdge::Backup(id, BackupMail::Lost(why)));
        }
    }

    /// Nobody reads on, or all is sent.
    pub(crate) fn end(&mut self, id: RequestId) {
        if let Some(window) = self.under_way.remove(&id) {
            window.end();
        }
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        self.under_way.values().for_each(|window| window.end());
    }
}

fn run(
    data_dir: &Path,
    index: LogIndex,
    bytes_per_second: u64,
    window: &Arc<Window>,
    tell: &dyn Fn(BackupMail),
) {
    let (file, position) = match open(data_dir, index) {
        Ok(opened) => opened,
        Err(error) => return tell(BackupMail::Lost(format!("the snapshot cannot be read: {error}"))),
    };
    tell(BackupMail::Begins(position));
    match send(&file, bytes_per_second, window, tell) {
        Ok(true) => tell(BackupMail::Whole),
        Ok(false) if window.is_ended() => {}
        Ok(false) => {
            tracing::warn!(
                "a client reads its backup of the objects too slowly (less than {} KiB in {} s): it gets no more of it",
                STRETCH_BYTES >> 10,
                STRETCH_MAX.as_secs()
            );
            tell(BackupMail::GivenUp);
        }
        Err(error) => {
            tracing::error!(%error, "a snapshot of the objects cannot be read for a backup");
            tell(BackupMail::GivenUp);
        }
    }
}

/// The oldest snapshot that covers this entry: the one of that name, unless newer ones have taken its place. And its position.
fn open(data_dir: &Path, index: LogIndex) -> Result<(Arc<File>, u64), String> {
    let mut disk = ReadingDisk::new(data_dir, None);
    let names = disk.list("snapshot").map_err(|error| error.to_string())?;
    let covers = |name: &String| {
        let covered = u64::from_str_radix(name.strip_suffix(".snap")?, 16).ok()?;
        (covered >= index.0).then_some(covered)
    };
    let newest = names.iter().filter_map(covers).min().ok_or("it has gone")?;
    let path = format!("snapshot/{newest:016x}.snap");
    let file = disk.open(&path).map_err(|error| error.to_string())?;
    let file = file.into_file().ok_or("it has gone")?;
    let snapshot = LooseSnapshot::open(disk, &path).map_err(|error| error.to_string())?;
    Ok((file, snapshot.meta().position.cast_unsigned()))
}

/// Whether all of it was sent; otherwise its client is slow or has gone.
fn send(
    file: &File,
    bytes_per_second: u64,
    window: &Arc<Window>,
    tell: &dyn Fn(BackupMail),
) -> io::Result<bool> {
    let (length, began) = (file.metadata()?.len(), Instant::now());
    let mut sent = 0;
    let mut stretch_began = began;
    while sent < length {
        if sent % STRETCH_BYTES == 0 {
            stretch_began = Instant::now();
        }
        if !window.wait(stretch_began + STRETCH_MAX) {
            return Ok(false);
        }
        let left = usize::try_from(length - sent).unwrap_or(PIECE_BYTES);
        let mut bytes = vec![0; left.min(PIECE_BYTES)];
        file.read_exact_at(&mut bytes, sent)?;
        sent += bytes.len() as u64;
        window.state.lock().pieces += 1;
        tell(BackupMail::Piece(Bytes::from_owner(Piece { bytes, window: Arc::clone(window) })));
        // What keeps to the rate is no time of the client's.
        let due = began + Duration::from_secs_f64(sent as f64 / bytes_per_second.max(1) as f64);
        stretch_began += window.rest(due);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;

    use super::*;

    /// Sends a file of so many bytes to a client that takes each piece like this.
    fn sent(bytes: u64, take: impl Fn(&Arc<Window>, Bytes)) -> (io::Result<bool>, u64) {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(bytes).expect("room");
        let (window, seen) = (Arc::new(Window::default()), StdMutex::new(0));
        let done = send(&file, u64::MAX, &window, &|mail| {
            if let BackupMail::Piece(piece) = mail {
                *seen.lock().expect("a number") += piece.len() as u64;
                take(&window, piece);
            }
        });
        (done, seen.into_inner().expect("a number"))
    }

    #[test]
    fn file_is_sent_whole_to_a_client_that_takes_it() {
        for bytes in [0, 1, PIECE_BYTES as u64, 5 * PIECE_BYTES as u64 + 7] {
            let (done, seen) = sent(bytes, |window, piece| {
                assert!(window.state.lock().pieces <= PIECES_MAX);
                drop(piece);
            });
            assert_eq!((done.expect("it is read"), seen), (true, bytes));
        }
    }

    #[test]
    fn client_that_has_gone_is_sent_no_more_than_what_is_under_way() {
        let kept = StdMutex::new(Vec::new());
        let (done, seen) = sent(9 << 20, |window, piece| {
            let mut kept = kept.lock().expect("pieces");
            kept.push(piece);
            if kept.len() == PIECES_MAX {
                window.end();
            }
        });
        assert_eq!((done.expect("it is read"), seen), (false, (PIECES_MAX * PIECE_BYTES) as u64));
    }

    #[test]
    fn client_that_takes_nothing_is_given_up() {
        let window = Arc::new(Window::default());
        window.state.lock().pieces = PIECES_MAX;
        assert!(!window.wait(Instant::now()) && !window.is_ended());
        window.state.lock().pieces = PIECES_MAX - 1;
        assert!(window.wait(Instant::now()));
    }

    #[test]
    fn thread_that_keeps_to_a_rate_ends_with_its_client() {
        let window = Window::default();
        assert!(window.rest(Instant::now() + Duration::from_millis(20)) >= Duration::from_millis(20));
        window.end();
        assert!(window.rest(Instant::now() + Duration::from_secs(600)) < Duration::from_secs(60));
    }
}
