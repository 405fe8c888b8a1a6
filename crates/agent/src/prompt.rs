//! What the model is told at the start: the system prompt, which is the file `prompt.md` with its
//! placeholders filled, and the instruction files of the project.

use std::fmt::Write as _;

use crate::text::middle_cut;

/// What fills the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// The project's directory, as the sandbox has it.
    pub project: String,
    /// Today.
    pub date: String,
    /// Operating system and architecture.
    pub platform: String,
    /// Whether edits go to an overlay or to the project.
    pub mode: String,
    /// What the sandbox allows, in a line or two.
    pub sandbox: String,
}

/// An instruction file of the project: AGENTS.md, CLAUDE.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// Where it is.
    pub path: String,
    /// What it says.
    pub text: String,
}

const TEMPLATE: &str = include_str!("prompt.md");

impl Setting {
    /// The system prompt.
    #[must_use]
    pub fn prompt(&self) -> String {
        let mut prompt = String::with_capacity(TEMPLATE.len() + 256);
        let mut rest = TEMPLATE;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, tail)| Some((before, tail.split_once('}')?)))
        {
            prompt.push_str(before);
            prompt.push_str(self.named(name));
            rest = after;
        }
        prompt.push_str(rest);
        prompt
    }

    fn named(&self, name: &str) -> &str {
        match name {
            "project" => &self.project,
            "date" => &self.date,
            "platform" => &self.platform,
            "mode" => &self.mode,
            "sandbox" => &self.sandbox,
            _ => "",
        }
    }
}

/// The instruction files as one text of at most about `most` bytes, in their order: the nearest
/// last, and whole if they can't all be.
pub(crate) fn instructions(files: &[Instructions], most: usize) -> String {
    let mut left = most;
    let mut texts = Vec::new();
    for file in files.iter().rev() {
        let text = middle_cut(file.text.trim(), left);
        left = left.saturating_sub(text.len());
        let mut section = String::new();
        let _ = write!(section, "<instructions from=\"{}\">\n{text}\n</instructions>", file.path);
        texts.push(section);
    }
    texts.reverse();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_and_values_are_not_read_as_placeholders() {
        let setting = Setting {
            project: "/p/{date}".into(),
            date: "2026-01-02".into(),
            platform: "Linux x86_64".into(),
            mode: "overlay".into(),
            sandbox: "No network.".into(),
        };
        let prompt = setting.prompt();
        assert!(prompt.contains("the project at /p/{date} until"), "{prompt}");
        let filled = "Date: 2026-01-02. Platform: Linux x86_64. Mode: overlay.";
        assert!(prompt.contains(filled) && prompt.contains("a sandbox. No network.\n"));
        let names = TEMPLATE.split('{').skip(1).filter_map(|tail| tail.split('}').next());
        for name in names {
            assert!(!setting.named(name).is_empty(), "{name} is filled with nothing");
        }
    }

    #[test]
    fn the_nearest_instructions_are_the_last_to_be_cut() {
        let file = |path: &str, text: &str| Instructions { path: path.into(), text: text.into() };
        let files = [file("AGENTS.md", &"far ".repeat(100)), file("a/AGENTS.md", "near")];
        let text = instructions(&files, 60);
        assert!(text.ends_with("<instructions from=\"a/AGENTS.md\">\nnear\n</instructions>"));
        assert!(text.contains("bytes left out") && text.len() < 250, "{text}");
    }
}
