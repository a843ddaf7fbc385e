//! `harness cli`

use semver::Version;

use super::error::CommandError;
use crate::clis::{Cache, InstalledCli, install as install_version};
use crate::exit::ExitStatus;

pub(crate) fn install(version: &Version) -> Result<ExitStatus, CommandError> {
    println!("{}", line(&install_version(&Cache::of_user()?, version)?));
    Ok(ExitStatus::AsExpected)
}

pub(crate) fn list() -> Result<ExitStatus, CommandError> {
    let installed = Cache::of_user()?.list()?;
    for cli in &installed {
        println!("{}", line(cli));
    }
    if installed.is_empty() {
        eprintln!("none is installed; install one with `harness cli install 2.1.316`");
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
