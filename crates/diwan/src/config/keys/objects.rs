//! Keys of live objects.

use objects_service::Zone;

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
    Row::own(
        "objects.announce",
        "where clients of the other members are sent while this member leads, `HOST:PORT` as clients are told it; otherwise \
         `objects.listen`, if others can reach that",
        |draft, setting| {
            draft.objects.said = true;
            let is_address = |text: &&str| {
                let port = text.rsplit_once(':').and_then(|(host, port)| (!host.is_empty()).then_some(port));
                objects_service::is_address(text)
                    && port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
            };
            let address = Some(setting.value).filter(is_address);
            let address = address.ok_or_else(|| setting.problem("it is no `HOST:PORT`"));
            put(&mut draft.objects.announce, address.map(|address| Some(address.into())))
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
    Row::own(
        "objects.root-token-file",
        "a file with the token that may do everything at this member, readable by its owner only",
        |draft, setting| {
            draft.objects.said = true;
            draft.objects.root_token_file = Some(setting.value.into());
            Ok(())
        },
    ),
    Row::own(
        "dns.listen",
        "where queries for names of objects are answered, by UDP and TCP, or `off`",
        |draft, setting| {
            draft.objects.said = true;
            put(&mut draft.objects.names.listen, setting.address_or_off())
        },
    ),
    Row::own("dns.zone", "the zone below which these names are", |draft, setting| {
        draft.objects.said = true;
        let zone = Zone::new(setting.value).map(Some).map_err(|error| setting.problem(&error.to_string()));
        put(&mut draft.objects.names.zone, zone)
    }),
    Row::own(
        "dns.announce",
        "the address of this member in answers; otherwise that of its own line among the members, or of `objects.listen`",
        |draft, setting| {
            draft.objects.said = true;
            put(&mut draft.objects.names.announce, setting.host(0).map(|address| Some(address.ip())))
        },
    ),
];
