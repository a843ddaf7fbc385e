//! The committed schemas are what the types say, and say what the parser says.

use std::fs;
use std::path::{Path, PathBuf};

use harness::catalogue::Catalogue;
use harness::matrix::matrix_schema;
use harness::protocol::{METHODS, protocol_schema};
use harness::runners::manifest_schema;
use harness::scenario::scenario_schema;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares with the committed file, or writes it when `UPDATE_SCHEMAS` is set.
fn pinned(path: &str, schema: &Value) {
    let path = root().join(path);
    let text = format!("{schema:#}\n");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).expect("the schema can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what the types say; write it anew with `UPDATE_SCHEMAS=1 cargo nextest run -p harness --test schemas`",
        path.display()
    );
}

#[test]
fn the_scenario_schema_is_committed() {
    pinned("scenarios/schema.json", &scenario_schema().to_value());
}

#[test]
fn the_protocol_schema_is_committed() {
    pinned("harness/runners/protocol.schema.json", &protocol_schema());
}

#[test]
fn the_manifest_schema_is_committed() {
    pinned(
        "harness/runners/manifest.schema.json",
        &manifest_schema().to_value(),
    );
}

#[test]
fn the_matrix_schema_is_committed() {
    pinned("ci/matrix.schema.json", &matrix_schema().to_value());
}

#[test]
fn the_scenario_schema_accepts_every_scenario() {
    let validator = jsonschema::validator_for(&scenario_schema().to_value()).expect("a schema");
    let catalogue = Catalogue::open(&root().join("scenarios")).expect("the catalogue");
    let ids = catalogue.ids().expect("ids");
    assert!(!ids.is_empty());
    for id in ids {
        let text = fs::read_to_string(catalogue.root().join(id.file())).expect("the file");
        let value: Value = serde_saphyr::from_str(&text).expect("YAML");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{id}");
    }
}

#[test]
fn the_scenario_schema_refuses_what_the_parser_refuses_by_form() {
    let validator = jsonschema::validator_for(&scenario_schema().to_value()).expect("a schema");
    for name in [
        "unknown_key",
        "unknown_step_key",
        "wrong_type",
        "missing_key",
        "unknown_capability",
        "unknown_status",
    ] {
        let path = root()
            .join("harness/tests/broken")
            .join(format!("{name}.yaml"));
        let value: Value =
            serde_saphyr::from_str(&fs::read_to_string(path).expect("the file")).expect("YAML");
        assert!(!validator.is_valid(&value), "{name}");
    }
}

#[test]
fn every_type_that_a_method_names_is_defined() {
    let schema = protocol_schema();
    for method in METHODS {
        for name in [method.params, method.result.flatten()]
            .into_iter()
            .flatten()
        {
            assert!(
                schema["$defs"].get(name).is_some(),
                "{} names {name}",
                method.name
            );
        }
    }
}
