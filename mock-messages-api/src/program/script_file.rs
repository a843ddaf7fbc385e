//! Reading a script from a file, with errors that show the place.

use std::{fs, io, path::Path};

use miette::{Diagnostic, NamedSource, SourceOffset, SourceSpan};
use mock_messages_api::{Script, ScriptError};

/// A script file that cannot be used.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(crate) enum ScriptFileError {
    #[error("failed to read the script {path}")]
    Unreadable {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Malformed(Box<MalformedScript>),
    #[error("failed to read the script {path}, at {line}:{column}: {message}")]
    MalformedLongLine {
        path: String,
        line: u64,
        column: u64,
        message: String,
        #[help]
        suggestion: Option<String>,
    },
    #[error("the script {path} cannot work: {problems}")]
    Meaningless { path: String, problems: String },
}

/// A place in a script file that is not in the script language.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub(crate) struct MalformedScript {
    message: String,
    #[help]
    suggestion: Option<String>,
    #[source_code]
    text: NamedSource<String>,
    #[label("here")]
    place: Option<SourceSpan>,
}

pub(crate) fn read_script(path: &Path) -> Result<Script, ScriptFileError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|source| ScriptFileError::Unreadable {
        path: name.clone(),
        source,
    })?;
    let script = Script::from_yaml(&text).map_err(|error| malformed(&name, text, &error))?;
    let problems: Vec<_> = script
        .problems()
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    if problems.is_empty() {
        return Ok(script);
    }
    Err(ScriptFileError::Meaningless {
        path: name,
        problems: problems.concat(),
    })
}

/// The longest line, in bytes, that is drawn with a mark below the mistake; nobody sees the mark below a longer one,
/// and one of more than 65,535 columns cannot be drawn at all.
const DRAWN_LINE: usize = 4_000;

fn malformed(name: &str, text: String, error: &ScriptError) -> ScriptFileError {
    if let Some((line, column)) = error.position()
        && text.lines().any(|line| line.len() > DRAWN_LINE)
    {
        return ScriptFileError::MalformedLongLine {
            path: name.to_owned(),
            line,
            column,
            message: error.to_string(),
            suggestion: error.suggestion().map(str::to_owned),
        };
    }
    let place = error.position().map(|(line, column)| {
        // Lines and columns of a text that fits in memory fit in usize.
        let [line, column] =
            [line, column].map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        SourceSpan::new(SourceOffset::from_location(&text, line, column), 1)
    });
    ScriptFileError::Malformed(Box::new(MalformedScript {
        message: error.to_string(),
        suggestion: error.suggestion().map(str::to_owned),
        text: NamedSource::new(name, text),
        place,
    }))
}
