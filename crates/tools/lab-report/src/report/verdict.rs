//! One sentence an experiment: what came out. Shared by the page and the documents.

use super::Language;
use super::Spoken;
use super::chart::number;
use super::summary::{Ratio, Summary};
use super::words::{self, name};

/// Keeps a name or a number apart from the direction of the text around it.
fn isolated(text: &str) -> String {
    format!("\u{2068}{text}\u{2069}")
}

/// What came out, by the figure that the experiment is about first; nothing where no peer was measured.
pub(super) fn sentence(summary: &Summary<'_>) -> Option<Spoken> {
    let ratios = summary.ratios();
    let first = summary.compared().find(|figure| ratios.iter().any(|ratio| ratio.figure == *figure))?;
    let of_first: Vec<_> = ratios.iter().filter(|ratio| ratio.figure == first).collect();
    let told = |language: Language| -> Vec<String> {
        of_first.iter().map(|ratio| against(ratio, language)).collect()
    };
    let (english, arabic) = (Language::English, Language::Arabic);
    Some(Spoken {
        en: format!("Diwan's {} is {}.", name(first, english), told(english).join(" and ")),
        ar: format!("{} لدى ديوان {}.", isolated(&name(first, arabic)), told(arabic).join(" و")),
    })
}

fn against(ratio: &Ratio<'_>, language: Language) -> String {
    let (times, peer) = (shortened(ratio.mean), name(ratio.peer, language));
    let mut verdict = (if ratio.is_better() { words::BETTER } else { words::WORSE }).of(language).to_owned();
    if ratio.least < 1.0 && ratio.most > 1.0 {
        // The mean hides points that came out the other way round.
        let range = format!("{} – {}", shortened(ratio.least), shortened(ratio.most));
        verdict += &match language {
            Language::English => format!(" in the mean; {range}"),
            Language::Arabic => format!(" في المتوسط؛ {}", isolated(&range)),
        };
    }
    match language {
        Language::English => format!("{times} times {peer}'s ({verdict})"),
        Language::Arabic => format!("{} مما لدى {} ({verdict})", isolated(&times), isolated(&peer)),
    }
}

/// A ratio with two digits that count: more would promise what a measurement does not hold.
pub(super) fn shortened(ratio: f64) -> String {
    if ratio <= 0.0 {
        return number(ratio);
    }
    let unit = 10f64.powf(ratio.log10().floor() - 1.0);
    number((ratio / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure;

    #[test]
    fn mean_does_not_hide_points_that_came_out_worse() {
        let ratio = |least, most| Ratio { peer: "etcd", figure: figure::P50, mean: 0.5, least, most };
        assert_eq!(against(&ratio(0.2, 0.9), Language::English), "0.5 times etcd's (better)");
        assert_eq!(
            against(&ratio(0.2, 3.5), Language::English),
            "0.5 times etcd's (better in the mean; 0.2 – 3.5)"
        );
    }

    #[test]
    fn ratio_has_two_digits() {
        let ratios = [(0.007_63, "0.0076"), (1.234, "1.2"), (12.9, "13"), (0.0, "0"), (0.1049, "0.1")];
        for (ratio, text) in ratios {
            assert_eq!(shortened(ratio), text);
        }
    }
}
