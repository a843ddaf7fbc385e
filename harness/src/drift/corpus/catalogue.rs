//! The corpus as it lies on disk: `<theme>/<case>.yaml`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::{Schema, schema_for};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::document::CaseDocument;
use crate::catalogue::{IdError, Pattern, ScenarioId};
use crate::runners::hexadecimal;
use crate::scenario::{ScenarioError, yaml_error};

/// A case of the corpus.
#[derive(Debug, Clone)]
pub struct Case {
    /// `theme/case`.
    pub id: ScenarioId,
    /// What its file says, with `${...}` as written.
    pub document: CaseDocument,
    source: Value,
}

/// A corpus that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file's place makes no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A case cannot be used.
    #[error(transparent)]
    Case(#[from] ScenarioError),
    /// A pattern selects nothing.
    #[error("no case is selected by `{0}`; the cases are the files below `scenarios/corpus`")]
    NothingSelected(String),
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// With what is wrong in the text, and where.
    pub fn parse(id: ScenarioId, file: &str, text: &str) -> Result<Self, ScenarioError> {
        let document =
            serde_saphyr::from_str(text).map_err(|error| yaml_error(file, text, &error))?;
        let source =
            serde_saphyr::from_str(text).map_err(|error| yaml_error(file, text, &error))?;
        Ok(Self {
            id,
            document,
            source,
        })
    }

    /// SHA-256 of what the case says, whatever its layout and comments.
    #[must_use]
    pub fn digest(&self) -> String {
        hexadecimal(&Sha256::digest(self.source.to_string().as_bytes()))
    }

    /// The document with `${name}` replaced in every text.
    pub(crate) fn with_values(
        &self,
        values: &[(&str, &str)],
    ) -> Result<CaseDocument, serde_json::Error> {
        serde_json::from_value(replaced(&self.source, values))
    }

    /// Every text that the case itself brings in.
    pub(crate) fn texts(&self) -> String {
        self.source.to_string()
    }
}

/// The schema of a case file.
#[must_use]
pub fn corpus_schema() -> Schema {
    schema_for!(CaseDocument)
}

/// Reads the cases of a directory that any of the patterns selects, sorted; all without a pattern.
///
/// # Errors
/// When a file cannot be used, and when a pattern selects nothing.
pub fn read_corpus(root: &Path, patterns: &[Pattern]) -> Result<Vec<Case>, CorpusError> {
    let mut ids = Vec::new();
    for theme in entries(root)?.into_iter().filter(|path| path.is_dir()) {
        for file in entries(&theme)?
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        {
            ids.push(format!("{}/{}", stem(&theme), stem(&file)).parse::<ScenarioId>()?);
        }
    }
    ids.sort();
    if let Some(unused) = patterns
        .iter()
        .find(|pattern| !ids.iter().any(|id| pattern.could_select(id)))
    {
        return Err(CorpusError::NothingSelected(unused.as_str().to_owned()));
    }
    let selected = |id: &ScenarioId| {
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.could_select(id))
    };
    ids.into_iter()
        .filter(selected)
        .map(|id| read_case(root, id))
        .collect()
}

fn read_case(root: &Path, id: ScenarioId) -> Result<Case, CorpusError> {
    let path = root.join(id.file());
    let text = fs::read_to_string(&path).map_err(|source| CorpusError::Unreadable {
        path: path.clone(),
        source,
    })?;
    Ok(Case::parse(id, &path.display().to_string(), &text)?)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let unreadable = |source| CorpusError::Unreadable {
        path: path.to_owned(),
        source,
    };
    fs::read_dir(path)
        .map_err(unreadable)?
        .map(|entry| Ok(entry.map_err(unreadable)?.path()))
        .collect()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// `value` with `${name}` replaced in every text, keys included.
fn replaced(value: &Value, values: &[(&str, &str)]) -> Value {
    let text = |text: &str| {
        values.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), value)
        })
    };
    match value {
        Value::String(written) => Value::String(text(written)),
        Value::Array(items) => items.iter().map(|item| replaced(item, values)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (text(name), replaced(field, values)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
