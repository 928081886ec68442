//! Values as files and flags write them: numbers, flags, addresses, lists.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::problem::{Checked, Problem};

/// One key with its value.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The key as it was written.
    pub key: &'a str,
    /// Its value, without spaces around it.
    pub value: &'a str,
}

impl<'a> Setting<'a> {
    /// What is wrong with this value.
    #[must_use]
    pub fn problem(&self, what: &str) -> Problem {
        Problem::new(format!("`{}` is `{}`: {what}", self.key, self.value))
    }

    /// A whole number, in the notations that Java decodes: decimal, `0x..`, `#..`.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn integer(&self) -> Checked<i64> {
        let (sign, digits) = match self.value.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", self.value.strip_prefix('+').unwrap_or(self.value)),
        };
        let hexadecimal = ["0x", "0X", "#"].iter().find_map(|prefix| digits.strip_prefix(prefix));
        let (digits, radix) = hexadecimal.map_or((digits, 10), |rest| (rest, 16));
        let unsigned = digits.starts_with(|first: char| first.is_ascii_hexdigit());
        i64::from_str_radix(&format!("{sign}{digits}"), radix)
            .ok()
            .filter(|_| unsigned)
            .ok_or_else(|| self.problem("not a whole number"))
    }

    /// A whole number that is not below 0; what is below counts as 0.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn count<T: TryFrom<i64>>(&self) -> Checked<T> {
        T::try_from(self.integer()?.max(0)).map_err(|_| self.problem("too large"))
    }

    /// A whole number above 0.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn positive<T: TryFrom<i64>>(&self) -> Checked<T> {
        let number = self.integer()?;
        if number < 1 {
            return Err(self.problem("it must be at least 1"));
        }
        T::try_from(number).map_err(|_| self.problem("too large"))
    }

    /// So many KiB, in bytes.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn kibibytes(&self) -> Checked<u64> {
        self.count::<u64>()?.checked_mul(1024).ok_or_else(|| self.problem("too large"))
    }

    /// A TCP port.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn port(&self) -> Checked<u16> {
        u16::try_from(self.integer()?).map_err(|_| self.problem("not a port (0 to 65535)"))
    }

    /// `true` or `false` and nothing else.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn flag(&self) -> Checked<bool> {
        match self.value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.problem("neither `true` nor `false`")),
        }
    }

    /// A list with commas between its elements; spaces around them are nothing.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        self.value.split(',').map(str::trim).filter(|part| !part.is_empty()).map(String::from).collect()
    }

    /// `host:port`, `:port` on loopback, or a port alone on loopback.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn address(&self) -> Checked<SocketAddr> {
        let text = match self.value.strip_prefix(':').unwrap_or(self.value) {
            port if port.bytes().all(|byte| byte.is_ascii_digit()) => format!("127.0.0.1:{port}"),
            _ => String::from(self.value),
        };
        resolve(&text).map_err(|why| self.problem(&why).hint("write it like `127.0.0.1:2181`"))
    }

    /// An address as [`Self::address`], or `off`.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn address_or_off(&self) -> Checked<Option<SocketAddr>> {
        if self.value == "off" { Ok(None) } else { self.address().map(Some) }
    }

    /// A host's first address, with this port.
    ///
    /// # Errors
    /// It is not of that form.
    pub fn host(&self, port: u16) -> Checked<SocketAddr> {
        let bare = self.value.trim_start_matches('[').trim_end_matches(']');
        (bare, port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| self.problem("no such host"))
    }
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut addresses =
        text.to_socket_addrs().map_err(|_| String::from("not an address that can be found"))?;
    addresses.next().ok_or_else(|| String::from("a name without an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: &str) -> Setting<'_> {
        Setting { key: "k", value }
    }

    #[test]
    fn numbers_are_those_that_java_decodes() {
        assert_eq!(value("1048575").integer(), Ok(1_048_575));
        assert_eq!(value("0xfffff").integer(), Ok(1_048_575));
        assert_eq!(value("-1").integer(), Ok(-1));
        assert_eq!(value("-1").count::<u32>(), Ok(0));
        for wrong in ["", "-", "1k", "1.5", "--1", "+-1", "0x", "99999999999999999999"] {
            assert!(value(wrong).integer().is_err(), "{wrong:?}");
        }
        assert!(value("5000000000").count::<u32>().is_err());
        assert!(value("0").positive::<u32>().is_err());
    }

    #[test]
    fn an_address_may_be_a_port_alone() {
        for (text, address) in [
            ("0", "127.0.0.1:0"),
            (":9", "127.0.0.1:9"),
            ("[::1]:7", "[::1]:7"),
            ("127.0.0.2:8", "127.0.0.2:8"),
        ] {
            assert_eq!(value(text).address().map(|found| found.to_string()), Ok(String::from(address)));
        }
        for wrong in ["70000", "a", "1.2.3.4"] {
            assert!(value(wrong).address().is_err(), "{wrong:?}");
        }
        assert_eq!(value("off").address_or_off(), Ok(None));
    }

    #[test]
    fn a_problem_names_its_key_and_value() {
        assert_eq!(value("yes").flag().unwrap_err().what, "`k` is `yes`: neither `true` nor `false`");
    }
}
