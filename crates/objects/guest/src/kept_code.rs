//! Machine code in files, so that a member that starts compiles nothing again that it has compiled before.
//!
//! Who may write into a file that is taken for machine code may do anything that the member may. So each file begins with a
//! code of authentication (HMAC-SHA-256) over its name and its content, with a secret that lies in the same directory and that
//! only the member's user may read. What another secret has written, what is damaged or cut short, and what has the name of
//! other code is removed, and compiled anew. A file's name follows from the module as it was rewritten, the engine's version,
//! its settings and the processor's features, so that of another build or machine is not found at all.
//!
//! Nothing that goes wrong here stops a member: it compiles.
//!
//! # Not done, and what that costs
//! A file is not flushed to the disk. After the machine itself has failed it may be cut short; then it is compiled anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of all files together.
const BYTES_MAX: u64 = 512 << 20;
/// Bytes of one file: the largest runner makes some 50 MiB.
const FILE_BYTES_MAX: u64 = 256 << 20;
const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;
/// Bytes of the code of authentication.
const TAG_BYTES: usize = 32;
const EXTENSION: &str = "code";
const UNFINISHED: &str = "tmp";

/// See the module.
pub(crate) struct KeptCode {
    directory: PathBuf,
    secret: [u8; SECRET_BYTES],
    bytes_max: u64,
}

impl KeptCode {
    /// In that directory, which is made if it is not there.
    pub(crate) fn open(directory: PathBuf) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        for file in files(&directory)?.filter(|file| is_of(file, UNFINISHED)) {
            fs::remove_file(file)?;
        }
        let secret = secret(&directory)?;
        Ok(Self { directory, secret, bytes_max: BYTES_MAX })
    }

    /// The code of that name, as it was kept. A file that is not is removed.
    pub(crate) fn load(&self, name: [u8; 32]) -> Option<Vec<u8>> {
        let path = self.path(name);
        let mut file = File::open(&path).ok()?;
        let code = self.read(&mut file, name);
        if code.is_none() {
            tracing::warn!(
                file = %path.display(),
                "compiled code is not what this member has written: it is removed, and the module is compiled anew"
            );
            self.forget(name);
        }
        // What was used last is removed last.
        let _ = file.set_modified(SystemTime::now());
        code
    }

    fn read(&self, file: &mut File, name: [u8; 32]) -> Option<Vec<u8>> {
        let bytes = file.metadata().ok()?.len();
        let code_bytes = bytes.checked_sub(TAG_BYTES as u64).filter(|_| bytes <= FILE_BYTES_MAX)?;
        let mut tag = [0; TAG_BYTES];
        file.read_exact(&mut tag).ok()?;
        let mut code = Vec::with_capacity(usize::try_from(code_bytes).ok()?);
        file.take(FILE_BYTES_MAX).read_to_end(&mut code).ok()?;
        self.authentication(name, &code).verify_slice(&tag).ok()?;
        Some(code)
    }

    /// Keeps code under that name. Files that were used least recently make room.
    pub(crate) fn keep(&self, name: [u8; 32], code: &[u8]) {
        if (code.len() + TAG_BYTES) as u64 > FILE_BYTES_MAX.min(self.bytes_max) {
            return;
        }
        if let Err(error) = self.write(name, code).and_then(|()| self.trim()) {
            tracing::warn!(
                directory = %self.directory.display(), %error,
                "compiled code cannot be kept: the module is compiled again at the next start; hint: make room on the disk"
            );
        }
    }

    fn write(&self, name: [u8; 32], code: &[u8]) -> io::Result<()> {
        let (path, unfinished) = (self.path(name), self.path(name).with_extension(UNFINISHED));
        let mut file = new_file(&unfinished)?;
        let tag = self.authentication(name, code).finalize().into_bytes();
        let written = file.write_all(&tag).and_then(|()| file.write_all(code));
        written.and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| _ = fs::remove_file(&unfinished))
    }

    /// Removes those that were used least recently, until what is left is as much as may be kept.
    fn trim(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        for file in files(&self.directory)?.filter(|file| is_of(file, EXTENSION)) {
            let about = fs::metadata(&file)?;
            kept.push((about.modified()?, about.len(), file));
        }
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, of_file, file) in kept {
            if bytes <= self.bytes_max {
                break;
            }
            fs::remove_file(file)?;
            bytes -= of_file;
        }
        Ok(())
    }

    /// The code of that name is of no use.
    pub(crate) fn forget(&self, name: [u8; 32]) {
        let _ = fs::remove_file(self.path(name));
    }

    fn authentication(&self, name: [u8; 32], code: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("a secret has any length");
        mac.chain_update(name).chain_update(code)
    }

    fn path(&self, name: [u8; 32]) -> PathBuf {
        let hex: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(hex).with_extension(EXTENSION)
    }
}

/// The secret of the directory. One that is not whole is made anew: nothing that it has authenticated is used then.
fn secret(directory: &Path) -> io::Result<[u8; SECRET_BYTES]> {
    let path = directory.join(SECRET);
    match fs::read(&path) {
        Ok(bytes) => {
            if let Ok(secret) = bytes.try_into() {
                return Ok(secret);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret)?;
    let unfinished = path.with_extension(UNFINISHED);
    new_file(&unfinished)?.write_all(&secret)?;
    fs::rename(unfinished, path)?;
    Ok(secret)
}

/// A new file that only this user may read and write.
fn new_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn files(directory: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    Ok(fs::read_dir(directory)?.flatten().map(|entry| entry.path()))
}

fn is_of(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: [u8; 32] = [1; 32];

    fn kept() -> (tempfile::TempDir, KeptCode) {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptCode::open(folder.path().join("code")).unwrap();
        (folder, kept)
    }

    #[test]
    fn kept_code_comes_back_also_to_another_process() {
        let (folder, kept) = kept();
        assert_eq!(kept.load(NAME), None);
        kept.keep(NAME, b"machine code");
        kept.keep(NAME, b"machine code again");
        assert_eq!(kept.load(NAME).as_deref(), Some(&b"machine code again"[..]));
        let again = KeptCode::open(folder.path().join("code")).unwrap();
        assert_eq!(again.load(NAME).as_deref(), Some(&b"machine code again"[..]));
    }

    #[test]
    fn kept_code_that_is_changed_anywhere_is_removed() {
        let (_folder, kept) = kept();
        let length = TAG_BYTES + b"machine code".len();
        for change in 0..=length {
            kept.keep(NAME, b"machine code");
            let mut bytes = fs::read(kept.path(NAME)).unwrap();
            match bytes.get_mut(change) {
                Some(byte) => *byte ^= 0x10,
                None => bytes.push(0),
            }
            fs::write(kept.path(NAME), &bytes).unwrap();
            assert_eq!(kept.load(NAME), None, "{change}");
            assert!(!kept.path(NAME).exists(), "{change}");
        }
        for cut in 0..length {
            kept.keep(NAME, b"machine code");
            let bytes = fs::read(kept.path(NAME)).unwrap();
            fs::write(kept.path(NAME), &bytes[..cut]).unwrap();
            assert_eq!(kept.load(NAME), None, "{cut}");
        }
    }

    #[test]
    fn kept_code_of_another_name_or_another_secret_is_foreign() {
        let (folder, kept) = kept();
        kept.keep(NAME, b"machine code");
        fs::rename(kept.path(NAME), kept.path([2; 32])).unwrap();
        assert_eq!(kept.load([2; 32]), None, "code of one name under another");
        kept.keep(NAME, b"machine code");
        let directory = folder.path().join("code");
        for secret in [&b"short"[..], &[]] {
            fs::write(directory.join(SECRET), secret).unwrap();
            let again = KeptCode::open(directory.clone()).unwrap();
            assert_eq!(again.load(NAME), None, "the secret was made anew");
            again.keep(NAME, b"machine code");
        }
        let stranger = tempfile::tempdir().unwrap();
        let theirs = KeptCode::open(stranger.path().join("code")).unwrap();
        theirs.keep(NAME, b"hostile code");
        let own = KeptCode::open(directory).unwrap();
        fs::copy(theirs.path(NAME), own.path(NAME)).unwrap();
        assert_eq!(own.load(NAME), None, "written by another member");
    }

    #[test]
    fn kept_code_is_bounded_and_what_was_used_last_stays() {
        let (_folder, mut kept) = kept();
        kept.bytes_max = 3 * (TAG_BYTES as u64 + 100);
        let old = SystemTime::UNIX_EPOCH;
        for number in 1..=3_u8 {
            kept.keep([number; 32], &[number; 100]);
            let file = File::options().write(true).open(kept.path([number; 32])).unwrap();
            file.set_modified(old + std::time::Duration::from_secs(u64::from(number))).unwrap();
        }
        assert!(kept.load([1; 32]).is_some());
        kept.keep([4; 32], &[4; 100]);
        let left = [1, 2, 3, 4].map(|number| kept.load([number; 32]).is_some());
        assert_eq!(left, [true, false, true, true]);
        kept.keep([5; 32], &[5; 1_000]);
        assert_eq!(kept.load([5; 32]), None, "larger than all that is kept");
    }

    #[test]
    fn what_a_crash_left_unfinished_is_removed() {
        let (folder, kept) = kept();
        let unfinished = kept.path(NAME).with_extension(UNFINISHED);
        fs::write(&unfinished, b"half of it").unwrap();
        let again = KeptCode::open(folder.path().join("code")).unwrap();
        assert!(!unfinished.exists());
        again.keep(NAME, b"machine code");
        assert!(again.load(NAME).is_some());
    }
}
