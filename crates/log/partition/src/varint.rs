//! Numbers of variable length in files of our own: seven bits a byte, the lowest first.

use crate::sealed::Damage;

const ENDS_EARLY: Damage = Damage::Content("a number that ends early");

pub(crate) fn put_unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small negative numbers are short, too.
pub(crate) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_unsigned(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
}

pub(crate) fn take_unsigned(bytes: &mut &[u8]) -> Result<u64, Damage> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(ENDS_EARLY)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Damage::Content("a number of more than 64 bits"))
}

pub(crate) fn take_signed(bytes: &mut &[u8]) -> Result<i64, Damage> {
    take_unsigned(bytes).map(|folded| (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_leave_what_is_behind_them() {
        for value in [0, 1, -1, 63, 64, -65, 1 << 40, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_signed(value, &mut bytes);
            put_unsigned(value.cast_unsigned(), &mut bytes);
            bytes.push(7);
            let mut rest = bytes.as_slice();
            assert_eq!(take_signed(&mut rest), Ok(value));
            assert_eq!((take_unsigned(&mut rest), rest), (Ok(value.cast_unsigned()), &[7][..]));
        }
    }

    #[test]
    fn number_that_ends_early_or_is_too_long_is_refused() {
        assert_eq!(take_unsigned(&mut &[0x80, 0x80][..]), Err(ENDS_EARLY));
        assert!(take_unsigned(&mut &[0xff; 11][..]).is_err());
        let mut largest = vec![0xff; 9];
        largest.push(2);
        assert!(take_unsigned(&mut largest.as_slice()).is_err(), "a bit beyond 64");
    }
}
