//! Gives the engine memories: reserved for good at instantiation, so that growing fails by the limit and never by the host.

use std::cell::RefCell;
use std::sync::Arc;

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::image::Image;
use super::mapping::Mapping;

thread_local! {
    /// What the next memory begins as that this thread makes.
    static BEGINNING: RefCell<Option<Arc<Image>>> = const { RefCell::new(None) };
}

/// Makes an instance whose first memory begins as this image, or with zeros.
pub(crate) fn beginning_as<T>(image: Option<&Arc<Image>>, make: impl FnOnce() -> T) -> T {
    struct Back(Option<Arc<Image>>);
    impl Drop for Back {
        fn drop(&mut self) {
            BEGINNING.set(self.0.take());
        }
    }
    let _back = Back(BEGINNING.replace(image.cloned()));
    make()
}

/// Makes the memories of the instances of one module: of all versions that share its machine code.
pub(crate) struct Creator {
    bytes_max: usize,
}

impl Creator {
    /// For memories of at most so many bytes, or of as many as they begin with.
    pub(crate) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max }
    }
}

// SAFETY: each memory is a range of its own, with as much reserved behind it as the engine asks for; see `Linear`.
unsafe impl MemoryCreator for Creator {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let bytes_max = self.bytes_max.max(minimum);
        let mut mapping = Mapping::reserved(reserved.unwrap_or(0).max(bytes_max) + guard);
        mapping.small_pages(bytes_max);
        // An instance's memories are made in the module's order: its own first, then the one that was added.
        if let Some(image) = BEGINNING.take().filter(|image| !image.bytes().is_empty()) {
            mapping.cover(image.file(), image.bytes().len());
        }
        mapping.open(0, minimum);
        Ok(Box::new(Linear { mapping, bytes: minimum, bytes_max }))
    }
}

struct Linear {
    mapping: Mapping,
    bytes: usize,
    bytes_max: usize,
}

// SAFETY: the range begins at a page, does not move, and what lies behind its size may not be touched up to the end of the guard.
unsafe impl LinearMemory for Linear {
    fn byte_size(&self) -> usize {
        self.bytes
    }

    fn byte_capacity(&self) -> usize {
        self.bytes_max
    }

    fn grow_to(&mut self, bytes: usize) -> wasmtime::Result<()> {
        assert!(bytes <= self.bytes_max, "the limiter refuses more before");
        self.mapping.open(self.bytes, bytes);
        self.bytes = bytes;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.mapping.base()
    }
}
