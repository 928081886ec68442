//! What stands before a request's and a response's body.

use crate::{Api, Malformed, Reader, Writer};

/// What stands before a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// The number of the API.
    pub api_key: i16,
    /// The version of the body.
    pub version: i16,
    /// Which of its connection's requests it is: the response repeats it.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<&'a str>,
}

impl<'a> RequestHeader<'a> {
    /// Reads the header of a request. Gives it with its API, if that is known, and a reader of the body. Of an unknown API or
    /// version nothing but the first three fields is read: the header's own form is not known.
    ///
    /// # Errors
    /// It is malformed.
    pub fn read(request: &'a [u8]) -> Result<(Self, Option<&'static Api>, Reader<'a>), Malformed> {
        let mut reader = Reader::new(request, false);
        let (api_key, version) = (reader.i16()?, reader.i16()?);
        let correlation_id = reader.i32()?;
        let api = Api::find(api_key);
        let mut header = Self { api_key, version, correlation_id, client_id: None };
        let Some(known) = api.filter(|api| api.has(version)) else { return Ok((header, api, reader)) };
        // Of this length the width is the old one in flexible versions as well.
        header.client_id = reader.nullable_text()?;
        let mut body = Reader::new(reader.rest(), known.is_flexible(version));
        body.tagged_fields()?;
        Ok((header, api, body))
    }
}

/// Writes what stands before the body of a response.
pub fn write_response_header(api: &Api, version: i16, correlation_id: i32, out: &mut alloc::vec::Vec<u8>) {
    Writer::new(out, api.has_flexible_response_header(version)).i32(correlation_id).no_tagged_fields();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_read_in_both_forms_and_the_body_begins_behind_it() {
        let old = [0, 3, 0, 8, 0, 0, 0, 7, 0, 2, b'm', b'e', 42];
        let (header, api, mut body) = RequestHeader::read(&old).expect("it is one");
        assert_eq!((header.client_id, header.correlation_id, header.version), (Some("me"), 7, 8));
        assert_eq!(
            (api.map(|api| api.key), body.is_flexible(), body.i8()),
            (Some(crate::ApiKey::Metadata), false, Ok(42))
        );
        // With a tagged field that nobody knows.
        let new = [0, 3, 0, 9, 0, 0, 0, 7, 0xff, 0xff, 1, 5, 1, 9, 42];
        let (header, _, mut body) = RequestHeader::read(&new).expect("it is one");
        assert_eq!((header.client_id, body.is_flexible(), body.i8()), (None, true, Ok(42)));
    }

    #[test]
    fn version_that_is_not_known_can_still_be_answered() {
        let (header, api, _) = RequestHeader::read(&[0, 18, 0, 99, 0, 0, 0, 7]).expect("enough of it");
        assert!(header.correlation_id == 7 && api.is_some_and(|api| !api.has(99)));
        assert!(RequestHeader::read(&[0, 18, 0, 99, 0, 0]).is_err());
    }

    #[test]
    fn header_of_a_response_has_tagged_fields_but_that_of_api_versions() {
        let length = |key, version| {
            let mut out = Vec::new();
            write_response_header(Api::find(key).expect("it is known"), version, 7, &mut out);
            out.len()
        };
        assert_eq!([length(3, 8), length(3, 9), length(18, 4)], [4, 5, 4]);
    }
}
