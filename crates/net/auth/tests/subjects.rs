//! Subjects of real certificates, as Java writes them, and of the same certificates cut and changed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use net_auth::certificate_subject;

/// Each certificate in DER form, with its subject.
fn certificates() -> Vec<(&'static str, Vec<u8>)> {
    let text = include_str!("golden/subjects.txt");
    let blocks = text.split("\nsubject ").skip(1);
    blocks
        .map(|block| {
            let (subject, pem) = block.split_once('\n').expect("a certificate below its subject");
            let lines = pem.lines().filter(|line| !line.starts_with("-----"));
            (subject, STANDARD.decode(lines.collect::<String>()).expect("base64"))
        })
        .collect()
}

#[test]
fn subjects_are_those_that_java_writes() {
    assert!(certificates().len() > 5);
    for (subject, der) in certificates() {
        assert_eq!(certificate_subject(&der).as_deref(), Some(subject));
    }
}

#[test]
fn certificates_cut_or_changed_anywhere_are_read_without_panic() {
    for (_, der) in certificates() {
        for at in 0..der.len() {
            assert_eq!(certificate_subject(&der[..at]), None);
            for change in [1, 0x20, 0x7f, 0x80, 0xff] {
                let mut changed = der.clone();
                changed[at] ^= change;
                assert!(certificate_subject(&changed).unwrap_or_default().len() <= 4 * der.len());
            }
        }
    }
}
