//! Modules that import each other in a circle: none of them can be read or tested alone.
//!
//! Looks at the first level of modules of each library and program: which names which by `crate::`. Tests do not count,
//! nor does the root. Cycles that are to stay are listed with a reason; any other, and any that grows, is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Verdict;
use crate::workspace::Workspace;

/// Modules of a package that may import each other, with the reason.
const ALLOWED: &[(&str, &[&str], &str)] = &[
    ("storage-raft-log", &["journal", "recovery"], "opening a journal is recovery, which makes a journal"),
    ("council-tree", &["arena", "node"], "a node lies in the arena, and the arena's slots hold nodes"),
    (
        "storage-wal",
        &["directory", "replay"],
        "scanning a directory replays its segments, which asks what was found",
    ),
    ("storage-wal", &["logs", "wal"], "the table of logs is a part of the log that carries them"),
    ("council-client", &["delivery", "event"], "an event says how it is delivered"),
    ("council-client-core", &["decode", "operation"], "an operation names how its reply is read"),
];

/// Which modules of a package each module names.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn run(workspace: &Workspace) -> Verdict {
    let mut violations = Vec::new();
    let mut used = BTreeSet::new();
    for package in &workspace.packages {
        let roots = package.targets.iter().filter(|target| {
            target.kind.iter().any(|kind| kind == "lib" || kind == "bin")
                && target.src_path.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs")
        });
        let Some(sources) = roots.filter_map(|target| target.src_path.parent()).next() else { continue };
        for cycle in cycles(&imports(sources)?) {
            let allowed = ALLOWED.iter().position(|(name, modules, _)| {
                *name == package.name && cycle.iter().all(|module| modules.contains(&module.as_str()))
            });
            match allowed {
                Some(place) => drop(used.insert(place)),
                None => violations.push(format!(
                    "`{}`: these modules import each other in a circle: {}",
                    package.name,
                    cycle.iter().cloned().collect::<Vec<_>>().join(", ")
                )),
            }
        }
    }
    let idle = (0..ALLOWED.len()).filter(|place| !used.contains(place));
    violations.extend(
        idle.map(|place| format!("ALLOWED of cycles.rs names a cycle that is gone: {:?}", ALLOWED[place])),
    );
    if violations.is_empty() {
        return Ok(String::new());
    }
    bail!("{}", violations.join("\n"))
}

/// Reads all sources of a library or program.
fn imports(sources: &Path) -> anyhow::Result<Imports> {
    let mut imports = Imports::new();
    for file in super::layers::rust_files(sources)? {
        let Some(module) = module_of(sources, &file) else { continue };
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        imports.entry(module).or_default().extend(named(&text));
    }
    let modules: BTreeSet<String> = imports.keys().cloned().collect();
    for (module, named) in &mut imports {
        named.retain(|other| other != module && modules.contains(other));
    }
    Ok(imports)
}

/// The first-level module of a file; none for the root and for tests.
fn module_of(sources: &Path, file: &Path) -> Option<String> {
    let inside: PathBuf = file.strip_prefix(sources).ok()?.with_extension("");
    let mut parts = inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let first = parts.next()?;
    let is_test = inside.file_stem().is_some_and(|name| {
        let name = name.to_string_lossy();
        name == "tests" || name.ends_with("_tests") || name == "testing"
    });
    let inside_tests =
        inside.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "bin");
    (!["lib", "main"].contains(&first.as_str()) && !is_test && !inside_tests).then_some(first)
}

/// The first-level modules that a text names by `crate::`, alone or in braces; unit tests at its end do not count.
fn named(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(firsts(list)),
            None => found.extend(identifier(rest)),
        }
    }
    found
}

/// The first names of each path in a list in braces.
fn firsts(list: &str) -> Vec<String> {
    let (mut depth, mut starts, mut names) = (0, true, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts = true,
            _ if starts && depth == 0 && !letter.is_whitespace() => {
                names.extend(identifier(&list[at..]));
                starts = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    // What begins with a capital is re-exported at the root: which module it comes from is not seen here.
    name.chars().next().is_some_and(char::is_lowercase).then_some(name)
}

/// All groups of modules of which each reaches each other.
fn cycles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for module in imports.keys() {
        if found.iter().any(|cycle| cycle.contains(module)) {
            continue;
        }
        let forth = reached(imports, module);
        let cycle: BTreeSet<String> =
            forth.into_iter().filter(|other| reached(imports, other).contains(module)).collect();
        if !cycle.is_empty() {
            found.push(cycle);
        }
    }
    found
}

/// Everything that a module reaches in one step or more.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut all, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = next.pop() {
        for other in imports.get(&module).into_iter().flatten() {
            if all.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_alone_and_in_braces() {
        let text = "use crate::a::B;\nuse crate::{c::{d, e}, f, G};\nfn g() { crate::h::i() }\n\
                    use other_crate::no;\n#[cfg(test)]\nmod tests { use crate::z; }";
        let expected = ["a", "c", "f", "h"].map(String::from);
        assert_eq!(named(text), BTreeSet::from(expected));
    }

    #[test]
    fn cycle_is_found_with_all_its_modules_and_no_others() {
        let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f")];
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry(from.into()).or_default().insert(to.into());
            imports.entry(to.into()).or_default();
        }
        assert_eq!(cycles(&imports), [BTreeSet::from(["a", "b", "c"].map(String::from))]);
    }

    #[test]
    fn module_of_a_nested_file_is_the_first_level() {
        let of = |file: &str| module_of(Path::new("/s"), Path::new(file));
        assert_eq!(of("/s/a.rs").as_deref(), Some("a"));
        assert_eq!(of("/s/a/b/c.rs").as_deref(), Some("a"));
        assert_eq!(of("/s/lib.rs"), None);
        assert_eq!(of("/s/a/tests.rs"), None);
    }
}
