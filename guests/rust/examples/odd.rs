//! What types should not do, and what they may: for the tests.

use diwan_object::{Refused, export};

struct Odd {
    items: Vec<String>,
}

impl Odd {
    fn new() -> Self {
        Self { items: Vec::new() }
    }

    fn add(&mut self, item: String) -> usize {
        self.items.push(item);
        self.items.len()
    }

    fn fail(&mut self) -> Result<(), Refused> {
        self.items.push(String::from("lost"));
        Err(Refused::new("odd", "no such thing"))
    }

    fn panic(&mut self) {
        self.items.push(String::from("lost"));
        panic!("{} items are too many", self.items.len());
    }

    /// A text of so many characters.
    fn long(&mut self, length: usize) -> String {
        "x".repeat(length)
    }

    fn items(&self) -> &[String] {
        &self.items
    }
}

export!(Odd as "odd" {
    new();
    command add(item: String);
    command fail();
    command panic();
    command long(length: usize);
    query items();
});
