//! `harness schema`

use super::arguments::SchemaSubject;
use crate::exit::ExitStatus;
use crate::protocol::protocol_schema;
use crate::scenario::scenario_schema;

pub(crate) fn print(of: SchemaSubject) -> ExitStatus {
    let schema = match of {
        SchemaSubject::Scenario => scenario_schema().to_value(),
        SchemaSubject::Protocol => protocol_schema(),
    };
    println!("{schema:#}");
    ExitStatus::AsExpected
}
