//! Addresses and address patterns of the scheme `ip`, IPv4 and IPv6, with an optional prefix length.
//!
//! Written as ZooKeeper's own parser reads them: no names, no zones, no IPv4 tail in an IPv6 address.

/// An address's bytes, left-aligned, and how many of its bits there are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Address {
    bits: u128,
    length: u32,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        if text.contains(':') {
            Some(Self { bits: parse_v6(text)?, length: 128 })
        } else {
            Some(Self { bits: u128::from(parse_v4(text)?) << 96, length: 32 })
        }
    }

    /// Only the first `prefix` bits.
    const fn masked(self, prefix: u32) -> u128 {
        if prefix == 0 { 0 } else { self.bits & (u128::MAX << (128 - prefix)) }
    }
}

fn parse_v4(text: &str) -> Option<u32> {
    let mut address = 0_u32;
    let mut parts = 0;
    for part in text.split('.') {
        let value = u8::try_from(part.parse::<i32>().ok()?).ok()?;
        address = address << 8 | u32::from(value);
        parts += 1;
    }
    (parts == 4).then_some(address)
}

fn parse_v6(text: &str) -> Option<u128> {
    let mut halves = text.split("::");
    let (head, tail) = (halves.next()?, halves.next());
    if halves.next().is_some() {
        return None;
    }
    let Some(tail) = tail else {
        let (address, count) = parse_groups(head)?;
        return (count == 8).then_some(address);
    };
    let (front, front_count) = if head.is_empty() { (0, 0) } else { parse_groups(head)? };
    let (back, back_count) = if tail.is_empty() { (0, 0) } else { parse_groups(tail)? };
    if front_count + back_count >= 8 {
        return None;
    }
    let front = if front_count == 0 { 0 } else { front << (16 * (8 - front_count)) };
    Some(front | back)
}

/// Groups of up to four hexadecimal digits between colons, right-aligned, and how many.
fn parse_groups(text: &str) -> Option<(u128, u32)> {
    let (mut address, mut count) = (0_u128, 0);
    for group in text.split(':') {
        if group.is_empty() || group.len() > 4 || count == 8 {
            return None;
        }
        // Java reads a sign here; a negative group keeps its low bits.
        let value = i32::from_str_radix(group, 16).ok()?;
        address = address << 16 | u128::from(value as u16);
        count += 1;
    }
    Some((address, count))
}

/// A pattern: an address, and how many of its bits count.
fn parse_pattern(text: &str) -> Option<(Address, u32)> {
    let (address, prefix) = match text.split_once('/') {
        None => (text, None),
        Some((address, prefix)) => (address, Some(prefix)),
    };
    let address = Address::parse(address)?;
    let prefix = match prefix {
        None => address.length,
        Some(prefix) => u32::try_from(prefix.parse::<i32>().ok()?).ok()?,
    };
    (prefix <= address.length).then_some((address, prefix))
}

/// Whether an ACL may carry that pattern.
pub(crate) fn is_pattern(text: &str) -> bool {
    parse_pattern(text).is_some()
}

/// Whether an address falls under a pattern of its own family.
pub(crate) fn matches(address: &str, pattern: &str) -> bool {
    let (Some(address), Some((wanted, prefix))) = (Address::parse(address), parse_pattern(pattern)) else {
        return false;
    };
    address.length == wanted.length && address.masked(prefix) == wanted.masked(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_told_from_nonsense() {
        for good in [
            "10.0.0.1",
            "10.0.0.0/8",
            "0.0.0.0/0",
            "::",
            "::1",
            "1::",
            "fe80::1/64",
            "1:2:3:4:5:6:7:8",
            "::/0",
        ] {
            assert!(is_pattern(good), "{good}");
        }
        for bad in [
            "",
            "10",
            "10.0.0",
            "10.0.0.256",
            "10.0.0.1/33",
            "10.0.0.1/",
            "10.0.0.1/-1",
            "a.b.c.d",
            ":::",
            "1::2::3",
            "1:2:3:4:5:6:7:8::",
            "12345::",
            "::ffff:1.2.3.4",
            "::1/129",
            "1:2:3",
            ":1",
            "host",
        ] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }

    #[test]
    fn an_address_matches_within_its_prefix_and_family() {
        assert!(matches("10.1.2.3", "10.0.0.0/8"));
        assert!(!matches("11.1.2.3", "10.0.0.0/8"));
        assert!(matches("10.1.2.3", "0.0.0.0/0"));
        assert!(matches("10.1.2.3", "10.1.2.3"));
        assert!(!matches("10.1.2.3", "10.1.2.4"));
        assert!(matches("10.1.2.3", "10.1.2.2/31"));
        assert!(matches("0:0:0:0:0:0:0:1", "::1"));
        assert!(matches("fe80:0:0:0:1:2:3:4", "fe80::/64"));
        assert!(!matches("fe81:0:0:0:1:2:3:4", "fe80::/64"));
        assert!(!matches("0:0:0:0:0:0:0:0", "0.0.0.0/0"));
    }
}
