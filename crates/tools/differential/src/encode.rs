//! Builds request bodies field by field, sane or not. The judge writes its own bytes: it shares no encoder with the judged.

use super::op::Acl;

/// A body that grows.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    pub(crate) fn int(self, value: i32) -> Body {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn long(self, value: i64) -> Body {
        self.raw(&value.to_be_bytes())
    }

    pub(crate) fn boolean(self, value: bool) -> Body {
        self.raw(&[u8::from(value)])
    }

    /// A buffer; `None` is null (length -1).
    pub(crate) fn buffer(self, bytes: Option<&[u8]>) -> Body {
        match bytes {
            None => self.int(-1),
            Some(bytes) => self.count(bytes.len()).raw(bytes),
        }
    }

    pub(crate) fn text(self, text: &str) -> Body {
        self.buffer(Some(text.as_bytes()))
    }

    pub(crate) fn optional_text(self, text: Option<&str>) -> Body {
        self.buffer(text.map(str::as_bytes))
    }

    pub(crate) fn texts(self, texts: &[String]) -> Body {
        texts.iter().fold(self.count(texts.len()), |body, text| body.text(text))
    }

    pub(crate) fn acl(self, acl: Option<&[Acl]>) -> Body {
        let Some(acl) = acl else { return self.int(-1) };
        acl.iter().fold(self.count(acl.len()), |body, entry| {
            body.int(entry.perms).text(entry.scheme).text(&entry.id)
        })
    }

    pub(crate) fn multi_header(self, opcode: i32, done: bool) -> Body {
        self.int(opcode).boolean(done).int(-1)
    }

    pub(crate) fn append(self, other: Body) -> Body {
        self.raw(&other.0)
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Body {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn count(self, count: usize) -> Body {
        self.int(i32::try_from(count).unwrap_or(i32::MAX))
    }
}
