//! Batches that Kafka's own clients (4.3.1) wrote with each codec: their records must come out as those of the batch that is not
//! compressed.

use log_compression::{compress, decompress};
use log_wire::{Batch, Compression};

/// A name and the batch in hexadecimal digits, one a line.
const GOLDEN: &str = include_str!("golden/batches.txt");

fn batches() -> Vec<(&'static str, Vec<u8>)> {
    let digits = |text: &str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16);
        pairs.map(|pair| byte(pair).expect("digits")).collect()
    };
    let lines = GOLDEN.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, text)| (name, digits(text))).collect()
}

fn records(bytes: &[u8]) -> (Compression, Vec<u8>) {
    let (batch, rest) = Batch::read(bytes).expect("a batch");
    assert!(rest.is_empty() && batch.verify().is_ok());
    let compression = batch.attributes().compression().expect("it is known");
    let mut out = Vec::new();
    decompress(compression, batch.records(), 1 << 20, &mut out).expect("it can be decompressed");
    (compression, out)
}

#[test]
fn records_of_kafkas_clients_come_out_of_every_codec() {
    let batches = batches();
    let (_, plain) = records(&batches[0].1);
    let mut codecs = Vec::new();
    for (name, bytes) in &batches {
        let (compression, out) = records(bytes);
        assert!(out == plain, "{name}");
        codecs.push(compression);
    }
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        assert!(codecs.contains(&codec), "{codec:?}");
    }
}

#[test]
fn snappy_and_lz4_have_the_frames_of_kafkas_clients() {
    for (name, bytes) in batches().iter().filter(|(name, _)| matches!(*name, "snappy" | "lz4")) {
        let (compression, out) = records(bytes);
        let mut ours = Vec::new();
        compress(compression, None, &out, &mut ours);
        let theirs = Batch::read(bytes).expect("a batch").0.records();
        // What comes before the first block: for lz4 with its checksum.
        let head = if compression == Compression::Snappy { 16 } else { 7 };
        assert_eq!(ours[..head], theirs[..head], "{name}");
    }
}
