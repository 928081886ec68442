//! Gives the engine memories: reserved for good at instantiation, so that growing fails by the limit and never by the host.

use std::cell::RefCell;
use std::sync::Arc;

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::image::Image;
use super::mapping::Mapping;
use super::written::{self, Tracking};

thread_local! {
    /// What the memory begins as that this thread is about to make.
    static BEGINNING: RefCell<Option<Arc<Image>>> = const { RefCell::new(None) };
}

/// Makes instances whose memories begin as this image, or with zeros.
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
    tracking: Tracking,
}

impl Creator {
    /// For memories of at most so many bytes.
    pub(crate) const fn new(bytes_max: usize, tracking: Tracking) -> Self {
        Self { bytes_max, tracking }
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
        let reserved = reserved.unwrap_or(0).max(self.bytes_max);
        let mut mapping = Mapping::reserved(reserved + guard);
        mapping.small_pages(self.bytes_max);
        BEGINNING.with_borrow(|image| {
            if let Some(image) = image.as_ref().filter(|image| !image.bytes().is_empty()) {
                mapping.cover(image.file(), image.bytes().len());
            }
        });
        if self.tracking == Tracking::Kernel {
            written::watch(&mapping, self.bytes_max);
        }
        mapping.open(0, minimum);
        Ok(Box::new(Linear { mapping, bytes: minimum, bytes_max: self.bytes_max }))
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
