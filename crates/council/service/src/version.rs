//! What this server says that it is.

use std::sync::OnceLock;

use node_threads::calendar;

/// The ZooKeeper whose behaviour this server shows, then its own name and version, then when it was built: tools
/// read the leading number, people read the rest.
pub(crate) fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let built = env!("DIWAN_BUILT_SECONDS").parse().unwrap_or(0);
        format!("3.9.5-diwan-{}, built on {}", env!("CARGO_PKG_VERSION"), calendar::short_date(built))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_shaped_as_clients_parse_it() {
        let (number, rest) = version().split_once('-').expect("a number, then more");
        assert_eq!(number.split('.').filter_map(|part| part.parse::<u32>().ok()).count(), 3);
        assert!(
            rest.starts_with("diwan-") && rest.contains(", built on 20") && rest.ends_with(" UTC"),
            "{rest}"
        );
    }
}
