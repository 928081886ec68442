//! Any bytes on the disk: the journal opens or says why not, and what it opens can be opened again.
#![no_main]

use journal::{Journal, JournalConfig};
use libfuzzer_sys::fuzz_target;
use sim::disk::SimDisk;

fuzz_target!(|bytes: &[u8]| {
    let Some((damage, bytes)) = bytes.split_first() else { return };
    let config = JournalConfig {
        segment_bytes: 16 << 10,
        first_segment_bytes: 16 << 10,
        reserve_bytes: 1 << 10,
        ..JournalConfig::default()
    };
    let disk = SimDisk::new(1);
    drop(Journal::open(disk.clone(), config.clone()));
    let paths = disk.paths();
    if paths.is_empty() {
        return;
    }
    let path = &paths[usize::from(*damage) % paths.len()];
    let mut content = disk.content(path).unwrap_or_default();
    for place in bytes.chunks_exact(3) {
        let at = usize::from(u16::from_be_bytes([place[0], place[1]]));
        if let Some(byte) = content.get_mut(at) {
            *byte = place[2];
        }
    }
    disk.put(path, content);
    if Journal::open(disk.clone(), config.clone()).is_ok() {
        assert!(Journal::open(disk, config).is_ok(), "what was opened once cannot be opened again");
    }
});
