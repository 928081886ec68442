//! Which values of its type a configuration takes.

use crate::offset_reset::OffsetReset;
use crate::value::Value;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limits {
    /// All.
    Any,
    /// Numbers from this on.
    AtLeast(i64),
    /// Numbers from the first to the last.
    Between(i64, i64),
    /// Numbers of double precision from the first to the last.
    Ratio(f64, f64),
    /// A level of gzip: 1 to 9, or -1.
    GzipLevel,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these texts, in any case.
    OneOfIgnoringCase(&'static [&'static str]),
    /// A text that is not empty.
    NotEmpty,
    /// A list without empty elements.
    List {
        /// Whether it may have none at all.
        may_be_empty: bool,
        /// What its elements may be; nothing if that is not limited.
        of: Option<&'static [&'static str]>,
    },
    /// `*`, or a list of PARTITION:BROKER.
    ThrottledReplicas,
    /// A list of ID@HOST:PORT.
    Voters,
    /// A list of HOST:PORT.
    HostPorts,
    /// See [`OffsetReset`].
    OffsetReset,
}

impl Limits {
    /// Checks a value.
    ///
    /// # Errors
    /// What is wrong with it, with the value as the subject.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::AtLeast(least), Value::Whole(number)) if number < least => {
                Err(format!("is below {least}, the least"))
            }
            (Self::Between(least, most), Value::Whole(number)) if !(least..=most).contains(&number) => {
                Err(format!("is not between {least} and {most}"))
            }
            (Self::Ratio(least, most), Value::Double(number)) if !(least..=most).contains(&number) => {
                Err(format!("is not between {least} and {most}"))
            }
            (Self::GzipLevel, Value::Whole(number)) if *number != -1 && !(1..=9).contains(number) => {
                Err("is neither between 1 and 9 nor -1".into())
            }
            (Self::OneOf(known), Value::Text(text)) if !known.contains(&text.as_str()) => {
                Err(format!("is none of {}", known.join(", ")))
            }
            (Self::OneOfIgnoringCase(known), Value::Text(text))
                if !known.iter().any(|known| known.eq_ignore_ascii_case(text)) =>
            {
                Err(format!("is none of {}", known.join(", ")))
            }
            (Self::NotEmpty, Value::Text(text)) if text.is_empty() => Err("is empty".into()),
            (Self::List { may_be_empty, of }, Value::List(elements)) => {
                check_list(elements, *may_be_empty, *of)
            }
            (Self::ThrottledReplicas, Value::List(elements)) => check_throttled_replicas(elements),
            (Self::Voters, Value::List(elements)) if !elements.iter().all(|element| is_voter(element)) => {
                Err("is no list of ID@HOST:PORT".into())
            }
            (Self::HostPorts, Value::List(elements))
                if !elements.iter().all(|element| is_host_port(element)) =>
            {
                Err("is no list of HOST:PORT".into())
            }
            (Self::OffsetReset, Value::Text(text)) if OffsetReset::read(text).is_none() => {
                Err("is none of earliest, latest and by_duration:DURATION, as in by_duration:PT1H".into())
            }
            _ => Ok(()),
        }
    }
}

fn check_list(elements: &[String], may_be_empty: bool, of: Option<&[&str]>) -> Result<(), String> {
    if elements.is_empty() && !may_be_empty {
        return Err("is empty".into());
    }
    if elements.iter().any(String::is_empty) {
        return Err("has an empty element".into());
    }
    match of {
        Some(known) if !elements.iter().all(|element| known.contains(&element.as_str())) => {
            Err(format!("has an element that is none of {}", known.join(", ")))
        }
        _ => Ok(()),
    }
}

/// Empty elements are passed over, as Kafka does: `0:1,` is one.
fn check_throttled_replicas(elements: &[String]) -> Result<(), String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_replica = |element: &String| {
        element.split_once(':').is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
    };
    let mut named = elements.iter().filter(|element| !element.is_empty());
    let is_all = named.clone().count() == 1 && named.clone().all(|element| element == "*");
    if is_all || named.all(is_replica) {
        return Ok(());
    }
    Err("is neither `*` nor a list of PARTITION:BROKER".into())
}

fn is_voter(element: &str) -> bool {
    let Some((id, address)) = element.split_once('@') else { return false };
    id.parse::<i32>().is_ok() && !address.contains('@') && is_host_port(address)
}

fn is_host_port(element: &str) -> bool {
    element.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}
