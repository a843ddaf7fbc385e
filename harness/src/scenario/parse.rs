//! A file's text to its plans.

use super::lower::lower;
use super::plan::Plan;
use super::problem::ScenarioError;
use super::read::read;
use super::requirement::Requirements;

/// Parses a scenario and lowers each of its variants; one plan when it has none.
///
/// `id` is `theme/name`, `file` the name that messages show.
///
/// # Errors
/// With everything that is wrong with the text.
pub fn parse(
    id: &str,
    file: &str,
    text: &str,
    requirements: &Requirements,
) -> Result<Vec<Plan>, ScenarioError> {
    let fail = |problems| ScenarioError::new(file, text, problems);
    let (document, model) = read(text).map_err(|problem| fail(vec![problem]))?;
    lower(id, &document, &model, requirements).map_err(fail)
}
