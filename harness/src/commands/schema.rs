//! `harness schema`

use super::arguments::SchemaSubject;
use super::error::CommandError;
use super::output;
use crate::exit::ExitStatus;
use crate::protocol::protocol_schema;
use crate::scenario::scenario_schema;

pub(crate) fn print(of: SchemaSubject) -> Result<ExitStatus, CommandError> {
    let schema = match of {
        SchemaSubject::Scenario => scenario_schema().to_value(),
        SchemaSubject::Protocol => protocol_schema(),
    };
    output::print(&format!("{schema:#}"))?;
    Ok(ExitStatus::AsExpected)
}
