//! Requests and replies by small definitions of our own.

use serde_json::{Value, json};

use super::{Schemas, decode_body, decode_reply, encode_body, encode_request};

/// Flexible from version 1 on.
fn schemas() -> Schemas {
    let definition = |kind: &str, name: &str| {
        format!(
            r#"{{
                "apiKey": 7, "type": "{kind}", "name": "{name}", "validVersions": "0-2", "flexibleVersions": "1+",
                // A comment.
                "fields": [
                    {{"name": "Id", "type": "int32", "versions": "0+", "default": "-1"}},
                    {{"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "0+"}},
                    {{"name": "Parts", "type": "[]Part", "versions": "2+"}},
                    {{"name": "Next", "type": "Part", "versions": "2+", "nullableVersions": "2+", "default": "null"}},
                    {{"name": "Late", "type": "int16", "versions": "1+", "taggedVersions": "1+", "tag": 3}}
                ],
                "commonStructs": [
                    {{"name": "Part", "versions": "0+", "fields": [{{"name": "Index", "type": "int8", "versions": "0+"}}]}}
                ]
            }}"#
        )
    };
    Schemas::read(&[definition("request", "ThingRequest"), definition("response", "ThingResponse")])
        .expect("they are definitions")
}

#[test]
fn request_has_the_fields_of_its_version_and_defaults_for_what_is_not_given() {
    let schemas = schemas();
    let api = schemas.named("Thing").expect("it is defined");
    let body = json!({"Name": "ab", "Parts": [{"Index": 5}], "Late": 9});
    let old = encode_request(&schemas, api, 0, (2, Some("me")), &body).expect("it fits");
    let header = [0, 7, 0, 0, 0, 0, 0, 2, 0, 2, b'm', b'e'];
    assert_eq!(old, [&header[..], &[255, 255, 255, 255, 0, 2, b'a', b'b']].concat());
    let new = encode_request(&schemas, api, 2, (2, None), &body).expect("it fits");
    let header = [0, 7, 0, 2, 0, 0, 0, 2, 255, 255, 0];
    let body = [255, 255, 255, 255, 3, b'a', b'b', 2, 5, 0, 255, 1, 3, 2, 0, 9];
    assert_eq!(new, [&header[..], &body].concat());
}

#[test]
fn body_that_names_no_field_or_does_not_fit_is_refused() {
    let schemas = schemas();
    let api = schemas.named("Thing").expect("it is defined");
    for wrong in
        [json!({"Nmae": "x"}), json!({"Id": "x"}), json!({"Id": 3_000_000_000i64}), json!({"Parts": 1})]
    {
        assert!(encode_body(&schemas, &api.request, 2, &wrong).is_err(), "{wrong}");
    }
}

#[test]
fn reply_is_what_was_written_and_every_cut_of_it_is_an_error() {
    let schemas = schemas();
    let api = schemas.named("Thing").expect("it is defined");
    let body = json!({"Id": 4, "Name": null, "Parts": [{"Index": 1}, {"Index": -2}], "Next": {"Index": 3}, "Late": 8});
    for version in 0..=2 {
        let bytes = encode_body(&schemas, &api.response, version, &body).expect("it fits");
        let header = if version == 0 { vec![0, 0, 0, 9] } else { vec![0, 0, 0, 9, 0] };
        let frame = [header, bytes].concat();
        let reply = decode_reply(api, version, &frame).expect("it is one");
        assert_eq!((reply.correlation_id, &reply.body["Id"]), (9, &json!(4)));
        assert_eq!(reply.body["Late"], if version == 0 { Value::Null } else { json!(8) });
        assert_eq!(reply.body["Next"], if version < 2 { Value::Null } else { json!({"Index": 3}) });
        for cut in 0..frame.len() {
            assert!(decode_reply(api, version, &frame[..cut]).is_err(), "version {version}, {cut} bytes");
        }
        let longer = [frame, vec![0]].concat();
        assert!(decode_reply(api, version, &longer).is_err(), "a byte behind its end");
    }
}

#[test]
fn tagged_field_that_nobody_defined_is_shown_and_can_be_sent() {
    let schemas = schemas();
    let api = schemas.named("Thing").expect("it is defined");
    let body = json!({"Name": "", "_tags": {"77": "0102"}});
    let bytes = encode_body(&schemas, &api.request, 1, &body).expect("it fits");
    let read = decode_body(&api.request, 1, &bytes).expect("it is one");
    assert_eq!(read["_tags"], json!({"77": "0102"}));
}
