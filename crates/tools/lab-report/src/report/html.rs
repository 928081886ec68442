//! The page: everything in both languages, of which the reader sees one.

use std::fmt::Write as _;

use super::chart::{escaped, number};
use super::summary::{Counted, Ratio, Summary, skipped_everywhere, summaries};
use super::words::{self, Word};
use super::{Language, SCRIPT, STYLE, Spoken, picture, verdict};
use crate::describe::{Catalogue, Middle, Servers};
use crate::figure;
use crate::record::{Checked, Run, Skipped};
use crate::statistics::Mean;
use serde_json::Value;

/// The whole page.
pub(super) fn page(run: &Run, catalogue: &Catalogue) -> String {
    let summaries = summaries(run, catalogue);
    let mut body = String::new();
    header(&mut body, catalogue);
    let everywhere = skipped_everywhere(&summaries);
    outcomes(&mut body, &summaries, &everywhere);
    overview(&mut body, &summaries, catalogue);
    for summary in &summaries {
        experiment(&mut body, summary, &(catalogue.servers)(run, summary.experiment), &everywhere);
    }
    machine(&mut body, run);
    let title = words::TITLE.of(Language::English);
    format!(
        "<!doctype html>\n<html lang=\"en\" dir=\"ltr\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )
}

/// A text in both languages.
fn both(text: &Spoken) -> String {
    match text.en == text.ar {
        true => escaped(&text.en),
        false => {
            let one = |language: Language| {
                let (tag, direction, text) =
                    (language.tag(), language.direction(), escaped(text.of(language)));
                format!("<span class=\"{tag}\" lang=\"{tag}\" dir=\"{direction}\">{text}</span>")
            };
            Language::ALL.map(one).concat()
        }
    }
}

fn word(word: Word) -> String {
    both(&word.into())
}

fn named(text: &str) -> String {
    both(&Spoken::name(text))
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(what);
}

fn header(out: &mut String, catalogue: &Catalogue) {
    let (title, subtitle) = (word(words::TITLE), both(&catalogue.subtitle.into()));
    let switch = word(words::OTHER_LANGUAGE);
    put(
        out,
        format_args!(
            "<header><button id=\"language\" type=\"button\">{switch}</button><h1>{title}</h1><p>{subtitle}</p></header>"
        ),
    );
}

/// A name with its value, kept apart from the direction of the text around them.
fn pair(name: &str, value: &str) -> String {
    format!("<bdi>{name} <bdi dir=\"ltr\">{value}</bdi></bdi>")
}

/// One sentence for each experiment: its publisher, and its result.
fn outcomes(out: &mut String, summaries: &[Summary<'_>], everywhere: &[&Skipped]) {
    let told: Vec<_> =
        summaries.iter().filter_map(|summary| Some((summary, verdict::sentence(summary)?))).collect();
    if told.is_empty() && everywhere.is_empty() {
        return;
    }
    put(out, format_args!("<section><h2>{}</h2><ul class=\"outcomes\">", word(words::WHAT_CAME_OUT)));
    for (summary, sentence) in &told {
        let id = summary.experiment.id;
        let (title, source) =
            (both(&summary.experiment.title.into()), both(&summary.experiment.source.into()));
        let sentence = both(sentence);
        put(
            out,
            format_args!(
                "<li><a href=\"#{id}\"><bdi>{id}</bdi> · {title}</a> <small>({source})</small><br>{sentence}</li>"
            ),
        );
    }
    out.push_str("</ul>");
    for one in everywhere {
        let (term, system) = (word(words::SKIPPED_EVERYWHERE), named(&one.system));
        let reason = both(&words::reason(&one.reason));
        put(out, format_args!("<p class=\"note\">{term}: <bdi>{system}</bdi>: {reason}</p>"));
    }
    out.push_str("</section>");
}

/// Ratios of all experiments: what most readers came for.
#[expect(clippy::too_many_lines, reason = "a page, from its top to its end")]
fn overview(out: &mut String, summaries: &[Summary<'_>], catalogue: &Catalogue) {
    put(out, format_args!("<section><h2>{}</h2>", word(words::RATIOS)));
    if summaries.is_empty() {
        return put(out, format_args!("<p>{}</p></section>", word(words::NOTHING)));
    }
    put(out, format_args!("<p>{}</p>", word(words::RATIOS_ABOUT)));
    put(
        out,
        format_args!(
            "<div class=\"wide\"><table class=\"overview\"><thead><tr><th>{}</th><th>{}</th>",
            word(words::EXPERIMENT),
            word(words::FIGURE)
        ),
    );
    let mut peers: Vec<&str> = Vec::new();
    for ratio in summaries.iter().flat_map(Summary::ratios) {
        if !peers.contains(&ratio.peer) {
            peers.push(ratio.peer);
        }
    }
    peers.iter().for_each(|peer| put(out, format_args!("<th><bdi>÷ {}</bdi></th>", named(peer))));
    out.push_str("</tr></thead><tbody>");
    for summary in summaries {
        let ratios = summary.ratios();
        for (place, figure) in summary.compared().enumerate() {
            let of_figure: Vec<_> = ratios.iter().filter(|ratio| ratio.figure == figure).collect();
            if of_figure.is_empty() {
                continue;
            }
            let id = summary.experiment.id;
            let title = if place == 0 {
                format!("<a href=\"#{id}\">{id} · {}</a>", both(&summary.experiment.title.into()))
            } else {
                String::new()
            };
            put(out, format_args!("<tr><td>{title}</td><td>{}</td>", named(figure)));
            for peer in &peers {
                match of_figure.iter().find(|ratio| ratio.peer == *peer) {
                    Some(one) => put(out, format_args!("<td>{}</td>", ratio(one))),
                    None => out.push_str("<td></td>"),
                }
            }
            out.push_str("</tr>");
        }
    }
    put(
        out,
        format_args!(
            "</tbody></table></div><p class=\"note\">{}</p></section>",
            both(&catalogue.fairness.into())
        ),
    );
}

fn ratio(ratio: &Ratio<'_>) -> String {
    let (mark, verdict) = match ratio.is_better() {
        true => ("better", words::BETTER),
        false => ("worse", words::WORSE),
    };
    let (mean, least, most) =
        (verdict::shortened(ratio.mean), verdict::shortened(ratio.least), verdict::shortened(ratio.most));
    let verdict = word(verdict);
    format!(
        "<bdi class=\"{mark}\" dir=\"ltr\">×{mean}</bdi> <small><bdi dir=\"ltr\">({least} – {most})</bdi> {verdict}</small>"
    )
}

#[expect(clippy::too_many_lines, reason = "a page, from its top to its end")]
fn experiment(out: &mut String, summary: &Summary<'_>, servers: &[Servers], everywhere: &[&Skipped]) {
    let about = summary.experiment;
    let (id, title) = (about.id, both(&about.title.into()));
    put(out, format_args!("<section id=\"{id}\"><h2><bdi>{id}</bdi> · {title}</h2>"));
    if let Some(sentence) = verdict::sentence(summary) {
        put(out, format_args!("<p>{}</p>", both(&sentence)));
    }
    let ratios = summary.ratios();
    if !ratios.is_empty() {
        out.push_str("<ul class=\"ratios\">");
        for one in &ratios {
            let (figure, peer, ratio) = (named(one.figure), named(one.peer), ratio(one));
            put(out, format_args!("<li><span><bdi>{figure}</bdi> ÷ <bdi>{peer}</bdi></span>{ratio}</li>"));
        }
        out.push_str("</ul>");
    }
    out.push_str("<div class=\"pictures\">");
    for chart in about.panels.iter().flat_map(|panel| picture::chart(summary, panel)) {
        put(out, format_args!("<figure>{}</figure>", chart.svg(None)));
    }
    out.push_str("</div><dl>");
    let mut item = |term: Word, text: &str| put(out, format_args!("<dt>{}</dt><dd>{text}</dd>", word(term)));
    item(words::SOURCE, &both(&summary.experiment.source.into()));
    item(words::SETUP, &both(&about.setup.into()));
    let servers: Vec<_> = servers.iter().map(|one| both(&told(one))).collect();
    item(words::GRID, &servers.join(&word(words::SEMICOLON)));
    item(words::PUBLISHED, &both(&about.published.into()));
    let calls: Vec<_> = summary.calls().iter().map(calls).collect();
    if !calls.is_empty() {
        item(words::CALLS, &calls.join("<br>"));
    }
    if let Some(text) = checked(&summary.checked) {
        item(words::CHECKED, &text);
    }
    let here = |one: &&&Skipped| !everywhere.iter().any(|known| known.system == one.system);
    let skipped = summary
        .skipped
        .iter()
        .filter(here)
        .map(|one| format!("<bdi>{}</bdi>: {}", named(&one.system), both(&words::reason(&one.reason))));
    let skipped: Vec<_> = skipped.collect();
    if !skipped.is_empty() {
        item(words::SKIPPED, &skipped.join("<br>"));
    }
    let failed = summary.failed.iter().map(|one| {
        let (system, at) = (named(&one.system), named(&one.at));
        format!("<bdi>{system}</bdi>, <bdi>{at}</bdi>: {}", both(&words::reason(&one.reason)))
    });
    let failed: Vec<_> = failed.collect();
    if !failed.is_empty() {
        item(words::FAILED, &failed.join("<br>"));
    }
    out.push_str("</dl>");
    table(out, summary);
    out.push_str("</section>");
}

/// How servers were set up, in words.
pub(super) fn told(servers: &Servers) -> Spoken {
    let of = |language: Language| {
        let all = servers.members;
        let noun = if all == 1 { String::from("1 server") } else { format!("{all} servers") };
        let mut text = words::name(&noun, language);
        let comma = if language == Language::Arabic { "،" } else { "," };
        if servers.observers > 0 {
            let noun = if servers.observers == 1 { "observer" } else { "observers" };
            let observers = words::name(&format!("{} {noun}", servers.observers), language);
            text += &format!("{comma} {} {observers}", words::OF_THEM.of(language));
        }
        let (heap, unit) = (words::HEAP.of(language), words::MIB.of(language));
        text += &format!("{comma} {heap} {} {unit}", servers.heap_mb);
        if let Some(every) = servers.snapshot_every {
            text += &format!("{comma} {every} {}", words::SNAPSHOTS.of(language));
        }
        text
    };
    Spoken { en: of(Language::English), ar: of(Language::Arabic) }
}

/// System calls of each system at one place.
fn calls(Counted { place, of }: &Counted<'_>) -> String {
    let place: Vec<_> = place.iter().map(|word| format!("<bdi>{}</bdi>", named(word))).collect();
    let of = of.iter().map(|(system, value)| pair(&named(system), &number(*value)));
    format!("{}: {}", place.join(" · "), of.collect::<Vec<_>>().join(" · "))
}

/// What was checked, in words.
fn checked(checked: &Checked) -> Option<String> {
    let Checked { reads, writes, events, barriers } = *checked;
    let told = [
        (reads, words::READS),
        (writes, words::WRITES),
        (events, words::EVENTS),
        (barriers, words::BARRIERS),
    ];
    let told = told.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, what)| format!("{} {}", grouped(*count), word(*what))).collect();
    (!told.is_empty()).then(|| told.join(&word(words::SEMICOLON)))
}

/// A count with its thousands apart.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The figures that a row has, in the order in which they are shown.
pub(super) fn columns<'s>(summary: &'s Summary<'_>) -> Vec<&'s str> {
    const ORDER: [&str; 17] = [
        figure::RATE,
        figure::MEAN,
        figure::P50,
        figure::P90,
        figure::P99,
        figure::P999,
        figure::P9999,
        figure::MAX,
        figure::CPU,
        figure::LOAD_CPU,
        figure::MEMORY,
        figure::WRITTEN,
        figure::CALLS,
        figure::DISK,
        figure::OUTAGE,
        figure::LOST,
        figure::ERRORS,
    ];
    let mut columns: Vec<&str> = summary.rows.iter().flat_map(|row| row.figures.keys().copied()).collect();
    let rank = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    columns.sort_by_key(|name| (rank(name), *name));
    columns.dedup();
    columns
}

/// A mean with its deviation.
pub(super) fn cell(mean: Option<&Mean>) -> String {
    match mean {
        None => String::new(),
        Some(mean) if mean.deviation > 0.0 => format!("{} ± {}", number(mean.value), number(mean.deviation)),
        Some(mean) => number(mean.value),
    }
}

fn table(out: &mut String, summary: &Summary<'_>) {
    let columns = columns(summary);
    put(
        out,
        format_args!(
            "<details><summary>{} <small>({})</small></summary><div class=\"wide\"><table><thead><tr>",
            word(words::ALL_FIGURES),
            word(match summary.experiment.middle {
                Middle::Mean => words::MEAN_SD,
                Middle::Median => words::MEDIAN_SD,
            })
        ),
    );
    for head in [words::SERIES, words::AT, words::SYSTEM] {
        put(out, format_args!("<th>{}</th>", word(head)));
    }
    columns.iter().for_each(|name| put(out, format_args!("<th>{}</th>", named(name))));
    out.push_str("</tr></thead><tbody>");
    for row in &summary.rows {
        let (series, at, system) = (named(row.series), named(row.at), named(row.system));
        put(out, format_args!("<tr><td>{series}</td><td>{at}</td><td>{system}</td>"));
        for name in &columns {
            put(out, format_args!("<td><bdi dir=\"ltr\">{}</bdi></td>", cell(row.figures.get(name))));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></details>");
}

/// What is shown of a machine.
pub(super) fn fact(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::String(text), _) => text.clone(),
        (_, Some(value)) => number(value),
        (other, None) => other.to_string(),
    }
}

fn machine(out: &mut String, run: &Run) {
    let header = &run.header;
    put(out, format_args!("<section><h2>{}</h2><dl>", word(words::MACHINE)));
    let mut item = |term: String, text: &str| put(out, format_args!("<dt>{term}</dt><dd>{text}</dd>"));
    for (name, value) in &header.machine {
        let text = escaped(&fact(value));
        item(named(&name.replace('_', " ")), &format!("<bdi dir=\"ltr\">{text}</bdi>"));
    }
    let versions =
        header.versions.iter().map(|(name, version)| pair(&format!("{}:", named(name)), &escaped(version)));
    item(word(words::VERSIONS), &versions.collect::<Vec<_>>().join("<br>"));
    item(word(words::COMMAND), &format!("<code dir=\"ltr\">{}</code>", escaped(&header.command)));
    item(word(words::BEGUN), &format!("<bdi dir=\"ltr\">{}</bdi>", escaped(&header.begun)));
    item(word(words::SCALE), &named(&header.scale));
    item(word(words::SECONDS), &number(header.seconds));
    item(word(words::REPETITIONS), &header.repetitions.to_string());
    item(word(words::SEED), &header.seed.to_string());
    out.push_str("</dl></section>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_stays_beside_its_system_whatever_the_direction_of_the_text() {
        let counted = Counted { place: vec!["3 servers"], of: vec![("diwan", 0.21), ("etcd", 2.95)] };
        let text = calls(&counted);
        assert!(text.contains("<bdi>etcd <bdi dir=\"ltr\">2.95</bdi></bdi>"), "{text}");
        assert_eq!(text.matches("<bdi>").count(), text.matches("</bdi>").count() - 2, "{text}");
    }

    #[test]
    fn heap_is_told_in_units_of_the_language() {
        let servers = Servers { members: 5, observers: 1, heap_mb: 512, snapshot_every: None };
        let told = told(&servers);
        assert!(told.en.contains("of them 1 observer, heap of each JVM 512 MiB"), "{}", told.en);
        assert!(told.ar.contains("منها مراقِب واحد") && told.ar.contains("512 ميبيبايت"), "{}", told.ar);
    }

    #[test]
    fn thousands_stand_apart() {
        let counts = [(0, "0"), (999, "999"), (1000, "1,000"), (1_267_016, "1,267,016")];
        for (count, text) in counts {
            assert_eq!(grouped(count), text);
        }
    }
}
