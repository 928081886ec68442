//! Numbers of double precision as Java reads and writes them: DescribeConfigs shows `1.0E9`, not `1000000000`.

/// Reads one. Written without an `x`: the hexadecimal notation is not understood.
pub(crate) fn read(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, "NaN" | "Infinity") {
        return text.parse().ok();
    }
    let digits = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let is_decimal =
        digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_decimal { digits.parse().ok() } else { None }
}

/// Writes one.
pub(crate) fn write(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        return format!("{number:?}");
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_writes_them() {
        for (number, text) in [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.001, "0.001"),
            (0.000_9, "9.0E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(write(number), text);
        }
    }

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        for (text, number) in [
            ("1", 1.0),
            (".25", 0.25),
            ("5.", 5.0),
            ("0.25f", 0.25),
            ("1e-1D", 0.1),
            ("+1E400", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(read(text), Some(number), "{text}");
        }
        assert!(read("NaN").is_some_and(f64::is_nan));
        for text in ["", "x", "inf", "nan", "infinity", "1,5", "1 2", "e", "0x1p-1", "1_000", "f", "--1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
