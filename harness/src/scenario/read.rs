//! From the text of a file to what it says.

use serde_saphyr::Error;

use super::problem::{Problem, ScenarioError, suggest};
use super::source::{ModelSource, Place, ScenarioDocument};

/// Reads a file's text.
pub(crate) fn read(text: &str) -> Result<(ScenarioDocument, ModelSource), Problem> {
    let document = serde_saphyr::from_str(text).map_err(|error| problem(text, &error))?;
    let model = serde_saphyr::from_str(text).map_err(|error| problem(text, &error))?;
    Ok((document, model))
}

/// What is wrong with any YAML file that people write.
pub(crate) fn yaml_error(file: &str, text: &str, error: &Error) -> ScenarioError {
    ScenarioError::new(file, text, vec![problem(text, error)])
}

fn problem(text: &str, error: &Error) -> Problem {
    let error = error.without_snippet();
    let place = within(text, error.location().map(Place::from).unwrap_or_default());
    match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => Problem::new(place, format!("unknown key `{field}`"), "unknown key")
            .with_help(suggest(field, expected)),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => Problem::new(place, format!("unknown value `{variant}`"), "unknown value")
            .with_help(suggest(variant, expected)),
        Error::SerdeMissingField { field, .. } => Problem::new(
            place,
            format!("the key `{field}` is missing"),
            "missing in this mapping",
        ),
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        }
        | Error::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => Problem::new(
            place,
            format!("found {unexpected}, expected {expected}"),
            "wrong type",
        ),
        Error::DuplicateMappingKey { key, .. } => {
            let name = key.as_deref().unwrap_or("this key");
            Problem::new(
                place,
                format!("the key `{name}` is there twice"),
                "second time",
            )
        }
        Error::InvalidScalar { ty, .. } => {
            Problem::new(place, format!("expected {}", described(ty)), "wrong type")
        }
        Error::Eof { .. } => Problem::new(place, "the file holds nothing", "empty")
            .with_help("a scenario has `title`, `agent`, `model`, `steps` and `expect`"),
        other => Problem::new(place, unlocated(&other.to_string()), "here"),
    }
}

/// A Rust type in the words of people who do not write Rust.
fn described(scalar: &str) -> &str {
    match scalar {
        "bool" => "true or false",
        "f32" | "f64" => "a number",
        integer if integer.starts_with(['u', 'i']) => "a whole number",
        other => other,
    }
}

/// The message without the place that the label shows already.
fn unlocated(message: &str) -> String {
    let end = [" at line ", ": line "]
        .iter()
        .filter_map(|mark| message.rfind(mark))
        .min();
    message[..end.unwrap_or(message.len())].to_owned()
}

/// A place that the text has. The parser's own errors name lines and columns only.
fn within(text: &str, place: Place) -> Place {
    let offset = if place.offset == 0 {
        offset_of(text, place)
    } else {
        place.offset.min(text.len())
    };
    Place {
        offset,
        length: place.length.min(text.len() - offset),
        ..place
    }
}

fn offset_of(text: &str, place: Place) -> usize {
    let line = text
        .split_inclusive('\n')
        .nth(place.line.saturating_sub(1))
        .unwrap_or_default();
    let start: usize = text
        .split_inclusive('\n')
        .take(place.line.saturating_sub(1))
        .map(str::len)
        .sum();
    let column = line
        .char_indices()
        .nth(place.column.saturating_sub(1))
        .map_or(line.len(), |(at, _)| at);
    start + column
}
