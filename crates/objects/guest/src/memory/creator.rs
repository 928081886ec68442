//! Gives the engine memories: reserved for good at instantiation, so that growing fails by the limit and never by the host.

use std::sync::{Arc, OnceLock};

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use super::image::Image;
use super::mapping::Mapping;
use super::written::{self, Tracking};

/// Makes the memories of one version's instances.
pub(crate) struct Creator {
    image: OnceLock<Arc<Image>>,
    bytes_max: usize,
    tracking: Tracking,
}

impl Creator {
    /// For memories of at most so many bytes.
    pub(crate) fn new(bytes_max: usize, tracking: Tracking) -> Self {
        Self { image: OnceLock::new(), bytes_max, tracking }
    }

    /// From now on memories begin as this image. Those made before begin with zeros.
    pub(crate) fn begin_as(&self, image: Arc<Image>) {
        assert!(self.image.set(image).is_ok(), "a version has one image");
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
        if let Some(image) = self.image.get().filter(|image| !image.bytes().is_empty()) {
            mapping.cover(image.file(), image.bytes().len());
        }
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
