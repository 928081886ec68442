//! The name of a certificate's holder, as Java's `X500Principal.getName()` writes it: the id of the scheme `x509`.
//!
//! RFC 2253 with Java's reading of it: the last component first, nine types by their keyword and every other one by
//! its number with its value in hex, and eight characters escaped wherever they stand.

use std::fmt::Write as _;

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

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

/// The subject of a certificate in DER form; `None` when it cannot be read.
pub(crate) fn of_certificate(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(name(certificate.subject()))
}

fn name(name: &X509Name<'_>) -> String {
    let components: Vec<String> = name
        .iter_rdn()
        .map(|component| component.iter().map(attribute).collect::<Vec<_>>().join("+"))
        .collect();
    components.into_iter().rev().collect::<Vec<_>>().join(",")
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> String {
    let oid = attribute.attr_type().to_id_string();
    let value = attribute.attr_value();
    let keyword = KEYWORDS.iter().find(|(number, _)| *number == oid).map(|(_, keyword)| *keyword);
    match (keyword, text(value)) {
        (Some(keyword), Some(text)) => format!("{keyword}={}", escaped(&text)),
        (keyword, _) => format!("{}=#{}", keyword.unwrap_or(&oid), hex(value)),
    }
}

/// The text of a value of any of the string types; `None` for other types.
fn text(value: &x509_parser::der_parser::asn1_rs::Any<'_>) -> Option<String> {
    use x509_parser::der_parser::asn1_rs::Tag;
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::GeneralString => {
            String::from_utf8(value.data.to_vec()).ok()
        }
        Tag::TeletexString => Some(value.data.iter().map(|byte| char::from(*byte)).collect()),
        Tag::BmpString => {
            let units = value.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
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

/// A value's whole encoding, in hex.
fn hex(value: &x509_parser::der_parser::asn1_rs::Any<'_>) -> String {
    use x509_parser::der_parser::asn1_rs::ToDer;
    let mut out = String::new();
    for byte in value.to_der_vec().unwrap_or_default() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, KeyPair};

    use super::*;

    fn subject(parts: &[(DnType, &str)]) -> String {
        let mut names = DistinguishedName::new();
        for (kind, value) in parts {
            names.push(kind.clone(), DnValue::Utf8String(String::from(*value)));
        }
        let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
        parameters.distinguished_name = names;
        parameters.custom_extensions = Vec::<CustomExtension>::new();
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        of_certificate(certificate.der()).expect("a subject")
    }

    #[test]
    fn the_last_component_comes_first() {
        assert_eq!(
            subject(&[
                (DnType::CountryName, "DE"),
                (DnType::OrganizationName, "Foo, Inc."),
                (DnType::CommonName, "ümläut"),
            ]),
            "CN=ümläut,O=Foo\\, Inc.,C=DE"
        );
    }

    #[test]
    fn what_java_escapes_is_escaped() {
        assert_eq!(escaped("a,b=c#d+e\"f\\g<h>i;j"), "a\\,b\\=c\\#d\\+e\\\"f\\\\g\\<h\\>i\\;j");
        assert_eq!(escaped("  two  "), "\\ \\ two\\ \\ ");
        assert_eq!(escaped("a  b"), "a  b");
        assert_eq!(escaped("a\0b"), "a\\00b");
    }

    #[test]
    fn a_type_without_a_keyword_is_shown_by_number_and_in_hex() {
        let serial = DnType::CustomDnType(vec![2, 5, 4, 5]);
        assert_eq!(subject(&[(DnType::CommonName, "x"), (serial, "12")]), "2.5.4.5=#0c023132,CN=x");
    }
}
