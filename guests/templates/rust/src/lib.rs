//! A type of live objects. Build it, upload it, create an object, and call it:
//!
//! ```sh
//! diwan object put .
//! diwan object create TYPE_NAME/first
//! diwan object call TYPE_NAME/first hit '{"by":2}'
//! ```

use diwan_object::serde_json::Value;
use diwan_object::{Refused, export};
use serde::{Deserialize, Serialize};

struct Hits {
    count: i64,
}

#[derive(Debug, Deserialize, Serialize)]
struct Count {
    count: i64,
}

impl Hits {
    fn new(start: Option<i64>) -> Self {
        Self { count: start.unwrap_or(0) }
    }

    fn hit(&mut self, by: Option<i64>) -> Result<Count, Refused> {
        let sum = self.count.checked_add(by.unwrap_or(1));
        self.count = sum.ok_or_else(|| Refused::new("overflow", "more hits than can be counted"))?;
        Ok(self.get())
    }

    fn get(&self) -> Count {
        Count { count: self.count }
    }

    /// What a later version of this type begins with.
    fn save(&self) -> Count {
        self.get()
    }

    fn migrate(_description: Value, saved: Count) -> Self {
        Self { count: saved.count }
    }
}

export!(Hits as "TYPE_NAME" {
    new(start: Option<i64>);
    command hit(by: Option<i64>);
    query get();
    event save();
    event migrate(description: Value, state: Count);
});

#[cfg(test)]
mod tests {
    use super::{Hits, Value};

    #[test]
    fn hits_are_counted() {
        let mut hits = Hits::new(Some(3));
        assert_eq!(hits.hit(None).unwrap().count, 4);
        assert_eq!(hits.hit(Some(i64::MAX)).unwrap_err().code, "overflow");
        assert_eq!(hits.get().count, 4);
    }

    #[test]
    fn later_version_goes_on() {
        let saved = Hits::new(Some(3)).save();
        assert_eq!(Hits::migrate(Value::Null, saved).get().count, 3);
    }
}
