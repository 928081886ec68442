//! Bytes on disk of a write of 1 KiB.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use council_client::load::{Mix, Pace, prepare};
use tools_process::meter;

use super::{Row, at_most};
use crate::bench::setting::NO_SNAPSHOTS;
use crate::bench::{Bench, Failure, Sheet, Spec};
use crate::measure::Stand;

pub(super) const DISK: Row = Row {
    name: "disk",
    about: "durable setData of 1 KiB, 20 connections × 50 outstanding: what the log grows by, without snapshots",
    floor: None,
    figures: &[
        Spec::held("log", "KiB/write", at_most(1.2), at_most(1.1)),
        Spec::told("written to the device", "KiB/write"),
    ],
    servers: 1,
    large: false,
    run,
};

fn run(bench: &Bench, sheet: &mut Sheet) -> Result<(), Failure> {
    sheet.notes.push("what is preallocated, zeros behind the last other byte, does not count".into());
    bench.in_turn(&mut bench.servers(), |who| {
        let server = bench.fresh(*who, &NO_SNAPSHOTS)?;
        let pid = server.pid();
        prepare(server.address(), bench.few_kib())?;
        let server = Stand::from(server);
        let load = bench.load(&server, 20, Pace::Closed { outstanding: 50 }, Mix::WRITES);
        let data = bench.folder(*who).join("data");
        let (size, written) = (content_bytes(&data)?, meter::written_bytes(pid)?);
        let duration = bench.scale().measure * 2;
        let measured = council_client::load::run(&load, Duration::ZERO, duration, || {})?;
        let writes = (measured.operations + measured.drained) as f64;
        sheet.add("log", *who, (content_bytes(&data)? - size) as f64 / 1024.0 / writes);
        let written = meter::written_bytes(pid)? - written;
        sheet.add("written to the device", *who, written as f64 / 1024.0 / writes);
        Ok(())
    })
}

/// Bytes of a folder's files up to the last of each that is not zero. A server may rename or purge a
/// file between its listing and its opening: the whole count is then taken again.
fn content_bytes(folder: &Path) -> io::Result<u64> {
    loop {
        match content_bytes_once(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => {}
            counted => return counted,
        }
    }
}

fn content_bytes_once(folder: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            total += content_bytes_once(&entry.path())?;
        } else {
            total += content_end(&File::open(entry.path())?)?;
        }
    }
    Ok(total)
}

/// Where the zeros at the end of a file begin.
fn content_end(file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut buffer = vec![0; 1 << 20];
    while end > 0 {
        let from = end.saturating_sub(buffer.len() as u64);
        let chunk = &mut buffer[..(end - from) as usize];
        file.read_exact_at(chunk, from)?;
        if let Some(last) = chunk.iter().rposition(|byte| *byte != 0) {
            return Ok(from + last as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_do_not_count() {
        let folder = std::env::temp_dir().join(format!("content-{}", std::process::id()));
        fs::create_dir_all(folder.join("inner")).unwrap();
        let mut content = vec![0; 3 << 20];
        content[1_500_000] = 1;
        fs::write(folder.join("inner/padded"), content).unwrap();
        fs::write(folder.join("empty"), []).unwrap();
        fs::write(folder.join("zeros"), [0; 100]).unwrap();
        assert_eq!(content_bytes(&folder).unwrap(), 1_500_001);
        fs::remove_dir_all(folder).unwrap();
    }
}
