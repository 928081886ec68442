//! What is asked about rights between commands: what a member asks before it evaluates a query, shows or lists something.

use base::Random;
use objects_state::{Act, ObjectName, Principal, TypeId};

use super::{Crowd, TYPES, type_index};

/// A principal, and what it may be allowed to do.
pub(crate) struct Wish {
    pub(crate) principal: Principal,
    object: ObjectName,
    method: &'static str,
    beginning: &'static str,
    which: u64,
}

impl Wish {
    pub(crate) fn act(&self) -> Act<'_> {
        let kind: TypeId = self.object.kind;
        match self.which {
            0..6 => Act::Method(&self.object, self.method),
            6 => Act::See(&self.object),
            7 => Act::List(kind, self.beginning),
            8 => Act::Create(&self.object),
            9 => Act::LookAfter(&self.object),
            10 => Act::LookAfterType(TYPES[type_index(&self.object)].0),
            11 => Act::BringModule,
            12 => Act::Administer,
            13 => Act::ListAll(self.beginning),
            _ => Act::Know,
        }
    }
}

impl Crowd {
    /// Whether there are rights to ask about in this run.
    pub(crate) const fn has_access(&self) -> bool {
        self.principals.is_used()
    }

    pub(crate) fn wish(&self, random: &mut Random) -> Wish {
        let object = self.object(random);
        let methods = TYPES[type_index(&object)].2;
        let method = methods[random.below(methods.len() as u64) as usize].0;
        let name = self.principals.name(random);
        let principal = self.principals.principal(random, &name);
        let beginning = ["", "a", "ab", "b"][random.below(4) as usize];
        Wish { principal, object, method, beginning, which: random.below(15) }
    }
}
