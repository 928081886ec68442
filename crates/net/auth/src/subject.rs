//! The name of a certificate's holder, as Java's `X500Principal.getName()` writes it: what services take for the identity of
//! a client that has shown a certificate. Believes a certificate that the TLS library has verified, and verifies nothing.
//!
//! RFC 2253 with Java's reading of it: the last component first, nine types by their keyword and every other one by its
//! number with its value in hex, and eight characters escaped wherever they stand. Other than Java 17, which reads
//! every string as UTF-8, it decodes a `BMPString` and a `TeletexString` by their own encodings. A name with a part
//! that cannot be read is refused: a shortened name could be another holder's.

use core::fmt::Write as _;

use crate::der::{Element, Elements, tag};

/// Object identifiers with a keyword in RFC 2253.
const KEYWORDS: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

/// The subject of a certificate in DER form; `None` if it cannot be read.
#[must_use]
pub fn certificate_subject(der: &[u8]) -> Option<String> {
    let certificate = Elements(der).expect(tag::SEQUENCE)?;
    let mut fields = Elements(Elements(certificate.content).expect(tag::SEQUENCE)?.content);
    // Version, serial number, signature's algorithm, issuer, validity.
    fields.optional(tag::CONTEXT_0);
    fields.expect(tag::INTEGER)?;
    for _ in 0..3 {
        fields.expect(tag::SEQUENCE)?;
    }
    name(fields.expect(tag::SEQUENCE)?)
}

fn name(name: Element<'_>) -> Option<String> {
    let mut elements = Elements(name.content);
    let mut components = Vec::new();
    while !elements.is_at_end() {
        components.push(component(elements.expect(tag::SET)?)?);
    }
    components.reverse();
    Some(components.join(","))
}

/// One component of a name: mostly one attribute.
fn component(set: Element<'_>) -> Option<String> {
    let mut elements = Elements(set.content);
    let mut attributes = Vec::new();
    while !elements.is_at_end() {
        attributes.push(attribute(elements.expect(tag::SEQUENCE)?)?);
    }
    Some(attributes.join("+"))
}

fn attribute(attribute: Element<'_>) -> Option<String> {
    let mut elements = Elements(attribute.content);
    let oid = object_identifier(elements.expect(tag::OBJECT_IDENTIFIER)?.content)?;
    let value = elements.next()?;
    let keyword = KEYWORDS.iter().find(|(number, _)| *number == oid).map(|(_, keyword)| *keyword);
    Some(match (keyword, text(value)) {
        (Some(keyword), Some(text)) => format!("{keyword}={}", escaped(&text)),
        (keyword, _) => format!("{}=#{}", keyword.unwrap_or(&oid), hex(value.encoding)),
    })
}

/// The numbers of an object identifier, with points between them.
fn object_identifier(content: &[u8]) -> Option<String> {
    let mut numbers = Vec::new();
    let mut number = 0_u64;
    for byte in content {
        number = number.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    // The last byte ends a number, and the first number stands for two.
    if content.last().is_none_or(|byte| byte & 0x80 != 0) {
        return None;
    }
    let (both, rest) = numbers.split_first()?;
    let first = (both / 40).min(2);
    let mut text = format!("{first}.{}", both - first * 40);
    for number in rest {
        let _ = write!(text, ".{number}");
    }
    Some(text)
}

/// The text of a value of any of the string types; `None` for other types.
fn text(value: Element<'_>) -> Option<String> {
    match value.tag {
        tag::UTF8_STRING | tag::PRINTABLE_STRING | tag::IA5_STRING | tag::GENERAL_STRING => {
            String::from_utf8(value.content.to_vec()).ok()
        }
        tag::TELETEX_STRING => Some(value.content.iter().map(|byte| char::from(*byte)).collect()),
        tag::BMP_STRING => {
            let (units, rest) = value.content.as_chunks();
            let units = units.iter().map(|pair| u16::from_be_bytes(*pair));
            char::decode_utf16(units).collect::<Result<_, _>>().ok().filter(|_| rest.is_empty())
        }
        _ => None,
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let trailing_spaces = text.len() - text.trim_end_matches(' ').len();
    let body_end = text.len() - trailing_spaces;
    let mut leading = true;
    for (at, character) in text.char_indices() {
        leading &= character == ' ';
        match character {
            '\0' => out.push_str("\\00"),
            ',' | '=' | '+' | '<' | '>' | '#' | ';' | '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            ' ' if leading || at >= body_end => out.push_str("\\ "),
            other => out.push(other),
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGER_1: &[u8] = &[2, 1, 1];
    const CN: &[u8] = &[0x55, 4, 3];
    const O: &[u8] = &[0x55, 4, 10];
    const C: &[u8] = &[0x55, 4, 6];
    const SERIAL_NUMBER: &[u8] = &[0x55, 4, 5];
    const DC: &[u8] = &[9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25];

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = match u8::try_from(content.len()) {
            Ok(short) if short < 128 => vec![short],
            Ok(length) => vec![0x81, length],
            Err(_) => [&[0x82][..], &u16::try_from(content.len()).unwrap().to_be_bytes()].concat(),
        };
        [&[tag][..], &length, content].concat()
    }

    fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        element(tag::SEQUENCE, &[element(tag::OBJECT_IDENTIFIER, oid), element(tag, value)].concat())
    }

    /// Type, tag of the value, value.
    type Attribute<'a> = (&'a [u8], u8, &'a [u8]);

    /// A certificate whose subject has these components, each of one attribute or more.
    fn certificate(components: &[&[Attribute<'_>]]) -> Vec<u8> {
        let component = |attributes: &&[Attribute<'_>]| {
            let attributes = attributes.iter().map(|(oid, tag, value)| attribute(oid, *tag, value));
            element(tag::SET, &attributes.collect::<Vec<_>>().concat())
        };
        let subject = components.iter().map(component).collect::<Vec<_>>().concat();
        certificate_of(&element(tag::SEQUENCE, &subject))
    }

    fn certificate_of(subject: &[u8]) -> Vec<u8> {
        let empty = element(tag::SEQUENCE, &[]);
        let version = element(tag::CONTEXT_0, INTEGER_1);
        let fields = [&version, INTEGER_1, &empty, &empty, &empty, subject, &empty].concat();
        element(tag::SEQUENCE, &[element(tag::SEQUENCE, &fields), empty].concat())
    }

    fn subject(components: &[&[Attribute<'_>]]) -> String {
        certificate_subject(&certificate(components)).expect("a subject")
    }

    #[test]
    fn last_component_comes_first() {
        let utf8 = tag::UTF8_STRING;
        assert_eq!(
            subject(&[
                &[(C, tag::PRINTABLE_STRING, b"DE")],
                &[(O, utf8, b"Foo, Inc.")],
                &[(CN, utf8, "ümläut".as_bytes())],
            ]),
            "CN=ümläut,O=Foo\\, Inc.,C=DE"
        );
        assert_eq!(
            subject(&[&[(O, utf8, b"a"), (CN, utf8, b"b")], &[(DC, tag::IA5_STRING, b"c")]]),
            "DC=c,O=a+CN=b"
        );
        assert_eq!(subject(&[]), "");
    }

    #[test]
    fn what_java_escapes_is_escaped() {
        assert_eq!(escaped("a,b=c#d+e\"f\\g<h>i;j"), "a\\,b\\=c\\#d\\+e\\\"f\\\\g\\<h\\>i\\;j");
        assert_eq!(escaped("  two  "), "\\ \\ two\\ \\ ");
        assert_eq!(escaped("a  b"), "a  b");
        assert_eq!(escaped("a\0b"), "a\\00b");
    }

    #[test]
    fn type_without_a_keyword_is_shown_by_number_and_in_hex() {
        let serial = (SERIAL_NUMBER, tag::UTF8_STRING, &b"12"[..]);
        assert_eq!(subject(&[&[(CN, tag::UTF8_STRING, b"x")], &[serial]]), "2.5.4.5=#0c023132,CN=x");
    }

    #[test]
    fn values_of_every_string_type_are_read() {
        for (tag, value, shown) in [
            (tag::TELETEX_STRING, &[b'M', 0xfc][..], "CN=Mü"),
            (tag::BMP_STRING, &[0, b'a', 0x30, 0x42], "CN=aあ"),
            (tag::BMP_STRING, &[0xd8, 0], "CN=#1e02d800"),
            (tag::BMP_STRING, &[0, b'a', 0], "CN=#1e03006100"),
            (tag::GENERAL_STRING, b"g", "CN=g"),
            (tag::UTF8_STRING, &[0xff], "CN=#0c01ff"),
            (tag::INTEGER, &[5], "CN=#020105"),
        ] {
            assert_eq!(subject(&[&[(CN, tag, value)]]), shown);
        }
    }

    #[test]
    fn object_identifiers_are_written_with_points() {
        for (content, shown) in [
            (&[0x55, 4, 3][..], Some("2.5.4.3")),
            (DC, Some("0.9.2342.19200300.100.1.25")),
            (&[0x2b, 6], Some("1.3.6")),
            (&[0x88, 0x37, 1], Some("2.999.1")),
            (&[], None),
            (&[0x55, 0x84], None),
            (&[0x55, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], None),
        ] {
            assert_eq!(object_identifier(content).as_deref(), shown, "{content:?}");
        }
    }

    #[test]
    fn certificate_cut_or_changed_anywhere_is_read_without_panic() {
        let utf8 = tag::UTF8_STRING;
        let whole = certificate(&[&[(O, utf8, &[b'x'; 200])], &[(CN, utf8, b"bob"), (DC, utf8, b"d")]]);
        assert!(certificate_subject(&whole).is_some());
        for cut in 0..whole.len() {
            assert_eq!(certificate_subject(&whole[..cut]), None, "{cut}");
            for value in [0, 1, 0x1f, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[cut] = value;
                // No text is longer than escaping and hex make it.
                let length = certificate_subject(&changed).unwrap_or_default().len();
                assert!(length <= 4 * whole.len(), "{cut} {value}: {length}");
            }
        }
    }

    #[test]
    fn subject_of_another_form_is_none() {
        for subject in
            [&[0x31, 0][..], &[0x30, 2, 0x30, 0], &[0x30, 4, 0x31, 2, 0x30, 0], &[0x30, 2, 0x31, 5]]
        {
            assert_eq!(certificate_subject(&certificate_of(subject)), None, "{subject:?}");
        }
        assert_eq!(certificate_subject(b""), None);
    }
}
