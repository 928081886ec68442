//! A fault of servers beside a load: it begins at the load's first edge.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// Runs `load` here and `fault` beside it. The load gets a callback for when measuring begins; `fault` then gets that
/// time. If the load never gets that far, `fault` is not called. The second result is an error if it panicked.
pub fn beside<L, B: Send>(
    load: impl FnOnce(&mut dyn FnMut()) -> L,
    fault: impl FnOnce(Instant) -> B + Send,
) -> (L, io::Result<Option<B>>) {
    let (begin, begun) = mpsc::channel();
    thread::scope(|scope| {
        let beside = scope.spawn(move || begun.recv().ok().map(fault));
        let mut begin = Some(begin);
        let seen = load(&mut || {
            if let Some(begin) = begin.take() {
                // The receiver waits no longer than this load.
                let _ = begin.send(Instant::now());
            }
        });
        drop(begin);
        let outcome = beside.join().map_err(|_| io::Error::other("the fault of the servers panicked"));
        (seen, outcome)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_begins_with_measuring_or_never() {
        let before = Instant::now();
        let (load, outcome) = beside(
            |begun| {
                begun();
                begun();
                "measured"
            },
            |began| began >= before,
        );
        assert_eq!((load, outcome.unwrap()), ("measured", Some(true)));
        let (load, outcome) = beside(|_| "failed early", |_| "happened");
        assert_eq!((load, outcome.unwrap()), ("failed early", None));
        let (_, outcome) = beside(|begun| begun(), |_| panic!("on purpose"));
        assert!(outcome.is_err_and(|error| error.to_string().contains("panicked")));
    }
}
