//! What is wrong with a scenario file, shown with the line it is in.

use std::fmt;
use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use super::source::Place;

/// One thing that is wrong in a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) place: Place,
    pub(crate) label: String,
    pub(crate) help: Option<String>,
}

impl Problem {
    pub(crate) fn new(place: Place, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            place,
            label: label.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A name that is not among those that can stand here.
    pub(crate) fn unknown<'a>(
        place: Place,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let problem = Self::new(
            place,
            format!("unknown {what} `{name}`"),
            format!("unknown {what}"),
        );
        problem.with_help(suggest(name, &known))
    }
}

/// What to write in place of `name`.
pub(crate) fn suggest(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "none is defined here".to_owned();
    }
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`? Known here: {}", known.join(", ")),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The candidate that `name` was probably meant to be.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let tolerated = (name.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= tolerated || is_longer_form(name, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

fn is_longer_form(name: &str, candidate: &str) -> bool {
    name.len() > 2 && (candidate.starts_with(name) || name.starts_with(candidate))
}

/// The longest line, in bytes, that is drawn with a mark below the mistake; nobody sees the mark below a longer one,
/// and one of more than 65,535 columns cannot be drawn at all.
const DRAWN_LINE: usize = 4_000;

/// A scenario file that cannot be used.
#[derive(Debug, Clone)]
pub struct ScenarioError {
    file: String,
    text: Arc<String>,
    problems: Vec<Problem>,
}

impl ScenarioError {
    pub(crate) fn new(file: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.offset);
        problems.dedup();
        Self {
            file: file.to_owned(),
            text: Arc::new(text.to_owned()),
            problems,
        }
    }

    /// How many things are wrong.
    #[must_use]
    pub fn count(&self) -> usize {
        self.problems.len()
    }

    /// Every problem with its source line and what to do about it.
    #[must_use]
    pub fn render(&self, colours: bool) -> String {
        let theme = if colours {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(110)
            .with_links(false);
        let mut rendered = String::new();
        for problem in &self.problems {
            let located = LocatedProblem {
                problem,
                source: NamedSource::new(&self.file, self.text.as_str().to_owned())
                    .with_language("yaml"),
            };
            let can_be_drawn = self
                .lines_around(problem)
                .all(|line| line.len() <= DRAWN_LINE);
            if !can_be_drawn || handler.render_report(&mut rendered, &located).is_err() {
                rendered.push_str(&self.in_words(problem));
            }
        }
        rendered
    }

    /// The lines that a drawing shows: the one that is wrong, and its neighbours.
    fn lines_around(&self, problem: &Problem) -> impl Iterator<Item = &str> {
        let first = problem.place.line.saturating_sub(2);
        self.text.lines().skip(first).take(3)
    }

    fn in_words(&self, problem: &Problem) -> String {
        let help = problem
            .help
            .as_ref()
            .map_or_else(String::new, |help| format!("  help: {help}\n"));
        format!("{} ({})\n{help}", self.line_of(problem), problem.label)
    }

    fn line_of(&self, problem: &Problem) -> String {
        let Place { line, column, .. } = problem.place;
        format!("{}:{line}:{column}: {}", self.file, problem.message)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self
            .problems
            .iter()
            .map(|problem| self.line_of(problem))
            .collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ScenarioError {}

#[derive(Debug)]
struct LocatedProblem<'a> {
    problem: &'a Problem,
    source: NamedSource<String>,
}

impl fmt::Display for LocatedProblem<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.problem.message)
    }
}

impl std::error::Error for LocatedProblem<'_> {}

impl Diagnostic for LocatedProblem<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Place { offset, length, .. } = self.problem.place;
        let label = LabeledSpan::new(Some(self.problem.label.clone()), offset, length.max(1));
        Some(Box::new(std::iter::once(label)))
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.problem
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}
