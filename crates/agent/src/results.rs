//! What the model sees of what came of a call: in bounds, with a word about what is not shown.

use hands::proposal::{Outcome, Piece, Truncated, Unit};
use models::Part;

use crate::outside::Carried;
use crate::text::middle_cut;

/// A result as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) parts: Vec<Part>,
    pub(crate) failed: bool,
}

/// How much may be shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Of this result, in bytes.
    pub(crate) most: u64,
    /// Whether the model sees images.
    pub(crate) images: bool,
}

/// Images beyond this many in one result are not shown.
const MOST_IMAGES: usize = 4;
/// An image of more bytes than providers take.
const LARGEST_IMAGE: usize = 5 * 1024 * 1024;

impl Seen {
    /// A failure that is told.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())], failed: true }
    }

    /// Something that is told.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self { failed: false, ..Self::failed(text) }
    }

    /// What became of a proposal.
    pub(crate) fn of(carried: Carried, share: Share) -> Self {
        match carried {
            Carried::Outcome(outcome) => Self::of_outcome(outcome, share),
            Carried::Denied { reason, rule, next } => Self::failed(denied(&reason, rule, next)),
            Carried::Lost(why) => Self::failed(format!("outcome unknown: {why}")),
        }
    }

    /// All its text.
    pub(crate) fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    fn of_outcome(outcome: Outcome, share: Share) -> Self {
        let failed = !outcome.ok || outcome.exit.is_some_and(|exit| exit != 0);
        let notes = outcome.truncated.as_ref().map(truncated).unwrap_or_default();
        let most = usize::try_from(share.most).unwrap_or(usize::MAX);
        let mut text = middle_cut(&outcome.text(), most.saturating_sub(notes.len()));
        if text.is_empty() && notes.is_empty() && !has_image(&outcome) {
            "(no output)".clone_into(&mut text);
        }
        if !text.is_empty() && !text.ends_with('\n') && !notes.is_empty() {
            text.push('\n');
        }
        text.push_str(&notes);
        let text = (!text.is_empty()).then_some(Part::Text(text));
        let images = outcome.parts.into_iter().filter_map(|piece| image(piece, share));
        Self { parts: text.into_iter().chain(images.take(MOST_IMAGES)).collect(), failed }
    }
}

fn has_image(outcome: &Outcome) -> bool {
    outcome.parts.iter().any(|piece| matches!(piece, Piece::Image { .. }))
}

fn image(piece: Piece, share: Share) -> Option<Part> {
    let Piece::Image { media_type, data } = piece else { return None };
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let length = data.len();
    Some(if !share.images {
        Part::Text("[an image; this model sees none]".to_owned())
    } else if length > LARGEST_IMAGE || !known.contains(&media_type.as_str()) {
        Part::Text(format!("[an image of {length} bytes, too large or of an unknown kind]"))
    } else {
        Part::Image { media_type, data }
    })
}

/// How much is not shown. That a command failed, or is a job, the hands say themselves.
fn truncated(cut: &Truncated) -> String {
    let unit = match cut.unit {
        Unit::Lines => "lines",
        Unit::Bytes => "bytes",
        Unit::Entries => "results",
    };
    let of = cut.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let next =
        cut.next_offset.map(|next| format!("; go on with offset {next}")).unwrap_or_default();
    format!("[{}{of} {unit} shown{next}]", cut.shown)
}

fn denied(reason: &str, rule: Option<String>, next: Option<String>) -> String {
    let rule = rule.map(|rule| format!(" by rule {rule}")).unwrap_or_default();
    let next = next.map(|next| format!(". What would change it: {next}")).unwrap_or_default();
    format!("denied{rule}: {reason}{next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share { most: 200, images: true };

    #[test]
    fn ten_megabytes_are_cut_and_said_to_be() {
        let flood = Outcome { exit: Some(1), ..Outcome::done("ü".repeat(5_000_000)) };
        let seen = Seen::of(Carried::Outcome(flood), SHARE);
        let text = seen.text();
        assert!(seen.failed && text.len() < 300, "{text}");
        assert!(text.contains("bytes left out"));
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let cut = Truncated { shown: 2, total: Some(9), unit: Unit::Lines, next_offset: Some(3) };
        let outcome =
            Outcome { truncated: Some(cut), job: Some("j1".into()), ..Outcome::done("1 a\n2 b") };
        let text = Seen::of(Carried::Outcome(outcome), SHARE).text();
        let told = "1 a\n2 b\n[2 of 9 lines shown; go on with offset 3]";
        assert_eq!(text, told);
        let nothing = Outcome { ok: true, ..Outcome::default() };
        assert_eq!(Seen::of(Carried::Outcome(nothing), SHARE).text(), "(no output)");
    }

    #[test]
    fn an_image_is_shown_to_a_model_that_sees() {
        let image = Piece::Image { media_type: "image/png".into(), data: vec![1] };
        let outcome = Outcome { ok: true, parts: vec![image], ..Outcome::default() };
        let seen = Seen::of(Carried::Outcome(outcome.clone()), SHARE);
        assert!(matches!(seen.parts.as_slice(), [Part::Image { .. }]));
        let blind = Share { images: false, ..SHARE };
        let seen = Seen::of(Carried::Outcome(outcome), blind);
        assert_eq!(seen.text(), "[an image; this model sees none]");
    }

    #[test]
    fn a_denial_says_what_would_change_it() {
        let denied = Carried::Denied {
            reason: "the host is not allowed".into(),
            rule: Some("default".into()),
            next: Some("add it to [[network]]".into()),
        };
        let told = "denied by rule default: the host is not allowed. What would change it: add it to [[network]]";
        assert_eq!(Seen::of(denied, SHARE).text(), told);
    }
}
