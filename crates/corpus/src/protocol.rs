//! How scripts speak to the runner: marked lines among their output.
//!
//! A line is `::WORD NONCE REST`. The nonce is new for every arm, so text that merely looks like a
//! mark, or was recorded in another arm, says nothing.

/// One thing that a script said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It is about to try this probe.
    Trying(String),
    /// The forbidden effect of this probe was seen.
    Effect { probe: String, detail: String },
    /// It can't go on here, and this is why.
    Cannot(String),
    /// A fact for the scripts that follow.
    Fact { name: String, value: String },
}

/// Finds the marks in a script's output.
pub(crate) fn marks(output: &[u8], nonce: &str) -> Vec<Mark> {
    String::from_utf8_lossy(output).lines().filter_map(|line| mark(line, nonce)).collect()
}

fn mark(line: &str, nonce: &str) -> Option<Mark> {
    let (_, said) = line.split_once("::")?;
    let mut parts = said.trim_end().splitn(3, ' ');
    let word = parts.next()?;
    if parts.next()? != nonce {
        return None;
    }
    let rest = parts.next().unwrap_or_default();
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let (first, second) = (first.to_owned(), second.to_owned());
    match word {
        "trying" => Some(Mark::Trying(first)),
        "effect" => Some(Mark::Effect { probe: first, detail: second }),
        "cannot" => Some(Mark::Cannot(rest.to_owned())),
        "fact" => Some(Mark::Fact { name: first, value: second }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_marks_among_other_text() {
        let output = b"hello\n::trying n1 read\nnoise ::effect n1 read got \xff it\r\n\
            ::cannot n1 no such thing here\n::fact n1 PORT 80\n";
        assert_eq!(
            marks(output, "n1"),
            [
                Mark::Trying("read".into()),
                Mark::Effect { probe: "read".into(), detail: "got \u{fffd} it".into() },
                Mark::Cannot("no such thing here".into()),
                Mark::Fact { name: "PORT".into(), value: "80".into() },
            ]
        );
    }

    #[test]
    fn ignores_the_marks_of_another_arm() {
        assert!(marks(b"::effect n2 read\n::effect\n::\n::unknown n1 x\n", "n1").is_empty());
    }
}
