//! `harness cli`

use semver::Version;

use super::error::CommandError;
use super::output::{print, tell};
use crate::clis::{Cache, InstalledCli, install as install_version};
use crate::exit::ExitStatus;

pub(crate) fn install(version: &Version) -> Result<ExitStatus, CommandError> {
    print(&line(&install_version(&Cache::of_user()?, version)?))?;
    Ok(ExitStatus::AsExpected)
}

pub(crate) fn list() -> Result<ExitStatus, CommandError> {
    let installed = Cache::of_user()?.list()?;
    if installed.is_empty() {
        tell("none is installed; install one with `cargo run -p harness -- cli install 2.1.316`");
    } else {
        let lines: Vec<String> = installed.iter().map(line).collect();
        print(&lines.join("\n"))?;
    }
    Ok(ExitStatus::AsExpected)
}

fn line(cli: &InstalledCli) -> String {
    format!(
        "{}  sha256 {}  {}",
        cli.record.version,
        cli.record.sha256,
        cli.path.display()
    )
}
