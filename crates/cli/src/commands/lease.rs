//! `loop lease`.

use std::io::{self, Write as _};

use api::{Engine, LeaseAddRequest, LeaseRevokeRequest, LeaseView};

use super::{Done, answer};
use crate::args::{LeaseAdd, LeaseList, LeaseRevoke};
use crate::console::{Cell, Console, Table, shown};

pub(super) fn add(args: LeaseAdd, console: &mut Console, engine: &dyn Engine) -> Done {
    let json = args.json;
    let view = engine.lease_add(LeaseAddRequest {
        name: args.name,
        host: args.host,
        ports: args.ports,
        path_prefix: args.path_prefix,
        methods: args.methods,
        header: args.header.unwrap_or_default(),
        scheme: args.scheme,
        basic: args.basic,
        env: args.env,
        from: args.from,
        lasts: args.lasts,
    })?;
    answer(&view, json, console, show_added)?;
    Ok(0)
}

fn show_added(view: &LeaseView, console: &mut Console) -> io::Result<()> {
    let name = shown(&view.name);
    let place = shown(&view.destination);
    writeln!(console.out, "added {name}: {place} in {}", shown(&view.header))?;
    writeln!(console.out, "  next  loop exec --lease {name} -- CMD")
}

pub(super) fn list(args: &LeaseList, console: &mut Console, engine: &dyn Engine) -> Done {
    answer(&engine.lease_list()?, args.json, console, |views, console| show(views, console))?;
    Ok(0)
}

fn show(views: &[LeaseView], console: &mut Console) -> io::Result<()> {
    if views.is_empty() {
        return writeln!(console.out, "no leases; `loop lease add` makes one");
    }
    let mut table = Table::default();
    for view in views {
        let until = view.until.map(|until| until.to_string());
        let ends = match (until, view.expired) {
            (None, _) => "until revoked".to_owned(),
            (Some(until), false) => format!("until {until}"),
            (Some(until), true) => format!("ended {until}"),
        };
        let variable = view.env.as_deref().unwrap_or("-");
        let cells = [&view.name, &view.destination, &view.header, variable, &view.from, &ends];
        table.row(cells.map(|text| Cell::plain(shown(text))));
    }
    table.write(&mut console.out, 0)
}

pub(super) fn revoke(args: LeaseRevoke, console: &mut Console, engine: &dyn Engine) -> Done {
    let view = engine.lease_revoke(LeaseRevokeRequest { name: args.name })?;
    answer(&view, args.json, console, |view, console| {
        writeln!(console.out, "revoked {}; no run has it any more", shown(&view.name))
    })?;
    Ok(0)
}
