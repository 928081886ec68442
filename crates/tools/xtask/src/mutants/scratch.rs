//! A copy of the workspace in which bugs are planted, so that none of them can ever be committed or shipped. Its build
//! has a folder of its own; only what changed is written, so that only that is built again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::mutant::Mutant;
use crate::workspace::Workspace;

/// See the module.
pub(super) struct Scratch {
    root: PathBuf,
    pub(super) copy: PathBuf,
    pub(super) target: PathBuf,
    /// Where programs without any bug are kept.
    pub(super) unchanged: PathBuf,
}

impl Scratch {
    /// The workspace as it is now, with what is not committed yet.
    pub(super) fn of(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.target.join("mutants");
        let scratch = Self {
            root: workspace.root.clone(),
            copy: folder.join("src"),
            target: folder.join("target"),
            unchanged: folder.join("unchanged"),
        };
        for needed in [&scratch.copy, &scratch.unchanged] {
            std::fs::create_dir_all(needed).with_context(|| format!("cannot make `{}`", needed.display()))?;
        }
        let files: BTreeSet<_> = workspace.tracked()?.into_iter().map(PathBuf::from).collect();
        for file in &files {
            scratch.bring(file)?;
        }
        remove_others(&scratch.copy, &scratch.copy, &files)?;
        Ok(scratch)
    }

    /// Plants a bug.
    pub(super) fn plant(&self, mutant: &Mutant) -> anyhow::Result<()> {
        for edit in &mutant.edits {
            let path = self.copy.join(&edit.file);
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", edit.file))?;
            write(&path, edit.apply(&text)?.as_bytes())?;
        }
        Ok(())
    }

    /// Takes it out again, half planted as it may be.
    pub(super) fn weed(&self, mutant: &Mutant) -> anyhow::Result<()> {
        mutant.edits.iter().try_for_each(|edit| self.bring(Path::new(&edit.file)))
    }

    /// Makes one file what it is in the workspace.
    fn bring(&self, file: &Path) -> anyhow::Result<()> {
        let to = self.copy.join(file);
        // One that git still lists, but that was just deleted, is gone here too.
        let Ok(bytes) = std::fs::read(self.root.join(file)) else {
            let _ = std::fs::remove_file(&to);
            return Ok(());
        };
        if std::fs::read(&to).is_ok_and(|present| present == bytes) {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        }
        write(&to, &bytes)
    }
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// A file that the workspace has no more would still be built.
fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(top, &path, files)?;
        } else if path.strip_prefix(top).is_ok_and(|name| !files.contains(name)) {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
    }
    Ok(())
}
