//! The custom sections of a module, as far as its outer form goes: nothing else of it is looked at here.

/// Numbers of a module are LEB128 of 32 bits.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u64;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// The content of a module's first custom section of that name. Nothing if there is none, or the bytes are no module.
#[must_use]
pub fn custom_section<'a>(module: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut rest = module.strip_prefix(b"\0asm\x01\0\0\0")?;
    while let Some((id, behind)) = rest.split_first() {
        rest = behind;
        let mut content = take(&mut rest)?;
        if *id == 0 && take(&mut content)? == name.as_bytes() {
            return Some(content);
        }
    }
    None
}

/// Whether a module exports something under that name.
pub(super) fn exports(module: &[u8], name: &str) -> bool {
    listed(module, name).unwrap_or(false)
}

fn listed(module: &[u8], name: &str) -> Option<bool> {
    let mut rest = module.strip_prefix(b"\0asm\x01\0\0\0")?;
    while let Some((id, behind)) = rest.split_first() {
        rest = behind;
        let mut content = take(&mut rest)?;
        if *id != EXPORTS {
            continue;
        }
        for _ in 0..number(&mut content)? {
            if take(&mut content)? == name.as_bytes() {
                return Some(true);
            }
            content = content.get(1..)?;
            number(&mut content)?;
        }
    }
    Some(false)
}

/// The number of the section of exports.
const EXPORTS: u8 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_is_found_by_its_name() {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend_from_slice(&[7, 10, 2, 1, b'a', 0, 0x80, 1, 2, b'b', b'c', 0, 1]);
        module[9] = (module.len() - 10) as u8;
        assert!(exports(&module, "a") && exports(&module, "bc") && !exports(&module, "b"));
        (0..module.len()).for_each(|cut| assert!(!exports(&module[..cut], "bc")));
    }

    #[test]
    fn section_is_found_by_its_name_and_no_bytes_do_harm() {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend_from_slice(&[1, 1, 0]);
        module.extend_from_slice(&[0, 4, 1, b'x', 7, 7]);
        module.extend_from_slice(&[0, 3, 1, b'y', 9]);
        assert_eq!(custom_section(&module, "y"), Some(&[9][..]));
        assert_eq!(custom_section(&module, "x"), Some(&[7, 7][..]));
        assert_eq!(custom_section(&module, "z"), None);
        for cut in 0..module.len() {
            assert_eq!(custom_section(&module[..cut], "z"), None);
            assert!(custom_section(&module[..cut], "y").is_none());
        }
        assert_eq!(custom_section(b"\0asm\x01\0\0\0\0\xff\xff\xff\xff\x7f", "x"), None);
    }
}
