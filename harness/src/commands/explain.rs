//! `harness explain`

use super::error::CommandError;
use super::output::print;
use crate::checks::{CHECKS, find};
use crate::exit::ExitStatus;
use crate::scenario::nearest;

pub(crate) fn explain(id: Option<&str>) -> Result<ExitStatus, CommandError> {
    let Some(id) = id else {
        let width = CHECKS
            .iter()
            .map(|check| check.id.len())
            .max()
            .unwrap_or_default();
        let lines: Vec<String> = CHECKS
            .iter()
            .map(|check| format!("{:<width$}  {}", check.id, check.promise))
            .collect();
        print(&lines.join("\n"))?;
        return Ok(ExitStatus::AsExpected);
    };
    let Some(check) = find(id) else {
        let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        let hint = match nearest(id, &ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`cargo run -p harness -- explain` lists all".to_owned(),
        };
        return Err(CommandError::Usage(format!("unknown check `{id}`; {hint}")));
    };
    print(&format!(
        "{}\n\n{}\n\n{}",
        check.id,
        check.promise,
        check.page.trim_end()
    ))?;
    Ok(ExitStatus::AsExpected)
}
