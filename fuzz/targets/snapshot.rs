//! Any bytes as a snapshot of the tree: they load or are refused, cut wherever they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tree::Tree;

fuzz_target!(|bytes: &[u8]| {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let mut loader = Tree::loader();
    for chunk in bytes.chunks(usize::from(*cut) + 1) {
        if loader.chunk(chunk).is_err() {
            return;
        }
    }
    let _ = loader.finish();
});
