//! What `diwan object put` makes of a folder: a module, by its language's own tool, or the source that is in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use objects_state::{DESCRIPTION_SECTION, custom_section};
use serde_json::Value;

use crate::log::failure::{Done, Failure};

/// The target for which Rust's modules are built.
const RUST_TARGET: &str = "wasm32-unknown-unknown";
/// Where Go's modules are put, in their folder.
const GO_MODULE: &str = "build/type.wasm";

#[derive(Debug, Args)]
pub(crate) struct BuildArguments {
    /// A folder with a crate of Rust or a package of Go.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Builds without uploading, and tells where the module is.
pub(super) fn build(arguments: &BuildArguments, out: &mut impl Write) -> Done {
    let folder = &arguments.folder;
    let Some(module) = module_of(folder)? else {
        let what = format!("`{}` is neither a crate of Rust nor a package of Go", folder.display());
        return Err(Failure::hinted(what, "a source in Python or JavaScript is uploaded as it is"));
    };
    writeln!(out, "{}", module.display())?;
    Ok(())
}

/// The module that a path means, built if that is needed; nothing if it is a source for a runner.
pub(super) fn module_of(path: &Path) -> Done<Option<PathBuf>> {
    if path.join("Cargo.toml").is_file() {
        return build_rust(path).map(Some);
    }
    if path.join("go.mod").is_file() || path.join("main.go").is_file() {
        return build_go(path).map(Some);
    }
    Ok(path.extension().is_some_and(|extension| extension == "wasm").then(|| path.into()))
}

/// The one source of a folder, or the file itself.
pub(super) fn source_of(path: &Path) -> Done<PathBuf> {
    let is = |path: &Path, end: &str| path.extension().is_some_and(|extension| extension == end);
    if is(path, "ts") {
        return Err(Failure::hinted(
            format!("`{}` is TypeScript, which the runner does not read", path.display()),
            "compile it to one file: `tsc --target es2022 --module es2022`",
        ));
    }
    if path.is_file() {
        return Ok(path.into());
    }
    let files = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let files = files.flatten().map(|entry| entry.path());
    let mut sources: Vec<_> = files.filter(|path| is(path, "py") || is(path, "js")).collect();
    match (sources.pop(), sources.is_empty()) {
        (Some(source), true) => Ok(source),
        _ => Err(Failure::hinted(
            format!("`{}` has no `Cargo.toml`, no `go.mod`, and not one source alone", path.display()),
            "name the file",
        )),
    }
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("`{}` cannot be read: {error}", path.display()))
}

/// Builds a crate, and gives its module.
fn build_rust(folder: &Path) -> Done<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--release",
        "--target",
        RUST_TARGET,
        "--message-format",
        "json-render-diagnostics",
    ]);
    let output = cargo.current_dir(folder).stderr(Stdio::inherit()).output().map_err(|error| {
        Failure::hinted(format!("cargo cannot be run: {error}"), "install Rust: https://rustup.rs")
    })?;
    if !output.status.success() {
        let hint = format!("if the target is missing: `rustup target add {RUST_TARGET}`");
        return Err(Failure::hinted("cargo could not build the module", hint));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files = built.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let modules = files.filter_map(|file| file.as_str().map(PathBuf::from));
    let mut modules = modules.filter(|file| file.extension().is_some_and(|end| end == "wasm"));
    modules.next_back().ok_or_else(|| {
        let hint = "its `Cargo.toml` needs `[lib]` with `crate-type = [\"cdylib\"]`";
        Failure::hinted("cargo built no module", hint)
    })
}

/// Builds a package of Go, and gives its module. Go's linker knows no sections of others, so the program, built for this machine,
/// tells what it is, and that becomes the section.
fn build_go(folder: &Path) -> Done<PathBuf> {
    let mut build = Command::new("go");
    build.args([
        "build",
        "-buildmode=c-shared",
        "-trimpath",
        "-ldflags=-s -w -buildid=",
        "-o",
        GO_MODULE,
        ".",
    ]);
    build.env("GOOS", "wasip1").env("GOARCH", "wasm");
    run_go(build, folder, "go could not build the module")?;
    let mut tell = Command::new("go");
    tell.args(["run", "."]).env_remove("GOOS").env_remove("GOARCH");
    let told = run_go(tell, folder, "the program did not say what its type is")?;
    let description = told.trim_ascii();
    if serde_json::from_slice::<Value>(description).map_or(true, |told| !told.is_object()) {
        let hint = "its `main` calls `object.Main()`, and prints nothing";
        return Err(Failure::hinted("the program did not say what its type is", hint));
    }
    let file = folder.join(GO_MODULE);
    let mut module = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
    if custom_section(&module, DESCRIPTION_SECTION).is_none() {
        append_section(&mut module, DESCRIPTION_SECTION, description);
    }
    fs::write(&file, module)
        .map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", file.display())))?;
    Ok(file)
}

fn run_go(mut go: Command, folder: &Path, failed: &str) -> Done<Vec<u8>> {
    let output = go.current_dir(folder).stderr(Stdio::inherit()).output().map_err(|error| {
        Failure::hinted(format!("go cannot be run: {error}"), "install Go 1.24 or later: https://go.dev/dl")
    })?;
    if !output.status.success() {
        return Err(Failure::hinted(failed, "modules need Go 1.24 or later: `go version`"));
    }
    Ok(output.stdout)
}

/// Appends a custom section to a module.
fn append_section(module: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let mut content = length(name.len());
    content.extend_from_slice(name.as_bytes());
    content.extend_from_slice(bytes);
    module.push(0);
    module.extend(length(content.len()));
    module.extend(content);
}

/// A number as WebAssembly writes it (LEB128).
fn length(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes.push(if number > 0 { low | 0x80 } else { low });
        if number == 0 {
            return bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use objects_state::custom_section;

    use super::{append_section, source_of};

    #[test]
    fn source_is_the_only_one_in_its_folder_and_no_typescript() {
        let folder = std::env::temp_dir().join(format!("diwan-sources-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str| folder.join(name);
        assert!(source_of(&folder).is_err());
        fs::write(file("diwan.d.ts"), "").unwrap();
        fs::write(file("hits.js"), "").unwrap();
        assert_eq!(source_of(&folder).unwrap(), file("hits.js"));
        assert_eq!(source_of(&file("hits.js")).unwrap(), file("hits.js"));
        assert!(source_of(&file("diwan.d.ts")).is_err());
        fs::write(file("other.py"), "").unwrap();
        assert!(source_of(&folder).is_err(), "two sources");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn appended_section_is_found_again() {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let long = vec![b'x'; 300];
        append_section(&mut module, "other", &long);
        append_section(&mut module, "diwan.type", b"{}");
        assert_eq!(custom_section(&module, "diwan.type"), Some(&b"{}"[..]));
        assert_eq!(custom_section(&module, "other"), Some(long.as_slice()));
    }
}
