//! The format of files beside Java's own reader.

use log_config::properties;

use crate::golden;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).expect("it is ASCII"), 16);
    hexadecimal.as_bytes().chunks(2).map(|digits| pair(digits).expect("they are digits")).collect()
}

fn text(hexadecimal: &str) -> String {
    String::from_utf8(bytes(hexadecimal)).expect("it is text")
}

#[test]
fn files_are_read_as_java_reads_them() {
    let files = golden("properties.tsv");
    assert!(files.len() > 500);
    for file in files {
        let [input, expected] = &file[..] else { panic!("{file:?}") };
        let read = properties::read(&bytes(input));
        if expected == "refused" {
            assert!(read.is_err(), "{input}");
            continue;
        }
        let pairs = expected.split(' ').filter(|pair| *pair != "-");
        let expected: Vec<(String, String)> = pairs
            .map(|pair| pair.split_once('=').expect("it is a pair"))
            .map(|(key, value)| (text(key), text(value)))
            .collect();
        let read = read.unwrap_or_else(|bad| panic!("{input}: {bad:?}"));
        let read: Vec<_> = read.into_iter().map(|property| (property.key, property.value)).collect();
        assert_eq!(read, expected, "{input}");
    }
}
