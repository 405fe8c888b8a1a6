//! What the agent is told at the start, and what it may use.

use agent::{Brief, Limits, Reserve, Schema, Setting};
use api::{Problem, TaskRequest, exit};
use models::Effort;
use names::{MicroUsd, Span};
use policy::{Authority, Mode};

use super::instructions::Found;
use crate::prepare::Standing;
use crate::problem::OrProblem as _;

/// Hosts that are named in the prompt; further ones are counted.
const NAMED: usize = 12;

/// What a request asks for, read before anything is started.
pub(super) struct Asked {
    limits: Limits,
    effort: Option<Effort>,
    schema: Option<Schema>,
}

impl Asked {
    /// Reads it.
    ///
    /// # Errors
    /// An amount that is none, an effort that nobody knows, a schema that can't be held.
    pub(super) fn read(request: &TaskRequest) -> Result<Self, Problem> {
        let usage = |error: &dyn std::fmt::Display| Problem::new(exit::USAGE, error.to_string());
        let money =
            request.budget.money.as_deref().map(MicroUsd::parse).transpose().or_problem()?;
        let effort = request.effort.as_deref().map(str::parse).transpose();
        let schema = request.schema.as_ref().map(Schema::read).transpose();
        Ok(Self {
            limits: Limits {
                steps: request.budget.steps,
                tokens: request.budget.tokens,
                money,
                wall: None,
            },
            effort: effort.map_err(|error| usage(&error))?,
            schema: schema.map_err(|error| usage(&format!("the output schema: {error}")))?,
        })
    }

    /// With what the run is.
    pub(super) fn brief(
        self,
        standing: &mut Standing,
        session: &str,
        found: Found,
        news: Option<String>,
        reserve: &contract::Reserve,
    ) -> Brief {
        standing.evidence.notes.extend(found.notes);
        let authority = &standing.evidence.authority;
        let limits = &authority.limits;
        Brief {
            session: session.to_owned(),
            setting: setting(standing),
            instructions: found.files,
            news,
            limits: self.limits,
            authority: Limits {
                steps: limits.steps,
                tokens: limits.tokens,
                money: limits.money,
                wall: limits.wall,
            },
            reserve: Reserve {
                tokens: reserve.tokens.unwrap_or(0),
                wall: reserve.wall.unwrap_or(Span::from_millis(0)),
                ..Reserve::default()
            },
            effort: self.effort,
            schema: self.schema,
        }
    }
}

fn setting(standing: &Standing) -> Setting {
    let authority = &standing.evidence.authority;
    let date = standing.evidence.started.to_string();
    let day = date.split('T').next().unwrap_or(&date).to_owned();
    let mode = match authority.mode {
        Mode::Overlay => "overlay, so your changes are reviewed before they reach the project",
        Mode::Direct => "direct, so your changes are in the project at once",
        Mode::ReadOnly => "read-only, so nothing can be changed",
    };
    Setting {
        project: standing.grounds.project.directory.display().to_string(),
        date: day,
        platform: format!("Linux {}", std::env::consts::ARCH),
        mode: mode.to_owned(),
        sandbox: network(authority),
    }
}

/// What can be reached, in a line.
fn network(authority: &Authority) -> String {
    let granted = authority.network.iter().map(|grant| grant.target.host.to_string());
    let leased = authority.leases.iter().map(|lease| lease.target.host.to_string());
    let mut hosts: Vec<_> = granted.chain(leased).collect();
    hosts.sort();
    hosts.dedup();
    let more = hosts.len().saturating_sub(NAMED);
    hosts.truncate(NAMED);
    match (hosts.is_empty(), more) {
        (true, _) => "There is no network.".to_owned(),
        (false, 0) => format!("Of the network, only {} can be reached.", hosts.join(", ")),
        (false, more) => {
            format!("Of the network, only {} and {more} more can be reached.", hosts.join(", "))
        }
    }
}
