//! What is known of one configuration: its name, its type, its default, its limits, and what Diwan does with it. It knows no
//! value that anyone has set.

use crate::limits::Limits;

/// A configuration. The tables of configurations are made of these.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub value_type: ValueType,
    /// The value it has if nobody sets it, as Kafka shows it; nothing where Kafka shows none.
    pub default: Option<&'static str>,
    /// Which values of the type it takes.
    pub limits: Limits,
    /// Who may change it while the broker runs. Topics, groups and subscriptions are always changed by [`Update::ClusterWide`].
    pub update: Update,
    /// What Diwan does with it.
    pub effect: Effect,
    /// Whether it is shown only where it is set. Those of Diwan are also shown to those who ask for them by name.
    pub is_hidden: bool,
    /// Whether a change while the broker runs is refused, though Kafka takes it: Diwan reads it when it starts, and a change
    /// that is shown without being in force would mislead.
    pub is_read_at_start: bool,
    /// The broker's configurations that give its value if it is not set itself, in their order.
    pub from: &'static [&'static str],
}

/// The type of a value. The numbers are those of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ValueType {
    /// None that is known: of a configuration that Kafka does not know either.
    Unknown = 0,
    /// `true` or `false`.
    Boolean = 1,
    /// Text.
    String = 2,
    /// A whole number of 32 bits.
    Int = 3,
    /// A whole number of 16 bits.
    Short = 4,
    /// A whole number of 64 bits.
    Long = 5,
    /// A number of double precision.
    Double = 6,
    /// Texts with commas between.
    List = 7,
    /// The name of a class of Java.
    Class = 8,
    /// A secret, which is never shown.
    Password = 9,
}

/// Who may change a broker's configuration while the broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nobody: it is read from `server.properties`.
    ReadOnly,
    /// One broker at a time.
    PerBroker,
    /// One listener of one broker at a time, by `listener.name.NAME.` before the name.
    PerListener,
    /// One broker, or all of them at once.
    ClusterWide,
}

/// What Diwan does with a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It does what the text says.
    Acts(&'static str),
    /// The same, where the program has the feature. Otherwise it is only shown.
    ActsWith(Feature, &'static str),
    /// It does what the text says, and takes only these values.
    ActsFor {
        /// What it does.
        what: &'static str,
        /// The values, besides the default.
        taken: &'static [&'static str],
        /// Why others are not taken.
        why: &'static str,
    },
    /// It is taken and shown, and has no effect.
    Shown,
    /// It asks for something that Diwan does not have: only these values are taken. The default is always taken.
    Refused {
        /// Why others are not taken.
        why: &'static str,
        /// The other values that ask for nothing.
        taken: &'static [&'static str],
    },
}

/// Something that a program may have or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// TLS for clients.
    Tls,
    /// SASL for clients.
    Sasl,
    /// Access control lists.
    Acls,
}

/// A boolean configuration.
pub(crate) const fn boolean(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Boolean)
}

/// A configuration that is text.
pub(crate) const fn string(name: &'static str) -> Definition {
    Definition::new(name, ValueType::String)
}

/// A configuration that is a number of 32 bits.
pub(crate) const fn int(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Int)
}

/// A configuration that is a number of 16 bits.
pub(crate) const fn short(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Short)
}

/// A configuration that is a number of 64 bits.
pub(crate) const fn long(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Long)
}

/// A configuration that is a number of double precision.
pub(crate) const fn double(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Double)
}

/// A configuration that is a list. It may be empty.
pub(crate) const fn list(name: &'static str) -> Definition {
    let definition = Definition::new(name, ValueType::List);
    Definition { limits: Limits::List { may_be_empty: true, of: None }, ..definition }
}

/// A configuration that names a class of Java, which Kafka loads: only the default is taken.
pub(crate) const fn class(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Class).refused("Diwan loads no classes", &[])
}

/// A secret.
pub(crate) const fn password(name: &'static str) -> Definition {
    Definition::new(name, ValueType::Password)
}

impl Definition {
    const fn new(name: &'static str, value_type: ValueType) -> Self {
        Self {
            name,
            value_type,
            default: None,
            limits: Limits::Any,
            update: Update::ReadOnly,
            effect: Effect::Shown,
            is_hidden: false,
            is_read_at_start: false,
            from: &[],
        }
    }

    pub(crate) const fn default(self, value: &'static str) -> Self {
        Self { default: Some(value), ..self }
    }

    pub(crate) const fn at_least(self, least: i64) -> Self {
        Self { limits: Limits::AtLeast(least), ..self }
    }

    pub(crate) const fn between(self, least: i64, most: i64) -> Self {
        Self { limits: Limits::Between(least, most), ..self }
    }

    pub(crate) const fn ratio(self, least: f64, most: f64) -> Self {
        Self { limits: Limits::Ratio(least, most), ..self }
    }

    pub(crate) const fn gzip_level(self) -> Self {
        Self { limits: Limits::GzipLevel, ..self }
    }

    pub(crate) const fn one_of(self, values: &'static [&'static str]) -> Self {
        Self { limits: Limits::OneOf(values), ..self }
    }

    pub(crate) const fn one_of_ignoring_case(self, values: &'static [&'static str]) -> Self {
        Self { limits: Limits::OneOfIgnoringCase(values), ..self }
    }

    /// A list of these.
    pub(crate) const fn of(self, values: &'static [&'static str]) -> Self {
        Self { limits: Limits::List { may_be_empty: true, of: Some(values) }, ..self }
    }

    pub(crate) const fn not_empty(self) -> Self {
        let limits = match self.limits {
            Limits::List { of, .. } => Limits::List { may_be_empty: false, of },
            _ => Limits::NotEmpty,
        };
        Self { limits, ..self }
    }

    pub(crate) const fn throttled_replicas(self) -> Self {
        Self { limits: Limits::ThrottledReplicas, ..self }
    }

    pub(crate) const fn voters(self) -> Self {
        Self { limits: Limits::Voters, ..self }
    }

    pub(crate) const fn host_ports(self) -> Self {
        Self { limits: Limits::HostPorts, ..self }
    }

    pub(crate) const fn offset_reset(self) -> Self {
        Self { limits: Limits::OffsetReset, ..self }
    }

    pub(crate) const fn cluster_wide(self) -> Self {
        Self { update: Update::ClusterWide, ..self }
    }

    pub(crate) const fn per_broker(self) -> Self {
        Self { update: Update::PerBroker, ..self }
    }

    pub(crate) const fn per_listener(self) -> Self {
        Self { update: Update::PerListener, ..self }
    }

    pub(crate) const fn read_at_start(self) -> Self {
        Self { is_read_at_start: true, ..self }
    }

    pub(crate) const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    pub(crate) const fn from(self, names: &'static [&'static str]) -> Self {
        Self { from: names, ..self }
    }

    pub(crate) const fn acts(self, what: &'static str) -> Self {
        Self { effect: Effect::Acts(what), ..self }
    }

    pub(crate) const fn acts_with(self, feature: Feature, what: &'static str) -> Self {
        Self { effect: Effect::ActsWith(feature, what), ..self }
    }

    pub(crate) const fn acts_for(
        self,
        taken: &'static [&'static str],
        (what, why): (&'static str, &'static str),
    ) -> Self {
        Self { effect: Effect::ActsFor { what, taken, why }, ..self }
    }

    pub(crate) const fn refused(self, why: &'static str, taken: &'static [&'static str]) -> Self {
        Self { effect: Effect::Refused { why, taken }, ..self }
    }

    /// Whether its value is never shown.
    #[must_use]
    pub const fn is_sensitive(&self) -> bool {
        matches!(self.value_type, ValueType::Password)
    }

    /// Whether it is Diwan's, and no other broker knows it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.name.starts_with("diwan.")
    }

    /// A sentence for people who ask what it does.
    #[must_use]
    pub const fn about(&self) -> &'static str {
        match self.effect {
            Effect::Acts(what) | Effect::ActsWith(_, what) | Effect::ActsFor { what, .. } => what,
            Effect::Shown => "Taken and shown. It has no effect",
            Effect::Refused { why, .. } => why,
        }
    }
}
