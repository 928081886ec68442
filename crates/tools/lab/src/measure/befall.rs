//! Something that befalls servers while a load runs: begun at the load's first edge, ended with it.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// Runs `load` here and `befall` beside it. The load is given what it calls once measuring begins; `befall` is then told
/// when that was. If the load never comes that far, nothing befalls. The second result is an error if `befall` panicked.
pub fn beside<L, B: Send>(
    load: impl FnOnce(&mut dyn FnMut()) -> L,
    befall: impl FnOnce(Instant) -> B + Send,
) -> (L, io::Result<Option<B>>) {
    let (begin, begun) = mpsc::channel();
    thread::scope(|scope| {
        let beside = scope.spawn(move || begun.recv().ok().map(befall));
        let mut begin = Some(begin);
        let seen = load(&mut || {
            if let Some(begin) = begin.take() {
                // Whoever waits for it waits no longer than this load.
                let _ = begin.send(Instant::now());
            }
        });
        drop(begin);
        let befell = beside.join().map_err(|_| io::Error::other("what was to befall the servers panicked"));
        (seen, befell)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_befalls_begins_with_measuring_or_never() {
        let before = Instant::now();
        let (load, befell) = beside(
            |begun| {
                begun();
                begun();
                "measured"
            },
            |began| began >= before,
        );
        assert_eq!((load, befell.unwrap()), ("measured", Some(true)));
        let (load, befell) = beside(|_| "failed early", |_| "befell");
        assert_eq!((load, befell.unwrap()), ("failed early", None));
        let (_, befell) = beside(|begun| begun(), |_| panic!("on purpose"));
        assert!(befell.is_err_and(|error| error.to_string().contains("panicked")));
    }
}
