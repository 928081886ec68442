//! Keys of live objects.

use super::Row;
use super::server::put;

pub(super) const ROWS: &[Row] = &[
    Row::own(
        "objects.listen",
        "where clients of live objects connect by HTTP, or `off`",
        |draft, setting| {
            draft.objects.said = true;
            put(&mut draft.objects.listen, setting.address_or_off().map(Some))
        },
    ),
    Row::own("objects.data-dir", "where the objects lie", |draft, setting| {
        draft.objects.said = true;
        draft.objects.data_dir = Some(setting.value.into());
        Ok(())
    }),
    Row::own(
        "objects.create-on-use",
        "whether the first command to an object of a built-in type creates it",
        |draft, setting| {
            draft.objects.said = true;
            put(&mut draft.objects.create_on_use, setting.flag())
        },
    ),
];
