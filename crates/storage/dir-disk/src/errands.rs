//! What need not be waited for: a thread that flushes files ahead of the flush that counts, and frees the room of files that
//! were removed.
//!
//! Freeing all of a large file at once can block the whole disk, if the file system reports it to the device: it is done by
//! and by. A file that somebody still reads ([`ReadingDisk`](crate::ReadingDisk) says so by a lock) keeps its content until
//! he has closed it.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much room of removed files is freed at once, and how often.
const FREE_BYTES: u64 = 1 << 20;
const FREE_PAUSE: Duration = Duration::from_millis(16);
/// How many removed files are held open at most until they are free. Others are freed by the system, at once.
const FREEING_MAX: usize = 128;

/// Something to be flushed.
pub(crate) trait Flush: Send + 'static {
    fn flush(&self);
}

#[derive(Debug)]
enum Errand<F> {
    /// Flush this ahead of the flush that counts, which learns of a failure from it.
    Flush(F),
    /// Free the room of this file, whose name is gone.
    Free(File),
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Errands<F: Flush> {
    queue: Option<Sender<Errand<F>>>,
    thread: Option<JoinHandle<()>>,
    /// How many removed files are open.
    freeing: Arc<AtomicUsize>,
}

impl<F: Flush> Errands<F> {
    pub(crate) fn start() -> io::Result<Self> {
        let (queue, errands) = channel();
        let freeing = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&freeing);
        let thread =
            std::thread::Builder::new().name("writeback".into()).spawn(move || run(&errands, &count))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), freeing })
    }

    pub(crate) fn flush(&self, file: F) {
        self.send(Errand::Flush(file));
    }

    /// Whether it is worth the while to hold a file of that length open when it is removed.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        bytes > FREE_BYTES && self.freeing.load(Ordering::Relaxed) < FREEING_MAX
    }

    /// The name of this file is gone.
    pub(crate) fn free(&self, file: File) {
        self.freeing.fetch_add(1, Ordering::Relaxed);
        self.send(Errand::Free(file));
    }

    fn send(&self, errand: Errand<F>) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(errand);
        }
    }
}

impl<F: Flush> Drop for Errands<F> {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run<F: Flush>(errands: &Receiver<Errand<F>>, freeing: &AtomicUsize) {
    let (mut gone, mut due) = (VecDeque::new(), Instant::now());
    loop {
        let errand = if gone.is_empty() {
            errands.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            errands.recv_timeout(due.saturating_duration_since(Instant::now()))
        };
        match errand {
            Ok(Errand::Flush(file)) => file.flush(),
            Ok(Errand::Free(file)) => gone.push_back(file),
            Err(RecvTimeoutError::Timeout) => {}
            // What is left is freed when it is closed.
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if due <= Instant::now() {
            due = Instant::now() + FREE_PAUSE;
            if let Some(file) = gone.pop_front() {
                match free_some(&file) {
                    Freed::All => drop(freeing.fetch_sub(1, Ordering::Relaxed)),
                    Freed::Some => gone.push_front(file),
                    Freed::Nothing => gone.push_back(file),
                }
            }
        }
    }
}

enum Freed {
    /// There is no more, or it cannot be given back by and by.
    All,
    Some,
    /// Somebody reads it.
    Nothing,
}

fn free_some(file: &File) -> Freed {
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Freed::Nothing;
    }
    let left = file.metadata().ok().and_then(|metadata| metadata.len().checked_sub(FREE_BYTES));
    match left.map(|left| file.set_len(left)) {
        Some(Ok(())) => Freed::Some,
        _ => Freed::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Directory;
    use std::fs::OpenOptions;

    #[derive(Debug)]
    struct Nothing;

    impl Flush for Nothing {
        fn flush(&self) {}
    }

    #[test]
    fn removed_file_is_freed_by_and_by_but_not_while_it_is_read() {
        let directory = Directory::new("errands");
        let path = directory.write("large", vec![7; 3 << 20]);
        let open = || OpenOptions::new().read(true).write(true).open(&path).expect("it is there");
        let (reader, held, watched) = (open(), open(), open());
        reader.try_lock_shared().expect("nobody has it");
        let errands = Errands::<Nothing>::start().expect("a thread");
        assert!(errands.takes(3 << 20) && !errands.takes(1 << 20));
        errands.free(held);
        let length = || watched.metadata().expect("it is open").len();
        let deadline = Instant::now() + Duration::from_secs(20);
        // The pauses go by while others have errands.
        for _ in 0..50 {
            errands.flush(Nothing);
            std::thread::yield_now();
        }
        assert_eq!(length(), 3 << 20);
        drop(reader);
        while length() >= FREE_BYTES && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(length() < FREE_BYTES, "{}", length());
    }
}
