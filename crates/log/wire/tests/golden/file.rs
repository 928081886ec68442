//! The files: `version N`, then `request` and `response` with a frame in hexadecimal, without its length. Indented lines say the
//! same for people.

use std::fs;
use std::path::Path;

use log_wire::{Api, RequestHeader};

/// A request and its reply.
pub(crate) struct Dialogue {
    pub(crate) api: &'static Api,
    pub(crate) version: i16,
    /// The whole request, with its header.
    pub(crate) request: Vec<u8>,
    /// How long that header is.
    pub(crate) header: usize,
    /// The body of the reply.
    pub(crate) response: Vec<u8>,
}

impl Dialogue {
    /// The body of the request.
    pub(crate) fn asked(&self) -> &[u8] {
        &self.request[self.header..]
    }

    pub(crate) fn is_flexible(&self) -> bool {
        self.api.is_flexible(self.version)
    }

    /// For messages of assertions.
    pub(crate) fn name(&self) -> String {
        format!("{:?} v{}", self.api.key, self.version)
    }
}

/// All of them.
pub(crate) fn dialogues() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("golden");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it is listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files.iter().flat_map(|file| read(&fs::read_to_string(file).expect("it is text"))).collect()
}

fn read(text: &str) -> Vec<Dialogue> {
    let (mut requests, mut all) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(hex) = line.strip_prefix("request ") {
            requests.push(bytes(hex));
        } else if let Some(hex) = line.strip_prefix("response ") {
            all.push(dialogue(requests.pop().expect("a request stands before its reply"), &bytes(hex)));
        }
    }
    all
}

fn dialogue(request: Vec<u8>, response: &[u8]) -> Dialogue {
    let (header, api, body) = RequestHeader::read(&request).expect("a header");
    let (api, version, rest) = (api.expect("a known API"), header.version, body.rest().len());
    assert_eq!(response[..4], header.correlation_id.to_be_bytes(), "the reply to this request");
    let before = if api.has_flexible_response_header(version) { 5 } else { 4 };
    let length = request.len() - rest;
    Dialogue { api, version, request, header: length, response: response[before..].to_vec() }
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2).map(|pair| std::str::from_utf8(pair).expect("it is ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("it is hexadecimal")).collect()
}

#[test]
fn golden_requests_have_headers_that_are_refused_when_they_are_cut() {
    for dialogue in dialogues() {
        for cut in 0..dialogue.header {
            let whole = RequestHeader::read(&dialogue.request[..cut]);
            assert!(whole.is_err(), "{}: {cut} bytes", dialogue.name());
        }
    }
}
