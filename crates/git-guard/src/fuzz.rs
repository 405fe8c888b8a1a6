//! Entry point of the fuzz target and of the test that replays its corpus: hostile bytes in, a
//! panic if a promise of this crate does not hold.

use crate::wire::advert::AdvertReader;
use crate::wire::push::{MOST_REFS, Opening, Reporting, opening};
use crate::wire::report::{ReportReader, refusal};
use crate::wire::target::{Asked, Git};

/// A push is read the same however its bytes come, no part of it is taken for the whole, and what
/// was read is written back the same; answers of servers are read without harm.
pub fn fuzz_push(data: &[u8]) {
    if let Ok(Some(Opening::Push(head))) = opening(data, true) {
        let part = data.get(..head.length.saturating_sub(1)).unwrap_or_default();
        assert!(matches!(opening(part, false), Ok(None)));
        assert!((1..=MOST_REFS).contains(&head.commands.len()));
        let names: std::collections::HashSet<_> =
            head.commands.iter().map(|command| command.reference.as_str().to_lowercase()).collect();
        assert_eq!(names.len(), head.commands.len());
        let refs: Vec<_> = head.commands.iter().map(|one| (one, "no".to_owned())).collect();
        let all = Reporting { status: true, side_band: true };
        let bytes = refusal(all, &refs, &["why".to_owned()]).unwrap_or_default();
        let mut reader = ReportReader::new(all);
        reader.read(&bytes);
        assert_eq!(reader.finish().len(), head.commands.len());
    }
    for step in [1, data.len().max(1)] {
        let (mut advert, mut report) = (
            AdvertReader::default(),
            ReportReader::new(Reporting { status: true, side_band: true }),
        );
        data.chunks(step).for_each(|piece| {
            advert.read(piece);
            report.read(piece);
        });
        let _ = (advert.finish(), report.finish());
    }
    let target = String::from_utf8_lossy(data).into_owned();
    let asked = Asked { method: "POST".to_owned(), target, ..Asked::default() };
    if let Some(Git::Push(repository)) = Git::of(&asked) {
        assert!(!repository.is_empty());
    }
}
