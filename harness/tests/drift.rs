//! The corpus, its golden traces, and the comparison of CLIs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use harness::drift::{
    Case, CaseTrace, GoldenTraces, LEFT_OUT, Lane, MetRules, compare_traces, corpus_schema,
    read_corpus, rules_page,
};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("the source tree")
}

fn corpus() -> Vec<Case> {
    read_corpus(&root().join("scenarios/corpus"), &[]).expect("the corpus")
}

fn golden() -> GoldenTraces {
    GoldenTraces::open(&root().join("scenarios/golden"), None).expect("golden traces")
}

fn drift() -> Command {
    let mut command = Command::cargo_bin("harness").expect("the harness");
    command.current_dir(root()).arg("drift").arg("--no-build");
    command
}

fn json(command: &mut Command) -> Value {
    let output = command
        .args(["--format", "json"])
        .output()
        .expect("it runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Compares with the committed text, or writes it when `UPDATE_SCHEMAS` is set.
fn pinned(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, text).expect("it can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what the code says; write it anew with `UPDATE_SCHEMAS=1 cargo nextest run -p harness --test drift`",
        path.display()
    );
}

#[test]
fn the_schema_of_cases_is_committed() {
    pinned(
        "scenarios/corpus.schema.json",
        &format!("{:#}\n", corpus_schema().to_value()),
    );
}

#[test]
fn the_normalisation_table_is_documented() {
    let page = format!(
        "# What is replaced before traces are compared\n\nWritten by a test from the table in `harness/src/drift/normalise/table.rs`; \
         the first row that fits is applied. Beside it, in every text: ids become numbers by their first appearance \
         (`[UUID_1]`) and are compared by where they recur; the case's directories, the address of the Messages API, \
         today's date, times and the CLI's own version become `[CWD]`, `[API]`, `[DATE]`, `[TIMESTAMP]`, `[VERSION]` and \
         the like; prices are rounded to ten decimals. Entries that the CLI writes beside the conversation \
         (`last-prompt`, `atis-latch`, `mode`, `cost-state`) go behind the others, by type; of repeated `last-prompt` and \
         `atis-latch` entries the last one counts. The batches of the session mirror are joined.\n\n{}",
        rules_page()
    );
    pinned("harness/docs/drift-normalisation.md", &page);
}

#[test]
fn the_corpus_is_documented() {
    let behaviours = behaviours();
    let mut page = String::from(
        "# What the corpus shows\n\nWritten by a test from `scenarios/behaviours.yaml` and the cases under `scenarios/corpus/`.\n\n\
         | | behaviour | cases |\n|---|---|---|\n",
    );
    let cases = corpus();
    for (id, sentence) in &behaviours {
        let shown: Vec<String> = cases
            .iter()
            .filter(|case| case.document.shows.contains(id))
            .map(|case| format!("`{}`", case.id))
            .collect();
        assert!(!shown.is_empty(), "no case shows {id}");
        page.push_str(&format!("| {id} | {sentence} | {} |\n", shown.join(", ")));
    }
    for case in &cases {
        for id in &case.document.shows {
            assert!(
                behaviours.iter().any(|(known, _)| known == id),
                "{} shows {id}, which is not known",
                case.id
            );
        }
    }
    pinned("harness/docs/drift-corpus.md", &page);
}

/// In the order of the file.
fn behaviours() -> Vec<(String, String)> {
    let text =
        fs::read_to_string(root().join("scenarios/behaviours.yaml")).expect("the behaviours");
    let all: serde_json::Map<String, Value> = serde_saphyr::from_str(&text).expect("a mapping");
    all.into_iter()
        .map(|(id, sentence)| (id, sentence.as_str().expect("a sentence").to_owned()))
        .collect()
}

#[test]
fn the_schema_accepts_every_case() {
    let validator = jsonschema::validator_for(&corpus_schema().to_value()).expect("a schema");
    for case in corpus() {
        let text = fs::read_to_string(root().join("scenarios/corpus").join(case.id.file()))
            .expect("the file");
        let value: Value = serde_saphyr::from_str(&text).expect("YAML");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", case.id);
    }
}

#[test]
fn every_case_has_a_golden_trace_of_what_it_says_now() {
    let golden = golden();
    assert_eq!(golden.manifest.sha256.len(), 64);
    let cases = corpus();
    assert!(cases.len() > 100, "{}", cases.len());
    for case in cases {
        let trace = golden.read(&case).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(trace.runs.len(), case.document.runs.len(), "{}", case.id);
    }
}

#[test]
fn no_row_of_the_normalisation_table_is_stale() {
    let golden = golden();
    let mut met = MetRules::default();
    for case in corpus() {
        met.look_through(&golden.read(&case).expect("a golden trace"));
    }
    let unmet: Vec<&str> = met.unmet().iter().map(|rule| rule.path.as_str()).collect();
    assert_eq!(unmet, Vec::<&str>::new());
}

/// Every field of a trace, changed one at a time.
fn each_change(value: &Value, changed: &mut dyn FnMut(Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let with = |field: Value| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), field);
                    Value::Object(fields)
                };
                if field != LEFT_OUT {
                    let mut without = fields.clone();
                    without.shift_remove(name);
                    changed(Value::Object(without));
                }
                each_change(field, &mut |field| changed(with(field)));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_change(item, &mut |item| {
                    let mut items = items.clone();
                    items[index] = item;
                    changed(Value::Array(items));
                });
            }
            let mut longer = items.clone();
            longer.push(Value::Null);
            changed(Value::Array(longer));
        }
        Value::String(text) if text == LEFT_OUT => {}
        Value::String(text) => changed(Value::String(format!("{text}x"))),
        Value::Number(_) => changed(Value::Bool(true)),
        Value::Bool(flag) => changed(Value::Bool(!flag)),
        Value::Null => changed(Value::Bool(false)),
    }
}

/// The trace of the case with only one lane of one run: what else there is cannot hide a change.
fn lane_alone(entry: Value, lane: Lane) -> CaseTrace {
    let run = harness::drift::RunTrace {
        lanes: BTreeMap::from([(lane, vec![entry])]),
    };
    CaseTrace { runs: vec![run] }
}

#[test]
fn every_field_that_is_not_left_out_turns_drift_red() {
    let golden = golden();
    let mut changes = 0;
    for case in corpus().iter().filter(|case| {
        [
            "defer/resume-allow",
            "turn/session-mirror",
            "fault/status-529",
        ]
        .contains(&case.id.to_string().as_str())
    }) {
        let trace = golden.read(case).expect("a golden trace");
        assert_eq!(compare_traces(&trace, &trace), Vec::new());
        for lane in Lane::ALL {
            for entry in trace.runs.iter().flat_map(|run| run.lane(lane)) {
                let before = lane_alone(entry.clone(), lane);
                each_change(entry, &mut |changed| {
                    changes += 1;
                    let after = lane_alone(changed.clone(), lane);
                    assert!(
                        !compare_traces(&before, &after).is_empty(),
                        "{} {lane}: {entry} / {changed}",
                        case.id
                    );
                });
            }
        }
    }
    assert!(changes > 2000, "{changes}");
}

#[test]
fn a_missing_entry_and_another_order_turn_drift_red() {
    let case = corpus()
        .into_iter()
        .find(|case| case.id.to_string() == "turn/tool-call")
        .expect("the case");
    let trace = golden().read(&case).expect("a golden trace");
    for (lane, entries) in &trace.runs[0].lanes {
        for place in 0..entries.len() {
            let mut less = trace.clone();
            less.runs[0]
                .lanes
                .get_mut(lane)
                .expect("the lane")
                .remove(place);
            assert!(
                !compare_traces(&trace, &less).is_empty(),
                "{lane} without entry {place}"
            );
            let kinds = [
                &entries[place.saturating_sub(1)]["type"],
                &entries[place]["type"],
            ];
            // A result may come before the blocks after its call, and entries beside the conversation anywhere.
            let either_order = kinds.iter().any(|kind| {
                [
                    "assistant",
                    "last-prompt",
                    "atis-latch",
                    "mode",
                    "cost-state",
                ]
                .map(Value::from)
                .contains(kind)
            });
            if place > 0 && entries[place - 1] != entries[place] && !either_order {
                let mut swapped = trace.clone();
                swapped.runs[0]
                    .lanes
                    .get_mut(lane)
                    .expect("the lane")
                    .swap(place - 1, place);
                assert!(
                    !compare_traces(&trace, &swapped).is_empty(),
                    "{lane} with {place} before its time"
                );
            }
        }
    }
}

#[test]
fn an_id_in_the_place_of_another_turns_drift_red() {
    let case = corpus()
        .into_iter()
        .find(|case| case.id.to_string() == "turn/tool-call")
        .expect("the case");
    let trace = golden().read(&case).expect("a golden trace");
    let mut other = trace.clone();
    let entries = other.runs[0]
        .lanes
        .get_mut(&Lane::Transcript)
        .expect("the transcript");
    let place = entries
        .iter()
        .rposition(|entry| entry["type"] == "assistant")
        .expect("a reply");
    let first = entries
        .iter()
        .find(|entry| entry["type"] == "user")
        .expect("a prompt")["uuid"]
        .clone();
    assert_ne!(entries[place]["parentUuid"], first);
    entries[place]["parentUuid"] = first;
    let paths: Vec<String> = compare_traces(&trace, &other)
        .iter()
        .map(|difference| difference.path.to_string())
        .collect();
    assert_eq!(paths, ["assistant.parentUuid"]);
}

#[test]
fn ids_that_only_have_other_numbers_are_the_same() {
    let case = corpus()
        .into_iter()
        .find(|case| case.id.to_string() == "turn/tool-call")
        .expect("the case");
    let trace = golden().read(&case).expect("a golden trace");
    let renumbered = trace
        .runs
        .iter()
        .map(|run| harness::drift::RunTrace {
            lanes: run
                .lanes
                .iter()
                .map(|(lane, entries)| {
                    let text = serde_json::to_string(entries)
                        .expect("JSON")
                        .replace("[UUID_", "[UUID_9");
                    (*lane, serde_json::from_str(&text).expect("JSON"))
                })
                .collect(),
        })
        .collect();
    assert_eq!(
        compare_traces(&trace, &CaseTrace { runs: renumbered }),
        Vec::new()
    );
}

#[test]
fn the_fake_cli_does_what_the_golden_traces_show() {
    let report = json(drift().args(["fake", "golden", "--timeout-scale", "3"]));
    let open: Vec<&Value> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|difference| difference["listed"].is_null())
        .collect();
    assert_eq!(open, Vec::<&Value>::new());
    assert_eq!(report["differing"], 0);
    let stale = |difference: &&Value| {
        difference["kind"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("stale"))
    };
    assert_eq!(
        report["differences"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(stale)
            .count(),
        0
    );
}

#[test]
fn the_json_report_counts_cases() {
    let report = json(drift().args(["golden", "golden", "--case", "turn/plain"]));
    let keys: Vec<&String> = report.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        ["cases", "identical", "listed", "differing", "differences"]
    );
    assert_eq!(
        (&report["cases"], &report["identical"]),
        (&Value::from(1), &Value::from(1))
    );
}

#[test]
fn golden_traces_are_of_a_real_cli_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let case = directory.path().join("corpus/turn/plain.yaml");
    fs::create_dir_all(case.parent().expect("a theme")).expect("a theme");
    fs::copy(root().join("scenarios/corpus/turn/plain.yaml"), &case).expect("a case");
    let output = drift()
        .args(["--bless", "fake", "--scenarios"])
        .arg(directory.path())
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("none of the installed CLIs"), "{stderr}");
    assert!(!directory.path().join("golden").exists());
}

#[test]
fn a_mistake_in_a_case_is_shown_with_its_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let theme = directory.path().join("corpus/turn");
    fs::create_dir_all(&theme).expect("a theme");
    fs::write(
        theme.join("broken.yaml"),
        "title: Broken\nruns:\n  - promt: hello\n",
    )
    .expect("a case");
    let output = drift()
        .args(["golden", "golden", "--scenarios"])
        .arg(directory.path())
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("unknown key `promt`") && stderr.contains("did you mean `prompt`"),
        "{stderr}"
    );
}

#[test]
fn an_unknown_case_is_nothing_selected() {
    let output = drift()
        .args(["golden", "golden", "--case", "turn/nope"])
        .output()
        .expect("it runs");
    assert_eq!(
        output.status.code(),
        Some(4),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The golden traces are not all: some cases are run on the real CLI itself.
#[test]
fn the_real_cli_still_does_what_its_golden_traces_show() {
    let version = golden().manifest.version.to_string();
    let cases = [
        "turn/tool-call",
        "defer/resume-allow",
        "parallel/defer-defer",
    ]
    .map(|case| ["--case", case])
    .concat();
    let report = json(
        drift()
            .args([&version, "golden", "--timeout-scale", "3"])
            .args(cases),
    );
    assert_eq!(report["differences"], serde_json::json!([]));
    assert_eq!(report["identical"], 3);
}
