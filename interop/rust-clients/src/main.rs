//! The interop suites of two Rust clients: `blocking` drives the crate `zookeeper`, `futures` the
//! crate `zookeeper-client`. `harness` and `proxy` know nothing of either.

mod blocking;
mod futures;
mod harness;
mod proxy;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, path] = words.as_slice()
        && verb == "held"
    {
        return futures::held(path);
    }
    let mut tests = blocking::tests();
    tests.extend(futures::tests());
    std::process::exit(harness::run(&tests, &words));
}
