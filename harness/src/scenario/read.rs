//! From the text of a file to what it says.

use serde_saphyr::Error;

use super::problem::{Problem, suggest};
use super::source::{ModelSource, Place, ScenarioDocument};

/// Reads a file's text.
pub(crate) fn read(text: &str) -> Result<(ScenarioDocument, ModelSource), Problem> {
    let document = serde_saphyr::from_str(text).map_err(|error| problem(text, &error))?;
    let model = serde_saphyr::from_str(text).map_err(|error| problem(text, &error))?;
    Ok((document, model))
}

fn problem(text: &str, error: &Error) -> Problem {
    let error = error.without_snippet();
    let place = within(text, error.location().map(Place::from).unwrap_or_default());
    match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            Problem::new(place, format!("unknown key `{field}`"), "unknown key").with_help(suggest(field, expected))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            Problem::new(place, format!("unknown value `{variant}`"), "unknown value")
                .with_help(suggest(variant, expected))
        }
        Error::SerdeMissingField { field, .. } => {
            Problem::new(place, format!("the key `{field}` is missing"), "missing in this mapping")
        }
        Error::SerdeInvalidType { unexpected, expected, .. } | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            Problem::new(place, format!("found {unexpected}, expected {expected}"), "wrong type")
        }
        Error::DuplicateMappingKey { key, .. } => {
            let name = key.as_deref().unwrap_or("this key");
            Problem::new(place, format!("the key `{name}` is there twice"), "second time")
        }
        other => Problem::new(place, unlocated(&other.to_string()), "here"),
    }
}

/// The message without the place that the label shows already.
fn unlocated(message: &str) -> String {
    let end = [" at line ", ": line "].iter().filter_map(|mark| message.rfind(mark)).min();
    message[..end.unwrap_or(message.len())].to_owned()
}

/// A place that the text has, also when the error is at its end.
fn within(text: &str, place: Place) -> Place {
    let offset = place.offset.min(text.len());
    Place { offset, length: place.length.min(text.len() - offset), ..place }
}
