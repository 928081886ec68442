//! Descriptors that are kept in reserve, for use when the system has no others.

use rustix::io::Errno;
use std::fs::File;
use std::io;

/// How many are kept: for the segment that is made, the one that is read, the directory, and a snapshot that is written
/// and read.
const SPARES: usize = 8;

/// Descriptors that are released when the system has no others, so that the log can continue.
#[derive(Debug, Default)]
pub(crate) struct SpareDescriptors(Vec<File>);

impl SpareDescriptors {
    /// Opens a file, if need be with a spare descriptor; and takes back spares that were given up.
    pub(crate) fn open(&mut self, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
        let file = loop {
            match open() {
                Err(error) if has_run_out(&error) && self.0.pop().is_some() => {}
                other => break other?,
            }
        };
        while self.0.len() < SPARES {
            let Ok(spare) = File::open("/dev/null") else { break };
            self.0.push(spare);
        }
        Ok(file)
    }
}

/// Whether the process (`EMFILE`) or the system (`ENFILE`) has no descriptor left.
pub(crate) fn has_run_out(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    errno == Some(Errno::MFILE.raw_os_error()) || errno == Some(Errno::NFILE.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::disk_error;
    use std::io::ErrorKind;
    use storage_disk::DiskError;

    #[test]
    fn a_file_is_opened_with_a_spare_descriptor_when_there_is_no_other() {
        let mut spares = SpareDescriptors::default();
        let null = || File::open("/dev/null");
        spares.open(null).expect("opened");
        assert_eq!(spares.0.len(), SPARES);
        let failures = std::cell::Cell::new(2);
        let scarce = || match failures.get() {
            0 => null(),
            left => {
                failures.set(left - 1);
                Err(Errno::MFILE.into())
            }
        };
        spares.open(scarce).expect("the third try succeeds");
        assert_eq!((failures.get(), spares.0.len()), (0, SPARES), "spares that were given up are taken back");
        let none = spares.open(|| Err(Errno::MFILE.into())).expect_err("there is none");
        assert_eq!(disk_error(&none), DiskError::NoDescriptor);
        assert!(spares.0.is_empty());
        assert_eq!(
            spares.open(|| Err(Errno::NOENT.into())).expect_err("no file").kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn errors_of_both_limits_are_known() {
        for errno in [Errno::MFILE, Errno::NFILE] {
            assert!(has_run_out(&io::Error::from(errno)));
        }
        assert!(!has_run_out(&io::Error::from(Errno::NOSPC)));
    }
}
