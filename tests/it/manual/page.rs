//! The pages of the manual, and the code blocks in them.

use std::path::Path;

/// A page of the manual, by its path in the repository.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page(pub(super) &'static str);

pub(super) const README: Page = Page("README.md");
pub(super) const DOCUMENTS: Page = Page("examples/README.md");
pub(super) const CHECKS: Page = Page("examples/checks.md");
pub(super) const DECISIONS: Page = Page("deploy/decisions.md");
pub(super) const DAEMON: Page = Page("deploy/daemon.md");
pub(super) const INCIDENTS: Page = Page("deploy/incidents.md");
pub(super) const METRICS: Page = Page("deploy/metrics.md");
pub(super) const SETTINGS: Page = Page("deploy/settings.md");

/// All pages.
pub(super) const PAGES: &[Page] = &[
    README,
    DOCUMENTS,
    CHECKS,
    Page("deploy/README.md"),
    Page("deploy/ci.md"),
    DAEMON,
    DECISIONS,
    INCIDENTS,
    Page("deploy/kubernetes.md"),
    METRICS,
    SETTINGS,
    Page("deploy/state.md"),
];

/// A fenced block of code.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The word after the fence.
    pub(super) language: String,
    /// The number of the line of the fence.
    pub(super) line: usize,
    /// The paragraph before the block.
    pub(super) introduction: String,
    pub(super) text: String,
}

impl Page {
    /// Returns its text.
    pub(super) fn text(self) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(self.0)).unwrap()
    }

    /// Replaces the text of the blocks whose fences are in these lines.
    pub(super) fn replace(self, blocks: &[(usize, String)]) {
        let mut lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        for (fence, text) in blocks.iter().rev() {
            let end = lines[*fence..].iter().position(|line| line == "```").unwrap() + fence;
            lines.splice(*fence..end, text.lines().map(str::to_owned));
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.0);
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// Returns the fenced blocks in their order.
    pub(super) fn blocks(self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut paragraph = String::new();
        let (mut is_open, mut is_new) = (false, true);
        for (number, line) in self.text().lines().enumerate() {
            match (is_open, line.strip_prefix("```")) {
                (false, Some(language)) => {
                    blocks.push(Block {
                        language: language.to_owned(),
                        line: number + 1,
                        introduction: std::mem::take(&mut paragraph),
                        text: String::new(),
                    });
                    is_open = true;
                }
                (true, Some(_)) => is_open = false,
                (true, None) => {
                    let block = blocks.last_mut().unwrap();
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                // A blank line may stand between a paragraph and its block.
                (false, None) if line.is_empty() => is_new = true,
                (false, None) => {
                    if std::mem::take(&mut is_new) {
                        paragraph.clear();
                    }
                    paragraph.push_str(line);
                    paragraph.push(' ');
                }
            }
        }
        assert!(!is_open, "{}: a block has no end", self.0);
        blocks
    }
}
