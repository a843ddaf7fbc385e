//! `harness build`

use super::error::CommandError;
use super::output::tell;
use crate::exit::ExitStatus;
use crate::installation::Installation;
use crate::runners::{Builder, Manifest};

pub(crate) fn build(selectors: &[String]) -> Result<ExitStatus, CommandError> {
    let installation = Installation::find()?;
    let selectors = if selectors.is_empty() {
        all_runners(&installation)?
    } else {
        selectors.to_vec()
    };
    let manifests: Vec<Manifest> = selectors
        .iter()
        .map(|selector| Manifest::load(selector, &installation))
        .collect::<Result<_, _>>()?;
    Builder::new(&installation).build(&manifests)?;
    let names: Vec<&str> = manifests.iter().map(Manifest::name).collect();
    tell(&format!(
        "built the workspace and the runners {}",
        names.join(", ")
    ));
    Ok(ExitStatus::AsExpected)
}

fn all_runners(installation: &Installation) -> Result<Vec<String>, CommandError> {
    let path = installation.runners()?;
    let entries = std::fs::read_dir(&path);
    let entries = entries.map_err(|source| CommandError::File {
        what: "read",
        path,
        source,
    })?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(
                entry
                    .ok()?
                    .file_name()
                    .to_str()?
                    .strip_suffix(".yaml")?
                    .to_owned(),
            )
        })
        .collect();
    names.sort();
    Ok(names)
}
