//! What pictures and experiments say, in both languages of the report; here are also the phrases that several share.

/// A sentence in both languages of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Arabic.
    pub ar: &'static str,
}

pub(super) const fn text(en: &'static str, ar: &'static str) -> Text {
    Text { en, ar }
}

// What axes are called.
pub(super) const CLIENTS: Text = text("clients", "عدد العملاء");
pub(super) const REPLICAS: Text = text("replicas", "عدد النسخ");
pub(super) const SECONDS: Text = text("seconds", "الثواني");

// What pictures are called.
pub(super) const THROUGHPUT: Text = text("Throughput", "الإنتاجية");
pub(super) const REQUESTS: Text = text("Requests a second", "الطلبات في الثانية");
pub(super) const MEAN_LATENCY: Text = text("Mean latency", "متوسط زمن الاستجابة");
pub(super) const MEDIAN_LATENCY: Text = text("Median latency", "وسيط زمن الاستجابة");
pub(super) const PERCENTILE_99: Text = text("99th percentile", "المئين التاسع والتسعون");
pub(super) const SERVERS_CPU: Text = text("Processor time of all servers", "زمن المعالج لجميع الخوادم");
